"""How a model's SQL uses the changes that it captures."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.project.captured import Captured
from dbt.adapters.spark_iceberg.project.captured_rows import use_of
from iceberg_incremental.table.history import TableName

EVENTS, PLANS, OWN = (TableName("lake", "ops", name) for name in ("events", "plans", "sums"))
NEW = "lake.`ops`.`events`.`branch_main` WITH (`start-snapshot-id` = '1', `end-snapshot-id` = '2')"
WHOLE = "lake.`ops`.`events` VERSION AS OF 2"
DIM = "lake.`ops`.`plans` VERSION AS OF 7"
GROUPS = f"(select * from {WHOLE} left semi join ({NEW}) using (k))"
LOG = "(select *, 'INSERT' as _change_type from lake.`ops`.`events`.`snapshot_id_2`)"
NEW_PLANS = "lake.`ops`.`plans`.`branch_main` WITH (`start-snapshot-id` = '5', `end-snapshot-id` = '7')"
SIGNED = "(select *, 1 as _change_sign from lake.`ops`.`events`.`snapshot_id_2`)"
GIVEN = {
    NEW: {Captured("ip_changes", EVENTS)},
    WHOLE: {Captured("ip_as_of", EVENTS)},
    DIM: {Captured("ip_as_of", PLANS)},
    GROUPS: {Captured("ip_changed_groups", EVENTS)},
    LOG: {Captured("ip_changelog", EVENTS)},
    SIGNED: {Captured("ip_signed_changes", EVENTS)},
    NEW_PLANS: {Captured("ip_changes", PLANS)},
}


def found(sql):
    use = use_of(sql, GIVEN, OWN)
    assert use is not None, sql
    return use


def totals(sql):
    return [total.sql for total in found(sql).totals]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"select k, count(*) as n from {NEW} group by k", ["count(*)"]),
        (f"select k, count(*) filter (where v > 1) n from {NEW} group by k", ["count(*)"]),
        (f"from {NEW} select k, sum(v) group by all", ["sum(v)"]),
        (f"select count(*) as n from {NEW}", ["count(*)"]),
        (f"select k, max(v) as v from {NEW} as e group by k", ["max(v)"]),
        (f"select k, every(v) as v, try_sum(w) as w from {NEW} as e group by k", ["every(v)", "try_sum(w)"]),
        (f"select k, theta_sketch_agg(v) as v from {NEW} group by k", ["theta_sketch_agg(v)"]),
        (f"select k, coalesce(round(avg(v), 2), 0) as v from {NEW} group by k", ["avg(v)"]),
        (f"select k, max_by(v, ts) as v, count(*) as n from {NEW} group by k", ["count(*)"]),
        (f"select k, sum(v) as v from {LOG} group by k", ["sum(v)"]),
        (f"select k, sum(v * _change_sign) as v from {SIGNED} group by k", ["sum(v * _change_sign)"]),
        (f"select k, rank() over (order by v) as place from {NEW}", ["rank() OVER (ORDER BY v)"]),
        (f"select k, v - lag(v) over (order by ts) as more from {NEW}", ["lag(v) OVER (ORDER BY ts)"]),
        # through subqueries, CTEs, ephemeral models, unions
        (f"select * from (select k, n + 1 as m from (select k, count(*) as n from {NEW} group by k))", ["count(*)"]),
        (
            f"with __dbt__cte__e as (select k, v from lake.x.y), new as (select * from {NEW}), "
            "sums as (select new.k, sum(new.v) as s from new join __dbt__cte__e e on e.k = new.k group by 1) "
            "select k, s from sums",
            ["sum(new.v)"],
        ),
        (f"with s(k, n) as (select k, count(*) from {NEW} group by k) select k, n from s", ["count(*)"]),
        (f"select k, m from (select k, count(*) as n from {NEW} group by k) as t(k, m)", ["count(*)"]),
        (f"select k, 0 as n from {DIM} union all select k, count(*) from {NEW} group by k", ["count(*)"]),
        (f"select * from {DIM} union all select k, count(*) as n from {NEW} group by k", ["count(*)"]),
        # joins: the rows of the changes are aggregated, regardless of the other relations
        (f"select d.name, count(*) as n from {NEW} f join {DIM} d on f.k = d.k group by d.name", ["count(*)"]),
        (f"select d.name, sum(f.v) from {NEW} f left join {DIM} d on f.k = d.k group by d.name", ["sum(f.v)"]),
        (f"select name, sum(v) from ({NEW} f join {DIM} d using (k)) group by name", ["sum(v)"]),
        (f"select name, sum(v) from {NEW} f, {DIM} d where f.k = d.k group by name", ["sum(v)"]),
        # also if the changes are joined with other rows of their own table
        (f"select f.k, sum(f.v) from {NEW} f left join {WHOLE} p on p.id = f.parent group by f.k", ["sum(f.v)"]),
        (f"select p.k, count(F.id) as n from {WHOLE} p join {NEW} f on p.id = f.parent group by p.k", ["count(F.id)"]),
        # the aggregated rows are distinct new rows, or the newest new row of each key
        (f"select day, count(*) as n from (select distinct day, k from {NEW}) group by day", ["count(*)"]),
        (
            f"select day, count(*) as n from (select k, max_by(day, ts) as day from {NEW} group by k) group by day",
            ["count(*)"],
        ),
        (
            f"select day, count(*) as n from (select * from {NEW}"
            " qualify row_number() over (partition by k order by ts) = 1) group by day",
            ["count(*)"],
        ),
        # as a column, and as a filter of groups
        (f"select k, (select max(v) from {NEW}) as top from {DIM}", ["max(v)"]),
        (f"select k from {NEW} group by k having count(*) > 1", ["count(*)"]),
        (f"select * from {NEW} pivot (sum(v) for d in (1, 2))", ["sum(v)"]),
        (f"select * from (select distinct k, d, v from {NEW}) pivot (sum(v) for d in (1, 2))", ["sum(v)"]),
        # windows
        (
            f"select k, sum(v) over (partition by k order by ts) as s from {NEW}",
            ["sum(v) OVER (PARTITION BY k ORDER BY ts)"],
        ),
        (f"select *, count(*) over (partition by k) as n from {NEW}", ["count(*) OVER (PARTITION BY k)"]),
        (f"select k, s.a from (select k, struct(sum(v) as a) as s from {NEW} group by k)", ["sum(v)"]),
        (f"select k, s.* from (select k, struct(sum(v) as a) as s from {NEW} group by k)", ["sum(v)"]),
        (f"select k, posexplode(collect_list(v)) from {NEW} group by k", ["collect_list(v)"]),
        # a condition on another column with the same name does not make a window a filter
        (
            f"select n.v, r from (select v, ntile(3) over (order by v) as r from {NEW}) n join {DIM} d on d.r = n.v",
            ["ntile(3) OVER (ORDER BY v)"],
        ),
        (
            f"select k, e from (select k, max(v) as m from {NEW} group by k) lateral view explode(array(m)) as e",
            ["max(v)"],
        ),
        (f"select distinct k, rank() over (order by v) as r from {NEW} qualify k > 1", ["rank() OVER (ORDER BY v)"]),
    ],
)
def test_aggregates_of_changes_that_the_table_stores(sql, expected):
    assert totals(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        f"select * from {NEW}",
        f"select distinct * from {NEW}",
        f"select k, v from {NEW} group by k, v",
        f"select k, count(*) as n from {GROUPS} group by k",
        f"select day, count(*) as n from {WHOLE} where day between 1 and 2 group by day",
        # the newest version of each key
        f"select * from {NEW} qualify row_number() over (partition by k order by ts desc) = 1",
        f"select * from (select *, rank() over (partition by k order by ts) as r from {NEW}) where r = 1",
        f"select * from (select *, max(ts) over (partition by k) as newest from {NEW}) where ts = newest",
        f"select * from (select *, count(*) over (partition by k) as copies from {NEW}) where copies = 1",
        f"select k, first_value(v) over (partition by k order by ts desc) as v from {NEW}",
        f"select k, max_by(v, ts) as v, max(ts) as ts from {NEW} group by k",
        f"select k, min_by(v, ts) as v, min(ts) as ts from {NEW} group by k",
        f"select k, any_value(v), first(w, true), last(w) ignore nulls from {NEW} group by k",
        f"with m as (select k, max(struct(ts, v)) as m from {NEW} group by k) select k, m.v, m.ts from m",
        f"select k, max(named_struct('ts', ts, 'v', v)) as m from {NEW} group by k",
        # aggregates of other relations
        f"select e.*, (select max(v) from {DIM}) as top from {NEW} as e",
        f"select e.k, d.n from {NEW} as e join (select k, count(*) as n from {DIM} group by k) as d on d.k = e.k",
        f"select e.k, d.n from {NEW} as e cross join (select count(*) as n from {WHOLE}) as d",
        # the changes only select rows of whole tables
        f"select day, count(*) as n from {WHOLE} where day in (select day from {NEW}) group by day",
        f"select day, count(*) as n from {WHOLE} w where exists (select 1 from {NEW} c where c.day = w.day) group by 1",
        f"select day, count(*) as n from {WHOLE} where day >= (select min(day) from {NEW}) group by day",
        f"select w.day, count(*) as n from {WHOLE} w left semi join {NEW} c on c.day = w.day group by w.day",
        f"with c as (select distinct day from {NEW}) select day, count(*) from {WHOLE} join c using (day) group by 1",
        f"select d.day, count(w.day) as n from (select distinct day from {LOG}) d left join {WHOLE} w on w.day = d.day"
        " group by d.day",
        f"with b as (select min(day) as lo, max(day) as hi from {NEW}) select day, count(*) as n "
        f"from {WHOLE} cross join b where day between lo and hi group by day",
        f"select w.k, max(w.v) as v from {WHOLE} w join {NEW} c on c.k = w.k group by w.k",
        f"select w.k, sum(w.v) as v from lake.ops.events w join {NEW} c on c.k = w.k group by w.k",
        f"select d.k, sum(d.v) as v from {DIM} d join {NEW} c on c.k = d.k group by d.k",
        f"with unused as (select count(*) as n from {NEW}) select * from {NEW}",
        "select 1 as id",
    ],
)
def test_sql_that_does_not_depend_on_the_size_of_a_run(sql):
    assert totals(sql) == []


SUMS = f"""
    with new as (select k, sum(v) as v from {NEW} group by k)
    select k, sum(v) as v from (
        select * from new union all select known.* from lake.`ops`.sums as known left semi join new on new.k = known.k
    ) group by k
"""


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        (SUMS, True),
        (
            f"with n as (select k, count(*) n from {NEW} group by 1) select k, n.n + t.n from n join ops.Sums t",
            True,
        ),
        (f"select k, count(*) from {NEW} group by k", False),
        # only as a filter, so the table's values are not added up
        (f"select k, count(*) from {NEW} where ts > (select max(ts) from lake.ops.sums) group by k", False),
        (f"select k, count(*) from {NEW} where k not in (select k from lake.ops.sums) group by k", False),
    ],
)
def test_rows_of_the_models_own_table(sql, reads):
    assert found(sql).reads_own_table is reads


@pytest.mark.parametrize(
    ("sql", "ignores"),
    [
        (f"select k, v from {SIGNED}", True),
        (f"select k, sum(v) as v from {SIGNED} group by k", True),
        (f"select k, sum(v) as v from (select * from {SIGNED}) group by k", True),
        (f"select * except (_change_sign) from {SIGNED}", True),
        (f"select distinct k from {SIGNED}", True),
        (f"select * from (select * except (_change_sign) from {SIGNED})", True),
        (f"select a.k from (({WHOLE} a join {DIM} d on a.k = d.k) join {SIGNED} s on s.k = d.k)", False),
        (f"select s.k from (({DIM} a join {DIM} d on a.k = d.k) join {SIGNED} s on s.k = d.k)", True),
        (f"select * except (v) from {SIGNED}", False),
        (f"select * from {SIGNED}", False),
        (f"select s.*, d.name from {SIGNED} s join {DIM} d on s.k = d.k", False),
        (f"select * from (select * from {SIGNED}) where v > 1", False),
        (f"select k, v, _Change_Sign as sign from {SIGNED}", False),
        (f"select k, v from {SIGNED} where _change_sign = 1", False),
        (f"select k, sum(if(_change_sign = 1, v, -v)) as v from {SIGNED} group by k", False),
        (f"select * from {WHOLE} where k in (select k from {SIGNED})", False),
        (f"select w.* from (select distinct k from {SIGNED}) c join {WHOLE} w on w.k = c.k", False),
        (f"select k, v from {NEW}", False),
    ],
)
def test_signed_changes_whose_sign_is_ignored(sql, ignores):
    assert bool(found(sql).unsigned) is ignores


def test_a_text_that_may_be_a_whole_table_counts_as_one():
    """For an empty table, ``ip_changes`` and ``ip_as_of`` return the same text."""
    nothing = "lake.ops.events TABLESAMPLE (0 ROWS)"
    given = {nothing: {Captured("ip_changes", EVENTS), Captured("ip_as_of", EVENTS)}}
    assert use_of(f"select k, count(*) from {nothing} group by k", given, OWN).totals == ()


@pytest.mark.parametrize("sql", [f"select from {NEW} where where", f"select k from {NEW} /*", "", "delete from t"])
def test_sql_that_cannot_be_parsed_is_ignored(sql):
    assert use_of(sql, GIVEN, OWN) is None


@pytest.mark.parametrize(
    ("sql", "joins"),
    [
        (f"select n.k, p.v from {NEW} n join {NEW_PLANS} p on n.k = p.k", True),
        (f"with p as (select k, v from {NEW_PLANS}) select n.k, p.v from {NEW} n left join p on n.k = p.k", True),
        (f"select k from (select n.k from {NEW} n, {NEW_PLANS} p where n.k = p.k) t", True),
        (f"select n.k, p.v from {NEW} n join {DIM} p on n.k = p.k", False),
        (f"select k, v from {NEW} union all select k, v from {NEW_PLANS}", False),
        (f"select a.k from {NEW} a join {NEW} b on a.k = b.k", False),
        (f"select w.k from {WHOLE} w left semi join {NEW_PLANS} p on w.k = p.k", False),
        (f"select n.k from {NEW} n where n.k not in (select k from {NEW_PLANS})", True),
        (f"select n.k from {NEW} n where v > 1 and exists (select 1 from {NEW_PLANS} p where p.k = n.k)", True),
        (f"select n.k from {NEW} n left anti join {NEW_PLANS} p on n.k = p.k", True),
        (f"select k from {NEW} except select k from {NEW_PLANS}", True),
        (f"with p as (select k from {NEW_PLANS}) select k from {NEW} intersect select k from p", True),
        (f"select n.k from {NEW} n where n.k in (select k from {DIM})", False),
        (f"select w.k from {WHOLE} w where w.k in (select k from {NEW_PLANS})", False),
        (f"select k from {NEW} where k in (select k from {NEW} where v > 1)", False),
        (f"select n.k, p.v from {NEW} n join {NEW_PLANS} c on n.k = c.k join {DIM} p on p.k = c.k", False),
    ],
)
def test_changes_that_are_joined_with_each_other(sql, joins):
    """A partner that arrives in another run would not be found, unless its whole table is read as well."""
    assert bool(found(sql).joined) is joins


@pytest.mark.parametrize(
    ("sql", "limits"),
    [
        (f"select k, v from {NEW} order by k limit 5", True),
        (f"select k from (select k from {NEW} limit 5) t", True),
        (f"with n as (select k from {NEW}) select * from n limit 5", True),
        (f"select n.k from {NEW} n join (select k from {DIM} limit 5) p on n.k = p.k", False),
        (f"select k from {WHOLE} limit 5", False),
    ],
)
def test_a_limit_of_changes(sql, limits):
    assert bool(found(sql).limited) is limits


OF_OWN = "lake.`ops`.`sums`"


@pytest.mark.parametrize(
    ("sql", "has_watermark"),
    [
        (f"select * from {NEW} where v > (select max(v) from {OF_OWN})", True),
        (
            f"with n as (select * from {NEW} where v >= (select coalesce(max(v), 0) from {OF_OWN})) select * from n",
            True,
        ),
        (f"select * from {NEW} where v > (select max(v) from {DIM})", False),
        (f"select * from {NEW} where k not in (select k from {OF_OWN})", False),
        (f"select * from {NEW} n where (select max(v) from {OF_OWN}) < n.v and k is not null", True),
        (f"select * from {NEW} where v <= (select max(v) from {OF_OWN})", False),
        (f"select * from {NEW} n where v > (select max(v) from {OF_OWN} t where t.k = n.k)", False),
        (f"select * from {WHOLE} where v > (select max(v) from {OF_OWN})", False),
        (f"select n.* from {NEW} n join {DIM} d on n.k = d.k where d.at > (select max(at) from {OF_OWN})", False),
        (
            f"select n.* from {NEW} n left join (select * from {OF_OWN} where v = (select max(v) from {OF_OWN})) p "
            "on p.k = n.k",
            False,
        ),
    ],
)
def test_a_maximum_of_the_models_own_table(sql, has_watermark):
    assert found(sql).watermark is has_watermark


@pytest.mark.parametrize(
    ("condition", "leaves_out"),
    [
        ("_change_type <> 'DELETE'", True),
        ("v > 1 and c._change_type = 'INSERT'", True),
        ("_change_type in ('INSERT', 'UPDATE_AFTER')", True),
        ("_change_type not in ('DELETE', 'UPDATE_BEFORE')", True),
        ("_change_type <> 'UPDATE_BEFORE'", False),
        ("_change_type in ('INSERT', 'UPDATE_AFTER', 'DELETE')", False),
        ("_change_type not in ('UPDATE_BEFORE')", False),
        ("_change_type = 'INSERT' or _change_type = 'DELETE'", False),
        ("v <> 'DELETE'", False),
    ],
)
def test_deletions_that_a_condition_leaves_out(condition, leaves_out):
    assert found(f"select k, v, _change_type from {LOG} c where {condition}").filters_type is leaves_out
