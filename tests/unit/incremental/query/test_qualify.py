"""QUALIFY as the filter of a derived table. The rest of the text stays as it is."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.text.parsing import parsed, spark_text
from iceberg_incremental.query.text.refusal import Refusal

KEPT = "select * except (ip_is_kept) from"
END = "as ip_qualified where ip_is_kept"
INNER = f"({KEPT} (select max(k), (k > 2) as ip_is_kept from q) {END})"
WRITTEN = {
    "select k from db.a qualify rank() over (partition by k order by x) = 1 -- end\n;": (
        f"{KEPT} (select k, (rank() over (partition by k order by x) = 1) as ip_is_kept from db.a) {END} -- end\n;"
    ),
    "select cast(s as time) t, 1Y AS Z from db.a\nwhere s <> '\\z' -- one\n or k = 1 qualify t > `z` and z in "
    "(select z from db.c)": (
        f"{KEPT} (select cast(s as time) t, 1Y AS Z, ((cast(s as time)) > (1Y) and (1Y) in (select z from db.c)) as "
        f"ip_is_kept from db.a\nwhere s <> '\\z' -- one\n or k = 1) {END}"
    ),
    # a LIMIT applies to the rows that QUALIFY keeps
    "select k from db.a qualify rank() over w = 1 window w as (partition by k) order by k limit 3": (
        f"{KEPT} (select k, (rank() over w = 1) as ip_is_kept from db.a window w as (partition by k)) {END} "
        "order by k limit 3"
    ),
    "select k from db.a qualify rank() over (partition by k) = 1 order by x": (
        f"{KEPT} (select k, (rank() over (partition by k) = 1) as ip_is_kept from db.a order by x) {END}"
    ),
    "select k from db.b union all select /*+ broadcast(a) */ all x + 1 as x from db.a where x is distinct from 1 "
    "qualify x > 1": (
        f"select k from db.b union all {KEPT} (select /*+ broadcast(a) */ all x + 1 as x, ((x + 1) > 1) as ip_is_kept "
        f"from db.a where x is distinct from 1) {END}"
    ),
    "with q as (select k from db.a qualify k > 1) select (select max(k) from q qualify k > 2) as m from q "
    "qualify m > 1": (
        f"with q as ({KEPT} (select k, (k > 1) as ip_is_kept from db.a) {END}) {KEPT} (select {INNER} as m, "
        f"(({INNER}) > 1) as ip_is_kept from q) {END}"
    ),
    "select a.qualify, 1 as qualify from db.a qualify k > 1": (
        f"{KEPT} (select a.qualify, 1 as qualify, (k > 1) as ip_is_kept from db.a) {END}"
    ),
}


@pytest.mark.parametrize("sql", WRITTEN)
def test_the_text_for_spark(sql: str) -> None:
    assert spark_text(sql) == WRITTEN[sql]
    parsed(sql)


REFUSED = {
    "select distinct k from db.a qualify k = 1": "QUALIFY with DISTINCT",
    "select k :: struct<a: int, b: int> as k, x from db.a qualify x = 1": "QUALIFY in this SELECT",
    "select qualify from db.a": "cannot be parsed",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str) -> None:
    with pytest.raises(Refusal, match=REFUSED[sql]):
        spark_text(sql)
