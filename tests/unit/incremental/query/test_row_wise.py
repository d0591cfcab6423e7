"""Which queries are computed row by row, and which expressions are constants."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.row_wise import require_constant, require_row_wise
from iceberg_incremental.query.text.refusal import Refusal


@pytest.mark.parametrize(
    "sql",
    [
        "select * from t",
        "select id, 'now', 'today' as name from t where day >= date '2026-01-01' and at > timestamp 'epoch'",
        "select id, name = 'now playing' as plays from t where name in ('nowhere', 'today we')",
        "select id, upper(name) as name, case when amount > 0 then 'x' end as k from c.s.t as o where o.part <> 'x'",
        "with a as (select * from t), b as (select id from a where id > 1) select * from b order by id",
        "select * except (name) from (select * from t) as x",
        "select id, items[0] as first, size(items) as n from t where id in (1, 2)",
    ],
)
def test_filters_and_expressions_are_row_wise(sql):
    require_row_wise(sql)


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        ("select * from t join u using (id)", "join"),
        ("select * from t, u", "join"),
        ("select id, count(*) as n from t group by id", "GROUP BY"),
        ("select max(id) as n from t", "aggregate"),
        ("select distinct id from t", "DISTINCT"),
        ("select id, row_number() over (partition by id order by v) as n from t", "window"),
        ("select * from t qualify row_number() over (partition by id order by v) = 1", "window"),
        ("select id, explode(items) as i from t", "several rows"),
        ("select t.id, i from t lateral view explode(items) x as i", "LATERAL VIEW"),
        ("select * from (t join u on t.id = u.id)", "join in parentheses"),
        ("select t.id, i from (t lateral view explode(items) x as i)", "parentheses"),
        ("select * from t where id in (select id from u)", "subquery"),
        ("select * from t where exists (select 1 from u)", "subquery"),
        ("select id, (select max(id) from u) as m from t", "subquery"),
        ("select * from t union all select * from t", "UNION"),
        ("select 1 as id", "no table"),
        ("select * from values (1) as t (id)", "no table"),
        ("select * from t limit 3", "LIMIT"),
        ("select *, current_timestamp() as at from t", "current_timestamp"),
        ("select * from t where day = current_date", "current_date"),
        ("select * from t where at < timestamp 'now'", "now"),
        ("select * from t where day >= date'Yesterday '", "Yesterday"),
        ("select * from t where day >= 'yesterday'", "yesterday"),
        ("select id, datediff('today', day) as age from t", "today"),
        ("select * from t where at < timestamp_ntz ' today UTC'", "today UTC"),
        ("select * from t where at > 'today' and id > 1", "today"),
        ("select * from t where at between r'yesterday' and '2999-01-01'", "yesterday"),
        ("select *, coalesce(at, ('today Europe/Paris')) as x from t", "today Europe/Paris"),
        ("select *, to_timestamp('NOW') as x from t", "NOW"),
        ("select *, my_udf(id) as x from t", "my_udf"),
        ("select * from (select id, count(*) as n from t group by id) as x", "aggregate"),
    ],
)
def test_the_error_names_other_constructs(sql, construct):
    with pytest.raises(Refusal, match=construct):
        require_row_wise(sql)


@pytest.mark.parametrize(
    "text", ["to_date('9999-12-31')", "cast('9999-12-31' as timestamp)", "null", "date '2999-01-01'"]
)
def test_constants(text):
    require_constant(text)


@pytest.mark.parametrize(
    "text",
    [
        *("current_date()", "current_timestamp", "dbt_valid_from", "rand()", "my_udf()", "("),
        *("'today'", "r'now'", "(select count(*) from t)"),
    ],
)
def test_expressions_that_are_not_constants(text):
    with pytest.raises(Refusal):
        require_constant(text)
