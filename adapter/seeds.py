"""Seeds: the rows of a CSV file as queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .sql import sql_name, sql_value


def query(names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A query of some rows, of one file once written; every column is cast once, to its type."""
    columns = ", ".join(
        f"cast(c{i} as {kind}) as {sql_name(name)}" for i, (name, kind) in enumerate(zip(names, types, strict=True))
    )
    values = ",\n".join("(" + ", ".join(sql_value(value) for value in row) + ")" for row in rows)
    given = ", ".join(f"c{i}" for i in range(len(names)))
    return f"select /*+ coalesce(1) */ {columns} from values\n{values}\nas seed({given})"


def queries(names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]], batch: int) -> Iterator[str]:
    """The rows in queries of at most ``batch`` rows."""
    for start in range(0, len(rows), batch):
        yield query(names, types, rows[start : start + batch])


def types_of(inferred: Mapping[str, str], wanted: Mapping[str, str] | None) -> list[str]:
    """Each column's type: the one its config names, else the inferred one."""
    return [(wanted or {}).get(name, kind) for name, kind in inferred.items()]
