"""Checks whether tables are equal. A table can also be a query in parentheses."""

from __future__ import annotations

from .lake import Lake


def rows(lake: Lake, table: str) -> int:
    """The number of rows of a table."""
    return int(lake.sql(f"select count(*) from {table}")[0][0])


def require_equal(lake: Lake, table: str, other: str) -> int:
    """The number of rows of a table. Raises ValueError unless another table has the same rows."""
    missing, extra = _except(lake, other, table), _except(lake, table, other)
    if missing or extra:
        raise ValueError(f"{table} lacks {missing:,} rows of {other}, and has {extra:,} that are not in it")
    return rows(lake, table)


def require_same_rows(lake: Lake, expected: str, *tables: str) -> None:
    """Raise ValueError if a table has a row more or less often than the expected table. Reads each table once."""
    listed, read = _columns(lake, expected), (expected, *tables)
    ones = (
        ", ".join(f"{int(place == other)} as in_{other}" for other in range(len(read))) for place in range(len(read))
    )
    rows = " union all ".join(f"select {listed}, {one} from {table}" for table, one in zip(read, ones, strict=True))
    counts = ", ".join(f"sum(in_{place}) as in_{place}" for place in range(len(read)))
    grouped = f"select {counts} from ({rows}) group by {listed}"
    wrong = ", ".join(f"count_if(in_{place} <> in_0)" for place in range(1, len(read)))
    for table, differing in zip(tables, lake.sql(f"select {wrong} from ({grouped})")[0], strict=True):
        if differing:
            raise ValueError(f"{table} differs from {expected} in {differing:,} distinct rows")


def require_same_sums(lake: Lake, expected: str, *tables: str) -> int:
    """The number of rows of the expected table. Raises ValueError if another table has a different sum of row hashes.

    This check is much faster than a comparison row by row.
    """
    wanted = _sum_of_hashes(lake, expected)
    for table in tables:
        found = _sum_of_hashes(lake, table)
        if found != wanted:
            raise ValueError(f"{table} differs from {expected}; rows and sum of hashes: {found}, expected {wanted}")
    return wanted[0]


def _except(lake: Lake, table: str, other: str) -> int:
    listed = _columns(lake, table)
    statement = f"select count(*) from (select {listed} from {table} except all select {listed} from {other})"
    return int(lake.sql(statement)[0][0])


def _sum_of_hashes(lake: Lake, table: str) -> tuple[int, int]:
    hashes = f"sum(cast(xxhash64({_columns(lake, table)}) as decimal(38)))"
    found = lake.sql(f"select count(*), {hashes} from {table}")[0]
    return int(found[0]), int(found[1] or 0)


def _columns(lake: Lake, table: str) -> str:
    return ", ".join(sorted(lake.spark.sql(f"select * from {table}").columns))
