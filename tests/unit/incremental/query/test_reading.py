"""Parsing a query: the relations that it mentions, replacing them, and qualified names."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.algebra.build import build
from iceberg_incremental.query.algebra.sql import Writer
from iceberg_incremental.query.text.parsing import mentions, parsed, replaced, spark_text

from .kept_tables import COLUMNS

MENTIONS = {
    "select * from lake.db.a": ["lake.db.a"],
    "select * from db.a x join `db`.`b c` on x.k = 1": ["lake.db.a", "lake.db.b c"],
    "with a as (select * from db.a) select * from a join db.b b on true": ["lake.db.a", "lake.db.b"],
    "with db as (select 1 as k) select * from db.a, db": ["lake.db.a"],
    "select 'from db.x' as t -- from db.y\nfrom db.a /* db.z */": ["lake.db.a"],
    "select * from db.a where k in (select k from db.b where exists (select 1 from db.c))": [
        "lake.db.a", "lake.db.b", "lake.db.c",
    ],
}  # fmt: skip


@pytest.mark.parametrize("sql", MENTIONS)
def test_mentions(sql: str) -> None:
    assert [str(each.relation) for each in mentions(sql, "lake")] == MENTIONS[sql]


def test_replaced() -> None:
    sql = "select a.k, t.k from db.a join db.b as t on a.k = t.k -- db.a"
    found = mentions(sql, "lake")
    assert (
        replaced(sql, found, ["(select 1 as k)", "lake.db.b version as of 3"])
        == "select a.k, t.k from (select 1 as k) as `a` join lake.db.b version as of 3 as t on a.k = t.k -- db.a"
    )


def test_only_queries_with_qualify_are_written_again() -> None:
    for kept in ("select k  from db.a where s <> 'qualify'", "select k  from db.a -- without qualify"):
        assert spark_text(kept) == kept
    assert "qualify " not in spark_text("select k from db.a qualify row_number() over (partition by k order by x) = 1")


QUALIFIED = {
    "select distinct (k) from db.a order by k": (
        "select distinct (`ip_t0`.`k`) as `k` from `lake`.`db`.`a` as `ip_t0` order by `k`"
    ),
    "select k from db.a join db.b using (k)": (
        "select `ip_t0`.`k` from `lake`.`db`.`a` as `ip_t0` join `lake`.`db`.`b` as `ip_t1` on "
        "`ip_t0`.`k` = `ip_t1`.`k`"
    ),
    "select k from db.a right join db.b using (k)": (
        "select `ip_t1`.`k` from `lake`.`db`.`a` as `ip_t0` right join `lake`.`db`.`b` as `ip_t1` on "
        "`ip_t0`.`k` = `ip_t1`.`k`"
    ),
    "select k from db.a left anti join db.b u on x = y where s = 'p' or k = 1": (
        "select `ip_t0`.`k` from `lake`.`db`.`a` as `ip_t0` left anti join `lake`.`db`.`b` as "
        "`ip_t1` on `ip_t0`.`x` = `ip_t1`.`y` where (`ip_t0`.`s` = 'p' OR `ip_t0`.`k` = 1)"
    ),
    "select a.k from db.a semi join db.b t on t.k = a.k left join db.c on z = x left anti join db.c u on u.y = x": (
        "select `ip_t0`.`k` from `lake`.`db`.`a` as `ip_t0` left semi join `lake`.`db`.`b` as "
        "`ip_t1` on `ip_t1`.`k` = `ip_t0`.`k` left join `lake`.`db`.`c` as `ip_t2` on `ip_t2`.`z` = "
        "`ip_t0`.`x` left anti join `lake`.`db`.`c` as `ip_t3` on `ip_t3`.`y` = `ip_t0`.`x`"
    ),
    "select a.k from db.a join (db.b join db.c on b.y = c.y) on a.k = b.k": (
        "select `ip_t0`.`k` from `lake`.`db`.`a` as `ip_t0` join (`lake`.`db`.`b` as `ip_t1` join "
        "`lake`.`db`.`c` as `ip_t2` on `ip_t1`.`y` = `ip_t2`.`y`) on `ip_t0`.`k` = `ip_t1`.`k`"
    ),
    "select x.k from db.a as x(p, k, q, r)": ("select `ip_t0`.`x` as `k` from `lake`.`db`.`a` as `ip_t0`"),
    "select k from db.a t where s = (select min(z) from db.c t where t.y = x)": (
        "select `ip_t0`.`k` from `lake`.`db`.`a` as `ip_t0` where `ip_t0`.`s` = (select "
        "MIN(`ip_t1`.`z`) as `_col_0` from `lake`.`db`.`c` as `ip_t1` where `ip_t1`.`y` = "
        "`ip_t0`.`x`)"
    ),
    "select s, sum(x) as x from db.a group by s having sum(x) > 1": (
        "select `ip_t0`.`s`, SUM(`ip_t0`.`x`) as `x` from `lake`.`db`.`a` as `ip_t0` group by "
        "`ip_t0`.`s` having SUM(`ip_t0`.`x`) > 1"
    ),
    "select s, count(*) as n from db.a group by all": (
        "select `ip_t0`.`s`, COUNT(*) as `n` from `lake`.`db`.`a` as `ip_t0` group by `ip_t0`.`s`"
    ),
    "with t as (select k from db.a) select t.k from (with t as (select y as k from db.b) select k from t) u, t": (
        "select `ip_t7`.`k` from (select `ip_t4`.`k` from (select `ip_t2`.`y` as `k` from "
        "`lake`.`db`.`b` as `ip_t2`) as `ip_t4`) as `ip_t6` cross join (select `ip_t0`.`k` from "
        "`lake`.`db`.`a` as `ip_t0`) as `ip_t7`"
    ),
    "select hash(*) as h, count(*) as n, struct(t.*) as t from db.c t left semi join db.b on t.y = b.y group by all": (
        "select HASH(`ip_t0`.`y`, `ip_t0`.`z`, `ip_t0`.`s`, `ip_t0`.`num`) as `h`, COUNT(*) as `n`, "
        "STRUCT(`ip_t0`.`y`, `ip_t0`.`z`, `ip_t0`.`s`, `ip_t0`.`num`) as `t` from `lake`.`db`.`c` as "
        "`ip_t0` left semi join `lake`.`db`.`b` as `ip_t1` on `ip_t0`.`y` = `ip_t1`.`y` group by "
        "HASH(`ip_t0`.`y`, `ip_t0`.`z`, `ip_t0`.`s`, `ip_t0`.`num`), STRUCT(`ip_t0`.`y`, "
        "`ip_t0`.`z`, `ip_t0`.`s`, `ip_t0`.`num`)"
    ),
    "select hash(*) as h from db.b right join (select k, x as z from db.a) t on b.k = t.k": (
        "select HASH(`ip_t0`.`k`, `ip_t0`.`y`, `ip_t0`.`s`, `ip_t0`.`num`, `ip_t3`.`k`, `ip_t3`.`z`) "
        "as `h` from `lake`.`db`.`b` as `ip_t0` right join (select `ip_t1`.`k`, `ip_t1`.`x` as `z` "
        "from `lake`.`db`.`a` as `ip_t1`) as `ip_t3` on `ip_t0`.`k` = `ip_t3`.`k`"
    ),
    "select array(1, k)[0] as e, map('a', x)['a'] as f from db.a": (
        "select ARRAY(1, `ip_t0`.`k`)[0] as `e`, MAP('a', `ip_t0`.`x`)['a'] as `f` from `lake`.`db`.`a` as `ip_t0`"
    ),
    "select 'it''s' as a, 'it\\'s' as b, \"x\" as c from db.a": (
        "select 'it\\'s' as `a`, 'it\\'s' as `b`, 'x' as `c` from `lake`.`db`.`a` as `ip_t0`"
    ),
}


def _qualified(sql: str) -> str:
    tree = build(parsed(sql), COLUMNS, "lake")
    return Writer(tree.subqueries, lambda name, state: f"`lake`.`db`.`{tree.tables[name].name}`").result(tree.root)


@pytest.mark.parametrize("sql", QUALIFIED)
def test_qualified(sql: str) -> None:
    assert _qualified(sql) == QUALIFIED[sql]


@pytest.mark.parametrize("fields", ["struct(b.t, (u), 1)", "(b.t, (u), 1)"])
def test_fields_keep_their_names_if_columns_are_renamed(fields: str) -> None:
    found = _qualified(f"select {fields} as f from db.b as b(k, u, t, num) right join db.a on b.k = a.k")
    assert "(`ip_t0`.`s` AS `t`, `ip_t0`.`y` AS `u`, 1)" in found
