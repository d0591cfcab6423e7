"""Groups that are updated by added and removed rows equal a rebuild, or are in doubt. The tests use DuckDB."""

from __future__ import annotations

import zlib
from collections import Counter

import pytest

from iceberg_incremental.query.rules.summary import measure_of
from iceberg_incremental.query.states import TableStates
from iceberg_incremental.query.text.dialect import PlainSpark

from .kept_tables import COLUMNS, SCHEMA, Row, Tables
from .test_added import Growing
from .test_exact import QUERIES

GROUPS = {
    "counts": "select k, count(*) as n, count(x) as x, count(1) as one from db.a group by k",
    "sums": "select k, sum(x) as x, count(*) as n from db.a group by k",
    "a sum alone": "select s, sum(x) as x from db.a group by s",
    "a sum or zero": "select s, coalesce(sum(x), 0) as x from db.a group by s",
    "flags": "select k, sum(case when s = 'p' then 1 else 0 end) as p, sum(if(x > 1, x, 0)) as q from db.a group by k",
    "flags with their groups' sizes": "select k, sum(case when x > 1 then 1 else 0 end) as p, count(*) as n from db.a "
    "group by k",
    "filters": "select k, count(*) filter (where x > 1) as p, sum(x) filter (where s = 'p') as q, count(*) as n "
    "from db.a group by k",
    "extremes": "select k, min(x) as low, max(s) as high, count(*) as n from db.a group by k",
    "a mean of sums": "select k, sum(x) as x, count(x) as n, sum(x) * 1.0 / count(x) as mean from db.a group by k",
    "a key and what is made of it": "select k, k + 1 as next, sum(x) + k as x, sum(x) as s from db.a group by k",
    "an expression": "select k % 2 as odd, s, count(*) as n, sum(x * 2) as x from db.a where x > 0 group by k % 2, s",
    "a total": "select count(*) as n, sum(x) as x, coalesce(sum(k), 0) as k from db.a",
    "a total without its size": "select sum(x) as x, sum(case when k = 1 then 1 else 0 end) as one from db.a",
    "a total of a join": "select sum(a.x) as x, count(*) as n from db.a a join db.b b on a.k = b.k",
    "a join": "select b.s, sum(a.x) as x, count(*) as n from db.a a join db.b b on a.k = b.k group by b.s",
    "three tables": "select a.s, c.z, count(*) as n, sum(b.y) as y from db.a a, db.b b, db.c c where a.k = b.k and "
    "b.y = c.y group by a.s, c.z",
    "a self join": "select l.k, count(*) as n, sum(r.x) as x from db.a l join db.a r on l.x = r.k group by l.k",
    "an optional side": "select a.s, count(b.y) as y, count(*) as n from db.a a left join db.b b on a.k = b.k "
    "group by a.s",
    "a cte": "with t as (select a.k, b.y, a.s from db.a a join db.b b on a.k = b.k where a.x > 0) select t.s, c.z, "
    "sum(t.y) as y, count(*) as n from t join db.c c on t.y = c.y group by t.s, c.z",
    "a union": "select feed, k, count(*) as n, sum(v) as v from (select 'a' as feed, k, x as v from db.a union all "
    "select 'b', k, y from db.b) u group by feed, k",
    "a subquery of another table": "select k, count(*) as n from db.a where x in (select z from db.c) group by k",
    "a join of groups": "select t.n, count(*) as m from db.a a join (select y, count(*) as n from db.b group by y) t "
    "on a.x = t.y group by t.n",
}
OTHERS = {
    "distinct values": "select k, count(distinct x) as n from db.a group by k",
    "a filter of groups": "select k, count(*) as n from db.a group by k having count(*) > 1",
    "a mean": "select k, avg(x) as x from db.a group by k",
    "a sum of floating-point numbers": "select k, sum(d) as d from db.a group by k",
    "groups by a floating-point number": "select d, count(*) as n from db.a group by d",
    "a group that is not selected": "select count(*) as n from db.a group by k",
    "an expression of a sum with a filter": "select k, sum(x) as x, coalesce(sum(x) filter (where x > 1), 5) as y "
    "from db.a group by k",
    "a rounded sum": "select k, cast(sum(x) as string) as x from db.a group by k",
    "single rows": "select k, x from db.a",
    "windows": "select k, count(*) over (partition by k) as n from db.a",
    "windows of groups": "select k, count(*) as n, rank() over (partition by k order by count(*)) as r from db.a "
    "group by k",
    "a choice": "select k, count(*) as n from (select k, first(x) as x from db.a group by k) t where x > 0 group by k",
    "several rows of a group": "select k, count(*) as n, explode(array(1, 2)) as e from db.a group by k",
    "rows made of sums": "select k, count(*) as n, explode(array(count(*))) as e from db.a group by k",
    "a variable with the name of a sum": "select k, sum(x) as s, transform(array(k), s -> s + sum(x)) as t from db.a "
    "group by k",
    "distinct groups": "select distinct k, count(*) as n from db.a group by k",
    "the time beside a count": "select k, count(*) as n, k - unix_date(current_date) as age from db.a group by k",
    "the time beside a total": "select count(*) as n, count(*) - unix_date(current_date) as days from db.a",
}


class Signed(Tables):
    """Tables whose changes may include rows that were added and removed again, which cancel out."""

    supersets = False

    @property
    def states(self):
        for name, columns in SCHEMA.items():
            some = f"{next(iter(columns))} = {self.rng.randrange(5)} and exists (select 1 from {name}_changes)"
            both = f"select {name}_new.*, t from {name}_new, (values ('INSERT'), ('DELETE')) v(t) where {some}"
            self.db.execute(f"insert into {name}_changes {both}")
        self.growing = set()
        return super().states


def continued(tables: Tables, query) -> Counter[Row] | None:
    """The updated old result. None if nothing has changed, if a group is in doubt, or if the changes are unknown."""
    summary = query.summary
    changes = query.changes(tables.states, "ip", clock=tables.clock)
    if not changes.is_changed(query.tree.root):
        return None
    delta = summary.delta_sql(changes)
    if delta is None:
        return None
    old = f"({tables.all_rows(query, 'old')})"
    doubtful = summary.doubtful_sql(old, f"({delta})")
    if doubtful is not None and tables.fetch(doubtful):
        return None
    return tables.fetch(summary.rows_sql(old, f"({delta})"))


@pytest.mark.parametrize(
    ("name", "tables"),
    [(name, Growing) for name in GROUPS] + [(name, Signed) for name in GROUPS if name != "extremes"],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_groups_continue(name, tables):
    found = tables(seed=zlib.crc32(name.encode()))
    query = found.kept(GROUPS[name])
    assert query.summary is not None
    compared = 0
    for _ in range(40):
        found.change()
        rows = continued(found, query)
        if rows is not None:
            assert rows == found.fetch(found.on(GROUPS[name], "new"))
            compared += 1
        if compared == 3:
            return
    pytest.fail("the groups have continued less than three times")


@pytest.mark.parametrize("name", QUERIES)
def test_continued_results_are_exact(name):
    tables = Signed(seed=zlib.crc32(name.encode()))
    query = tables.kept(QUERIES[name])
    for _ in range(2 if query.summary else 0):
        tables.change()
        rows = continued(tables, query)
        assert rows is None or rows == tables.fetch(tables.on(QUERIES[name], "new"))


@pytest.mark.parametrize("name", OTHERS)
def test_other_results_do_not_continue(name):
    assert Signed(seed=1).kept(OTHERS[name]).summary is None


def test_a_group_is_in_doubt_only_if_its_size_is_unknown():
    tables = Signed(seed=3)
    alone, with_size, or_zero = (tables.kept(GROUPS[name]) for name in ("a sum alone", "counts", "flags"))
    assert alone.summary.doubtful_sql("o", "d") is not None and with_size.summary.doubtful_sql("o", "d") is None
    assert or_zero.summary.doubtful_sql("o", "d") is not None


def test_only_known_differences_continue():
    query = Signed(seed=4).kept(GROUPS["a cte"])
    unknown = {table: TableStates("n", "o", "c") for table in COLUMNS}
    assert query.summary.delta_sql(query.changes(unknown, "ip")) is not None
    extremes = Signed(seed=4).kept(GROUPS["extremes"])
    assert extremes.summary.delta_sql(extremes.changes(unknown, "ip")) is None


def test_a_constant_in_group_by_remains_a_constant():
    query = Signed(seed=1).kept("select 3 as d, k, sum(x) as x, sum(x) * 3 as r from db.a group by 1, k")
    assert query.summary.derived["r"].sql(PlainSpark) == "`x` * 3"


def test_a_sum_that_coalesce_rounds_does_not_continue():
    default, alone = (PlainSpark().parse(sql)[0] for sql in ("coalesce(sum(x), 0)", "sum(x)"))
    assert measure_of("x", default, "decimal(38,28)") is None  # for example for a column of decimal(38,30)
    assert measure_of("x", default, "decimal(38,27)") is not None
    assert measure_of("x", default, "decimal(37,28)") is not None
    assert measure_of("x", alone, "decimal(38,30)") is not None


@pytest.mark.parametrize(
    ("sql", "type_", "may_overflow"),
    [
        ("sum(x)", "decimal(38,4)", True),
        ("coalesce(sum(x), 0)", "decimal(38,4)", True),
        ("sum(x)", "decimal(37,4)", False),
        ("sum(x)", "bigint", False),
        ("max(x)", "decimal(38,4)", False),
    ],
)
def test_a_sum_of_38_digits_may_overflow(sql, type_, may_overflow):
    measure = measure_of("x", PlainSpark().parse(sql)[0], type_)
    assert measure is not None and measure.may_overflow is may_overflow
