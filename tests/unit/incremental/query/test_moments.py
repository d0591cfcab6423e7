"""Texts that Spark replaces by the time of the statement, and texts that only look like them."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.query.text.dialect import may_be_moment
from iceberg_incremental.query.text.moments import moment_in
from iceberg_incremental.query.text.parsing import parsed
from iceberg_incremental.query.text.refusal import Refusal
from iceberg_incremental.table.history import TableName

COLUMNS = {
    TableName("lake", "db", "t"): {
        "id": "int",
        "day": "date",
        "at": "timestamp",
        "local": "timestamp_ntz",
        "status": "string",
        "tags": "array<string>",
        "days": "array<date>",
        "names": "map<string,int>",
        "by_day": "map<date,int>",
    }
}

MOMENTS = [
    *("now", "NOW", " Today\t", "yesterday", "tomorrow", "\x00today\x1f"),
    *("today UTC", "today Japan", "today+01:00", "yesterday\tEurope/Paris"),
]


@pytest.mark.parametrize("text", MOMENTS)
def test_texts_that_stand_for_a_time(text: str) -> None:
    assert may_be_moment(text)


@pytest.mark.parametrize("text", ["nowhere", "todayUTC", "now UTC", "epoch", "2026-01-01", "today we play", "day", ""])
def test_other_texts(text: str) -> None:
    assert not may_be_moment(text)


REFUSED = [
    *("day = 'today'", "day between 'yesterday' and 'today'", "day not between '2026-01-01' and 'today'"),
    *("day in ('2026-01-01', 'today')", "(day, id) in (('today', 1))", "struct(day) = struct('today')"),
    *("day <=> 'today'", "day is distinct from 'today'", "not at > 'now'", "local > 'today UTC'"),
    *("nullif(day, 'today') = day", "decode(day, 'today', 1, 0) = 1", "equal_null(day, 'today')"),
    *("extract(day from 'today') = 1", "date_part('day', 'today') = 1", "try_to_date('today') > day"),
    *("year('today') = 2026", "last_day('today') > day", "trunc('today', 'MM') > day", "date_trunc('day', 'now') < at"),
    *("datediff('today', day) > 1", "date_diff(day, 'today', at) > 1", "date_add('today', 1) > day"),
    *("months_between('today', at) > 1", "date_sub('today', id) > day", "day - 'today' > interval 1 day"),
    *("'today' - interval 1 day > day", "dateadd(day, 1, 'today') > at", "timestampdiff(day, at, 'today') > 1"),
    *("date_format('today', 'yyyy') = '2026'", "unix_timestamp('now') > 1", "from_utc_timestamp('now', 'UTC') > at"),
    *("cast('today' as date) > day", "try_cast('now' as timestamp) > at", "'today'::date > day", "date 'today' > day"),
    *("timestamp_ntz 'now' > local", "timestamp_ltz 'now' > at", "date(('today')) > day", "timestamp('now') > at"),
    *("case when day = 'today' then true end", "case day when 'today' then true end"),
    *("case when id = 1 then day else 'today' end > day", "if(id = 1, day, 'today') > day"),
    *("coalesce(day, 'today') > day", "nvl2(id, 'today', day) > day", "greatest(day, 'today') > day"),
    *("array(day, 'today')[0] > day", "map(1, day, 2, 'today')[1] > day", "array_contains(days, 'today')"),
    *("by_day['today'] > 1", "element_at(by_day, 'today') > 1", "exists(days, x -> x > 'today')"),
    *("map(day, 1)['today'] = 1", "map(day, 1)[lower('TODAY')] = 1", "map(at, 1)['now'] = 1"),
    *("map_concat(by_day, by_day)['today'] = 1", "map_filter(by_day, (k, v) -> v > 0)['today'] = 1"),
    *("map_from_arrays(days, days)['today'] = day", "map_from_entries(array(struct(day, 1)))['today'] = 1"),
    *("transform_values(by_day, (k, v) -> v + 1)['today'] = 1", "transform_keys(names, (k, v) -> day)['today'] = 1"),
    *("map_zip_with(by_day, by_day, (k, a, b) -> a)['today'] = 1", "map('a', 1)['today'] = 1"),
    *("size(filter(days, x -> x = 'today')) > 1", "array('today')[0] > day", "element_at(array('today'), 1) > day"),
    *("map('a', 'today')['a'] > day", "struct('today' as d).d > day", "named_struct('d', 'today').d > day"),
    *("'to' || 'day' > day", "concat('to', 'day') > day", "'to' 'day' > day", "lower('TODAY') > day"),
    *("trim(' today ') > day", "reverse('yadot') > day", "substring('xtoday', 2) > day", "elt(1, 'today') > day"),
    *("replace('t-oday', '-', '') > day", "coalesce(null, 'today') > day", "decode(1, 1, 'today') > day"),
    *("cast(x'746F646179' as string) > day", "decode(x'746F646179', 'UTF-8') > day", "conv(30596, 10, 36) > day"),
    *("concat(chr(110), chr(111), chr(119)) > at", "(('today')) > day", "r'today' > day", '"today" > day'),
    *("exists (select 1 from db.t u where u.day < 'today')", "id in (select id from db.t where day < 'today')"),
]
ACCEPTED = [
    *("status = 'today'", "status in ('now', null)", "status between 'now' and 'today'", "upper(status) <> 'NOW'"),
    *("id = 'now'", "status like 'today'", "coalesce(status, 'now') = 'now'", "array_contains(tags, 'today')"),
    *("str_to_map(status)['now'] = 'x'", "map(status, 1)[status] = 1", "map(1, 2)[id] = 1"),
    *("names['now'] > 1", "element_at(names, 'today') > 1", "case status when 'now' then true end"),
    *("case when id = 1 then 'now' else status end = 'x'", "status = lower('TODAY')", "status = 'to' || 'day'"),
    *("day > '2026-01-01'", "day > 'epoch'", "to_date('2026-01-01') < day", "concat('2026', '-01-01') < day"),
    *("at > date_trunc('month', date '2026-01-01')", "day > date '2026-01-01' + interval '1' day", "id > 1 + 1"),
    *("cast(day as string) = 'today'", "replace(status, 'today', 'now') = 'x'", "status || 'today' = 'x'"),
    *("size(transform(tags, x -> concat(x, 'day'))) > 1", "at > to_timestamp('2026-01-01 00:00:00')"),
    *("status = (select max(status) from db.t where status <> 'now')", "date_format(day, 'yyyy') = '2026'"),
]


def _refusal(sql: str) -> str | None:
    types = {"x": "int"}
    try:
        incremental_query(sql, COLUMNS, "lake", types)
    except Refusal as refusal:
        return refusal.construct
    return None


@pytest.mark.parametrize("condition", REFUSED)
def test_texts_that_meet_a_time_are_refused(condition: str) -> None:
    for sql in (
        f"select id as x from db.t where {condition}",
        f"select id as x from (select * from db.t as t where {condition}) as v",
        f"with c as (select id as x from db.t where {condition}) select x from c union all select id from db.t",
    ):
        found = _refusal(sql)
        assert found is not None and "the time of the run" in found, found
    assert moment_in(parsed(f"select id from db.t where {condition}")) is not None  # without types


@pytest.mark.parametrize("condition", ACCEPTED)
def test_texts_that_meet_other_types_are_accepted(condition: str) -> None:
    assert _refusal(f"select id as x from db.t where {condition}") is None


@pytest.mark.parametrize(
    "sql",
    [
        "select 'now' as x from db.t",
        "select 'today' as x from db.t union all select status from db.t",
        "select count(*) as x from db.t group by 'now', status",
        "select case when id > 1 then 'today' end as x from db.t",
        "select v.s as x from db.t join (values ('now'), ('x')) as v (s) on t.status = v.s",
        "select max_by(id, 'now') as x from db.t group by status",
        "select lag(status, 1, 'today') over (partition by id order by status) as x from db.t",
        "select struct('now' as kind, id) as x from db.t",
        "select e.n as x from db.t lateral view explode(array('now', status)) e as n",
        "select array('a', 'b')[0] as x from db.t",
    ],
)
def test_texts_that_are_values_are_accepted(sql: str) -> None:
    assert _refusal(sql) is None


@pytest.mark.parametrize(
    "condition",
    [
        *("array_contains(array('a', 'b'), status)", "day >= date_trunc('month', date '2026-01-01')"),
        *("at > '2026-01-01 00:00:00 UTC'", "concat('2026', '-01-01') < day", "x > round(1.5)", "name in ('a', null)"),
        *("cast(status as string) = 'now'", "status = concat(name, 'now')", "map('a', 1)[status] > 1"),
    ],
)
def test_ordinary_conditions_without_known_types(condition: str) -> None:
    assert moment_in(parsed(f"select id from t where {condition}")) is None
