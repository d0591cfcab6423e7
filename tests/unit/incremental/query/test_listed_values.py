"""The values that VALUES lists, for a comparison of Spark's reading with that of this package."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.query.text.clauses import listed_values_sql
from iceberg_incremental.query.text.refusal import Refusal

from .kept_tables import COLUMNS

LISTED = {
    "select * from values (1, 'a'), (-2.5, NULL) as v(x, y)": "",
    "select * from values (1S, 'a\\b') as v(x, y)": "select 1S as ip_0, 'a\\b' as ip_1",
    "select * from (values (array(1, 2)[0], 1), ((1 + 2) * 3, null)) v, (values (struct(1, (2)))) w": (
        "select array(1, 2)[0] as ip_0, (1 + 2) * 3 as ip_1, struct(1, (2)) as ip_2"
    ),
    "select k from db.a join (values (date'2026-01-01')) v(d) on d > k where k in (1L, 2L)": (
        "select date'2026-01-01' as ip_0"
    ),
}


@pytest.mark.parametrize("sql", LISTED)
def test_listed_values(sql: str) -> None:
    assert listed_values_sql(sql) == LISTED[sql]


def test_a_row_without_parentheses() -> None:
    """The parser would interpret an alias as that of the last value."""
    with pytest.raises(Refusal, match="a row without parentheses in VALUES"):
        listed_values_sql("select x from values (1), 2 as v(x)")


def test_values_are_listed_as_written_and_as_read() -> None:
    sql = "select k, x from db.a join (values ('10:00' :: time, 1)) v(t, n) on k = n"
    assert incremental_query(sql, COLUMNS, "lake", {"k": "int", "x": "int"}).reading.values == (
        "select '10:00' :: time as ip_0", "select CAST('10:00' AS TIME) as ip_0"
    )  # fmt: skip
