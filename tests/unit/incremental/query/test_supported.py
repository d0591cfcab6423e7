"""Unsupported SQL is refused with its name and line. All other SQL is supported."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.query.text.parsing import parsed
from iceberg_incremental.query.text.refusal import Refusal

from .kept_tables import COLUMNS

REFUSED = {
    "select k, now() as n from db.a": "now(), whose value",
    "select k, current_date as n from db.a": "current_date, whose value",
    "select k, unix_timestamp() as n from db.a": "unix_timestamp(), whose value",
    "select k, rand() as n from db.a": "rand(), whose value",
    "select k, my_udf(x) as n from db.a": "my_udf(), which is not a built-in function of Spark",
    "select k, lake.db.f(x) as n from db.a": "not a built-in function of Spark",
    "select k from db.a tablesample (10 percent)": "TABLESAMPLE",
    "select k from db.a version as of 3": "time travel",
    "select k, '${spark.app.id}' as app from db.a": "the variable ${spark.app.id} of Spark",
    "select k from db.a where s rlike r'${env:NAME}'": "the variable ${env:NAME} of Spark",
    "select k, try_cast(r'today' as date) as d from db.a": "'today', which Spark may interpret",
    "select k, `current_date` as n from db.a": "current_date, whose value",
    "select k from db.a |> where x > 1": "the pipe operator |>",
    "select k, _partition.x from db.a": "the metadata column _partition",
    "with recursive z as (select k from later), later as (select 1 as k) select k from z": "the relation later",
}
"""SQL whose result is not a function of its relations."""

WHOLE = {
    "select id from range(10)": "the function range()",
    "select cast(g as string) as g, n from (select collate(s, 'utf8_lcase') as g, count(*) as n from db.a group by "
    "1) t": "the function collate()",
    "select cast(s as string collate utf8_lcase) as s from db.a": "names that cannot be resolved",
    "with recursive t as (select 1 as k union all select k + 1 from t) select k from t": "WITH RECURSIVE",
    "select t.k from db.a join (db.b join db.c on b.y = c.y) as t on a.k = t.k": "a join in parentheses with an alias",
    "select k, (select first(y) from db.b) as y from db.a": "first() in a subquery",
    "select n, count(*) as m from (select k, first(x) as n from db.a group by k) t group by n": "first(), which may ch",
    "select s, count(*) as n from (select k, s, d, row_number() over (partition by k order by x) as r from db.a) t "
    "where r = 1 group by s": "row_number(), which may choose",
    "select k, x from db.a where d > (select avg(d) from db.a)": "avg() of floating-point numbers",
    "select k from db.a where k in (select k from db.a group by k having sum(d) > 1)": "sum() of floating-point",
    "select t > 1 as b, count(*) as n from (select k, (select sum(d) from db.a t where t.k = a.k) as t from db.a) u "
    "group by t > 1": "sum() of floating-point numbers",
    "select count(*) as n from db.a group by map(s, x)": "a map in GROUP BY",
    "select distinct m, k from (select k, map(s, x) as m from db.a) t": "a map in GROUP BY, DISTINCT",
    "select hash(* except (d)) as h from db.a": "* EXCEPT as an argument",
    "select a.k, to_json(arrays_zip(array(1), (b.s))) as j from db.b right join db.a on a.k = b.k": "arrays_zip() in a",
    "select s, n, m from (select k, x, s, row_number() over (partition by k order by x, s) as n, row_number() over "
    "(partition by k order by s, x) as m from db.a) t group by s, n, m": "row_number(), which",
    "select n, count(*) as m from (select d, row_number() over (partition by k order by d) as n from db.a) t group "
    "by n": "row_number(), which may choose",
    "select t, count(*) as n from (select k, cast(max(e) as string) as t from (select k, d * 2 as e from db.a) v "
    "group by k) u group by t": "max(), which may return another of equal values",
    "select t, count(*) as n from (select k, coalesce(max(d), 'none') as t from db.a group by k) u "
    "group by t": "max(), which may return another of equal values",
    "select b.s, count(*) as n from (select k, max(d) as m from db.a group by k) u join db.b on b.k = u.k where u.m "
    "|| 'x' <> '0.0x' group by b.s": "max(), which may return another of equal values",
    "select k, s from db.a where cast(d as string) = (select cast(min(d) as string) from db.a)": "min(), which may ret",
    "select t, count(*) as n from (select cast(percentile_cont(0.5) within group (order by d) as string) as t from "
    "db.a group by k) u group by t": "percentile_cont(), which may return another of equal values",
    "select e, n, count(*) as m from (select k, explode(array(x, k)) as e, row_number() over (partition by k order "
    "by x) as n from db.a) t group by e, n": "row_number(), which may choose",
    "select n, count(*) as m from (select k, d, (select count(*) from db.b where b.k = a.x) as c, row_number() over "
    "(partition by k order by s) as n from db.a) t group by n, c": "row_number(), which may choose",
    "select * from db.a pivot (sum(x) for k in (1, 2))": "PIVOT",
    "select t.n, t.v from db.a unpivot (v for n in (k, x)) t": "UNPIVOT",
    "select cast(l.m as string) as t, count(*) as n from db.a join lateral (select max(t.d) as m from db.a t "
    "where t.k = a.x) l group by cast(l.m as string)": "max(), which may return another of equal values",
    "with p as (select s, one from (select s, k, cast(d as string) as t from db.a) pivot (max(t) for k in (1 as one))) "
    "select p.s, b.y from p join db.b on b.s = p.one": "PIVOT",
    "with p as (select * from db.a pivot (max(x) for k in (1 as one))) select b.y from p join db.b on one = b.k": "PIV",
    "with p as (select * from (select s, x, k from db.a) pivot (sum(x / 2) for k in (1 as one))) select b.y from p "
    "join db.b on b.s = p.s": "PIVOT",
    "select s collate utf8_lcase as t from db.a": "COLLATE outside of a comparison",
    "with p as (select * from (select k, d from db.a) pivot (sum(d) for k in (1 as one))) select one from p": "PIVOT",
}
"""SQL that is accepted, but for which it is unknown which rows a change affects: all rows are replaced."""


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str) -> None:
    with pytest.raises(Refusal) as raised:
        incremental_query(sql, COLUMNS, "lake", dict.fromkeys(parsed(sql).named_selects, "int"))
    assert REFUSED[sql] in str(raised.value)


@pytest.mark.parametrize("sql", WHOLE)
def test_replaced_as_a_whole(sql: str) -> None:
    kept = incremental_query(sql, COLUMNS, "lake", dict.fromkeys(parsed(sql).named_selects, "int"))
    assert kept.whole is not None and WHOLE[sql] in str(kept.whole)
    assert kept.key == () and not kept.finds_keys({}) and kept.narrower() == []


@pytest.mark.parametrize("sql", [*WHOLE, "select k from db.a"])
def test_nothing_hides_a_value_that_can_differ(sql: str) -> None:
    """Also in SQL that is replaced as a whole."""
    columns = dict.fromkeys(parsed(sql).named_selects, "int")
    for other in ("rand() < 2", "exists (select 1 from db.b tablesample (1 percent))", "s = '${x}'"):
        changed = f"with ip_q as ({sql}) select 1 as n from ip_q join db.c on true where {other}"
        with pytest.raises(Refusal):
            incremental_query(changed, COLUMNS, "lake", {"n": "int"})
    assert columns


def test_line() -> None:
    with pytest.raises(Refusal) as raised:
        incremental_query("select k\nfrom db.a\nwhere x > rand()", COLUMNS, "lake", {"k": "int"})
    assert raised.value.line == 3
