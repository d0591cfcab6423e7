"""Which columns distinguish the rows of a table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.table.history import TableName
from iceberg_incremental.write.auto.update_plan import selective, tells_apart

ROWS = [(number, number // 2, number % 2, None if number % 100 == 0 else number) for number in range(2_000)]


@pytest.mark.parametrize(
    ("places", "rows", "expected"),
    [
        ([0], ROWS, True),
        ([1], ROWS, False),
        ([1, 2], ROWS, True),
        ([3], ROWS, False),
        ([0], [*ROWS, ROWS[0], ROWS[1]], True),
        ([0], [*ROWS, *ROWS[:3]], False),
        ([0], ROWS[:999], False),
    ],
)
def test_columns_that_distinguish_rows(places, rows, expected):
    assert tells_apart(places, rows) is expected


TYPES = {"a": "string", "b": "int", "c": "int", "d": "int"}
DIGITS = [(str(number // 100), number // 10 % 10, number % 10, number % 7) for number in range(2_000)]


@pytest.mark.parametrize(
    ("rows", "key"),
    [
        (DIGITS, ("a", "b", "c")),
        ([(a, b * 10 + c, b, d) for a, b, c, d in DIGITS], ("a", "b")),
        ([(a, b, c, number) for number, (a, b, c, _) in enumerate(DIGITS)], ("d",)),
        ([*DIGITS[:1000], *DIGITS[:1000]], ("a", "b", "c", "d")),
        (DIGITS[:900], ("a", "b", "c", "d")),
    ],
)
def test_the_columns_that_a_sample_needs_are_the_key(rows: list[tuple[Any, ...]], key: tuple[str, ...]) -> None:
    kept = incremental_query("select * from db.t", {TableName("lake", "db", "t"): TYPES}, "lake", TYPES)
    spark: Any = SimpleNamespace(rows=lambda sql: rows)
    assert selective(kept, TYPES, "t", len(rows), spark).key == key


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        (3_000, " "),
        (100_000, " where pmod(xxhash64(_pos), 50) = 0 "),
        (10**9, " where pmod(xxhash64(_pos), 1000) = 0 "),
    ],
)
def test_a_sample_is_spread_over_a_large_table(rows: int, where: str) -> None:
    """The first rows may be those of one day, in which each customer occurs once."""
    kept = incremental_query("select * from db.t", {TableName("lake", "db", "t"): TYPES}, "lake", TYPES)
    sent: list[str] = []

    def rows_of(sql: str) -> list[tuple[Any, ...]]:
        sent.append(sql)
        return DIGITS

    spark: Any = SimpleNamespace(rows=rows_of)
    selective(kept, TYPES, "t", rows, spark)
    assert sent == [f"select `a`, `b`, `c`, `d` from t{where}limit 2000"]
