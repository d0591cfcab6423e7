"""Unsupported SQL is refused with its name and line. All other SQL is supported."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.incremental_query import incremental_query
from iceberg_incremental.query.reading import parsed
from iceberg_incremental.query.refusal import Refusal

from .kept_tables import COLUMNS

REFUSED = {
    "select k from db.a limit 1": "LIMIT",
    "select k from db.a order by k limit 1": "LIMIT",
    "select k from db.a limit 5 offset 1": "LIMIT",
    "select k, now() as n from db.a": "now(), whose value",
    "select k, current_date as n from db.a": "current_date, whose value",
    "select k, unix_timestamp() as n from db.a": "unix_timestamp(), whose value",
    "select k, rand() as n from db.a": "rand(), whose value",
    "select k, my_udf(x) as n from db.a": "my_udf(), which is not a built-in function of Spark",
    "select k, lake.db.f(x) as n from db.a": "not a built-in function of Spark",
    "select a.k from db.a full join db.b on a.k = b.k": "FULL JOIN",
    "select * from db.a natural join db.b": "NATURAL JOIN",
    "select k, count(*) as n from db.a group by rollup (k)": "ROLLUP",
    "select k from db.a tablesample (10 percent)": "TABLESAMPLE",
    "select k from db.a version as of 3": "time travel",
    "select id from range(10)": "the function range()",
    "select k, '${spark.app.id}' as app from db.a": "the variable ${spark.app.id} of Spark",
    "select k from db.a where s rlike r'${env:NAME}'": "the variable ${env:NAME} of Spark",
    "select k, try_cast(r'today' as date) as d from db.a": "'today', which Spark may interpret",
    "select k, `current_date` as n from db.a": "current_date, whose value",
    "with e as (select k, posexplode(array(x)) as (p, v) from db.a) select k, p, v from e": "AS with several names",
    # a group has the key 'p' or 'P'
    "select cast(g as string) as g, n from (select collate(s, 'utf8_lcase') as g, count(*) as n from db.a group by 1) "
    "t": "the function collate()",
    "select k from db.a where s collate utf8_lcase = 'p'": "COLLATE",
    "select cast(s as string collate utf8_lcase) as s from db.a": "names that cannot be resolved",
    "select k from db.a except select k from db.b": "EXCEPT",
    "with recursive t as (select 1 as k union all select k + 1 from t) select k from t": "WITH RECURSIVE",
    "select t.k from db.a join (db.b join db.c on b.y = c.y) as t on a.k = t.k": "a join in parentheses with an alias",
    "select k, row_number() over (order by x) as n from db.a": "window functions without a common PARTITION BY",
    "select k, rank() over (partition by k order by x) as n, max(x) over () as m from db.a": "window functions without "
    "a common PARTITION BY",
    "select explode(array(k, x)) as e, k, count(*) over (partition by k) as n, max(x) over (partition by s) as m "
    "from db.a": "window functions without a common PARTITION BY",
    "select k, s, rank() over (partition by k order by count(*)) as n, max(s) over (partition by s) as m "
    "from db.a group by k, s": "window functions without a common PARTITION BY",
    "select a.k from db.a left join db.b on a.k = b.k and b.y in (select y from db.c)": "a subquery in an ON clause",
    "select a.k from db.a left join (values (1)) v (n) on a.k = n and exists (select 1 from db.b where y = n)": "a "
    "subquery in an ON clause",
    "select k, (select m from (select max(y) as m from db.b where b.k = a.k) t) as m from db.a": "a derived table that "
    "reads columns of an outer query",
    "select k, (select first(y) from db.b) as y from db.a": "first() in a subquery",
    "select k, x from db.a where k in (select k from db.b union all select y from db.c)": "UNION in a subquery",
    "select n, count(*) as m from (select k, first(x) as n from db.a group by k) t group by n": "first(), which "
    "may choose",
    "select s, count(*) as n from (select k, s, row_number() over (partition by k order by x) as r from db.a) t "
    "where r = 1 group by s": "row_number(), which may choose",
    "select k, x from db.a where d > (select avg(d) from db.a)": "avg() of floating-point numbers",
    "select k from db.a where k in (select k from db.a group by k having sum(d) > 1)": "sum() of floating-point",
    "select t > 1 as b, count(*) as n from (select k, (select sum(d) from db.a t where t.k = a.k) as t from db.a) u "
    "group by t > 1": "sum() of floating-point numbers",
    "select count(*) as n from db.a group by map(s, x)": "a map in GROUP BY",
    "select distinct m, k from (select k, map(s, x) as m from db.a) t": "a map in GROUP BY, DISTINCT",
    "select hash(* except (d)) as h from db.a": "* EXCEPT as an argument",
    "select a.k, to_json(arrays_zip(array(1), (b.s))) as j from db.b right join db.a on a.k = b.k": "arrays_zip() in a "
    "SELECT whose columns are renamed",
    "select to_json(arrays_zip(s, s)) as j, count(*) over (partition by k) as n, max(x) over (partition by s) as m "
    "from db.a": "arrays_zip() in a SELECT whose columns are renamed",
    # equal rows may have different positions in different orders
    "select s, n, m from (select k, x, s, row_number() over (partition by k order by x, s) as n, "
    "row_number() over (partition by k order by s, x) as m from db.a) t group by s, n, m": "row_number(), which",
    # ORDER BY considers 0.0 and -0.0 equal
    "select n, count(*) as m from (select d, row_number() over (partition by k order by d) as n from db.a) t "
    "group by n": "row_number(), which may choose",
    # max() returns 0.0 or -0.0, which are different texts
    "select t, count(*) as n from (select k, cast(max(e) as string) as t from (select k, d * 2 as e from db.a) v "
    "group by k) u group by t": "max(), which may return another of equal values",
    "select t, count(*) as n from (select k, coalesce(max(d), 'none') as t from db.a group by k) u group by "
    "t": "max(), which may return another of equal values",
    "select b.s, count(*) as n from (select k, max(d) as m from db.a group by k) u join db.b on b.k = u.k "
    "where u.m || 'x' <> '0.0x' group by b.s": "max(), which may return another of equal values",
    "select k, s from db.a where cast(d as string) = (select cast(min(d) as string) from db.a)": "min(), which may "
    "return another of equal values",
    "select t, count(*) as n from (select cast(percentile_cont(0.5) within group (order by d) as string) as t from "
    "db.a group by k) u group by t": "percentile_cont(), which may return another of equal values",
    # the rows that explode() returns for one row are equal in the order
    "select e, n, count(*) as m from (select k, explode(array(x, k)) as e, row_number() over (partition by k order by "
    "x) as n from db.a) t group by e, n": "row_number(), which may choose",
    # the order does not determine the count of the subquery
    "select n, count(*) as m from (select k, (select count(*) from db.b where b.k = a.x) as c, row_number() over "
    "(partition by k order by s) as n from db.a) t group by n, c": "row_number(), which may choose",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str) -> None:
    with pytest.raises(Refusal) as raised:
        incremental_query(sql, COLUMNS, "lake", dict.fromkeys(parsed(sql).named_selects, "int"))
    assert REFUSED[sql] in str(raised.value)


def test_line() -> None:
    with pytest.raises(Refusal) as raised:
        incremental_query("select k\nfrom db.a\nwhere x > rand()", COLUMNS, "lake", {"k": "int"})
    assert raised.value.line == 3
