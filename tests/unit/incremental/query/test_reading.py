"""Parsing a query: the relations that it mentions, replacing them, and qualified names."""

from __future__ import annotations

import pytest
from iceberg_incremental.query.blocks import blocks_of

from iceberg_incremental.query.text.dialect import PlainSpark
from iceberg_incremental.query.text.parsing import mentions, read, replaced, spark_text
from iceberg_incremental.table.history import TableName

from .kept_tables import COLUMNS, SCHEMA

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
    "select k from db.a join db.b using (k)": "SELECT `ip_t0`.`k` FROM `lake`.`db`.`a` AS `ip_t0` "
    "JOIN `lake`.`db`.`b` AS `ip_t1` ON `ip_t0`.`k` = `ip_t1`.`k`",
    "select k from db.a right join db.b using (k)": "SELECT `ip_t1`.`k` FROM `lake`.`db`.`a` AS `ip_t0` "
    "RIGHT JOIN `lake`.`db`.`b` AS `ip_t1` ON `ip_t0`.`k` = `ip_t1`.`k`",
    "select k from db.a left anti join db.b u on x = y where s = 'p' or k = 1": "SELECT `ip_t0`.`k` "
    "FROM `lake`.`db`.`a` AS `ip_t0` LEFT ANTI JOIN `lake`.`db`.`b` AS `ip_t1` ON `ip_t0`.`x` = `ip_t1`.`y` "
    "WHERE `ip_t0`.`s` = 'p' OR `ip_t0`.`k` = 1",
    "select a.k from db.a semi join db.b t on t.k = a.k left join db.c on z = x left anti join db.c u on u.y = x": (
        "SELECT `ip_t0`.`k` FROM `lake`.`db`.`a` AS `ip_t0` SEMI JOIN `lake`.`db`.`b` AS `ip_t1` ON "
        "`ip_t1`.`k` = `ip_t0`.`k` LEFT JOIN `lake`.`db`.`c` AS `ip_t2` ON `ip_t2`.`z` = `ip_t0`.`x` "
        "LEFT ANTI JOIN `lake`.`db`.`c` AS `ip_t3` ON `ip_t3`.`y` = `ip_t0`.`x`"
    ),
    "select a.k from db.a join (db.b join db.c on b.y = c.y) on a.k = b.k": "SELECT `ip_t0`.`k` "
    "FROM `lake`.`db`.`a` AS `ip_t0` JOIN (`lake`.`db`.`b` AS `ip_t1` JOIN `lake`.`db`.`c` AS `ip_t2` "
    "ON `ip_t1`.`y` = `ip_t2`.`y`) ON `ip_t0`.`k` = `ip_t1`.`k`",
    "select x.k from db.a as x(p, k, q, r)": "SELECT `ip_t0`.`x` AS `k` FROM `lake`.`db`.`a` AS `ip_t0`",
    "select k from db.a t where s = (select min(z) from db.c t where t.y = x)": "SELECT `ip_t0`.`k` "
    "FROM `lake`.`db`.`a` AS `ip_t0` WHERE `ip_t0`.`s` = (SELECT MIN(`ip_t1`.`z`) AS `_col_0` "
    "FROM `lake`.`db`.`c` AS `ip_t1` WHERE `ip_t1`.`y` = `ip_t0`.`x`)",
    "select s, sum(x) as x from db.a group by s having sum(x) > 1": "SELECT `ip_t0`.`s`, SUM(`ip_t0`.`x`) AS `x` "
    "FROM `lake`.`db`.`a` AS `ip_t0` GROUP BY `ip_t0`.`s` HAVING SUM(`ip_t0`.`x`) > 1",
    "select s, count(*) as n from db.a group by all": "SELECT `ip_t0`.`s`, COUNT(*) AS `n` "
    "FROM `lake`.`db`.`a` AS `ip_t0` GROUP BY `ip_t0`.`s`",
    "with t as (select k from db.a) select t.k from (with t as (select y as k from db.b) select k from t) u, t": (
        "WITH `ip_cte1` AS (SELECT `ip_t0`.`k` FROM `lake`.`db`.`a` AS `ip_t0`), "
        "`ip_cte3` AS (SELECT `ip_t2`.`y` AS `k` FROM `lake`.`db`.`b` AS `ip_t2`) "
        "SELECT `ip_t6`.`k` FROM (SELECT `ip_t4`.`k` FROM `ip_cte3` AS `ip_t4`) AS `ip_t5` "
        "CROSS JOIN `ip_cte1` AS `ip_t6`"
    ),
    "select hash(*) as h, count(*) as n, struct(t.*) as t from db.c t left semi join db.b on t.y = b.y group by all": (
        "SELECT HASH(`ip_t0`.`y`, `ip_t0`.`z`, `ip_t0`.`s`, `ip_t0`.`num`) AS `h`, COUNT(*) AS `n`, "
        "STRUCT(`ip_t0`.`y`, `ip_t0`.`z`, `ip_t0`.`s`, `ip_t0`.`num`) AS `t` FROM `lake`.`db`.`c` AS `ip_t0` "
        "LEFT SEMI JOIN `lake`.`db`.`b` AS `ip_t1` ON `ip_t0`.`y` = `ip_t1`.`y` GROUP BY "
        "HASH(`ip_t0`.`y`, `ip_t0`.`z`, `ip_t0`.`s`, `ip_t0`.`num`), "
        "STRUCT(`ip_t0`.`y`, `ip_t0`.`z`, `ip_t0`.`s`, `ip_t0`.`num`)"
    ),
    "select hash(*) as h from db.b right join (select k, x as z from db.a) t on b.k = t.k": "SELECT "
    "HASH(`ip_t0`.`k`, `ip_t0`.`y`, `ip_t0`.`s`, `ip_t0`.`num`, `ip_t2`.`k`, `ip_t2`.`z`) AS `h` "
    "FROM `lake`.`db`.`b` AS `ip_t0` RIGHT JOIN (SELECT `ip_t1`.`k`, `ip_t1`.`x` AS `z` "
    "FROM `lake`.`db`.`a` AS `ip_t1`) AS `ip_t2` ON `ip_t0`.`k` = `ip_t2`.`k`",
    "select array(1, k)[0] as e, map('a', x)['a'] as f from db.a": "SELECT ARRAY(1, `ip_t0`.`k`)[0] AS `e`, "
    "MAP('a', `ip_t0`.`x`)['a'] AS `f` FROM `lake`.`db`.`a` AS `ip_t0`",
    "select 'it''s' as a, 'it\\'s' as b, \"x\" as c from db.a": "SELECT 'it\\'s' AS `a`, 'it\\'s' AS `b`, 'x' AS `c` "
    "FROM `lake`.`db`.`a` AS `ip_t0`",
}


@pytest.mark.parametrize("sql", QUALIFIED)
def test_qualified(sql: str) -> None:
    found = read(sql, COLUMNS, "lake")
    assert found.qualified == QUALIFIED[sql]
    assert {*found.tables.values()} <= {TableName("lake", "db", name) for name in "abc"}


@pytest.mark.parametrize("fields", ["struct(b.s, (y), 1)", "(b.s, (y), 1)"])
def test_fields_keep_their_names_if_columns_are_renamed(fields: str) -> None:
    tree = read(f"select {fields} as f from db.b right join db.a on b.k = a.k", COLUMNS, "lake").tree
    tables = {"ip_table_0": list(SCHEMA["b"]), "ip_table_1": list(SCHEMA["a"])}
    found = blocks_of(tree, tables)[-1].query.sql(PlainSpark)
    assert "(`ip_left_0`.`c2` AS `s`, `ip_left_0`.`c1` AS `y`, 1)" in found
