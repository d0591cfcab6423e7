"""The clock in a checkpoint, and in the places of marks in SQL."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.complete import with_marks_of_texts
from iceberg_incremental.query.text.clock import (
    ClockStates,
    has_clock,
    parts_of,
    require_clear,
    with_marks,
)
from iceberg_incremental.query.text.refusal import NotAFunction
from iceberg_incremental.table.clock import (
    DATE,
    TIME,
    Clock,
    UnknownTimeZoneError,
    from_document,
    now_in,
    require_zone,
    to_document,
)
from iceberg_incremental.table.history import TableName

# 2026-10-25 00:30 UTC, in the night in which clocks are set back in Berlin
NIGHT = 1_792_888_200_000_000
HOUR = 3_600_000_000
COLUMNS = {TableName("lake", "db", "t"): {"id": "int", "day": "date", "at": "timestamp", "s": "string"}}


@pytest.mark.parametrize(
    ("zone", "local"),
    [
        ("UTC", "2026-10-25 00:30:00+00:00"),
        ("Europe/Berlin", "2026-10-25 02:30:00+02:00"),
        ("+05:30", "2026-10-25 06:00:00+05:30"),
        ("GMT-3", "2026-10-24 21:30:00-03:00"),
        ("UTC+01:15", "2026-10-25 01:45:00+01:15"),
    ],
)
def test_time_zones(zone, local):
    assert str(Clock(NIGHT, require_zone(zone)).local) == local


def test_the_hour_that_occurs_twice():
    """Its texts have their offset, so that they differ."""
    first, second = (ClockStates(Clock(NIGHT + hours * HOUR, "Europe/Berlin")) for hours in (0, 1))
    texts = [each.sql("ip_clock_text_now() ip_clock_local()") for each in (first, second)]
    assert texts[0] == "'2026-10-25 02:30:00.000000+02:00' timestamp_ntz'2026-10-25 02:30:00.000000'"
    assert texts[1] == "'2026-10-25 02:30:00.000000+01:00' timestamp_ntz'2026-10-25 02:30:00.000000'"


def test_an_unknown_time_zone():
    with pytest.raises(UnknownTimeZoneError, match="Mars/Olympus"):
        require_zone("Mars/Olympus")


def test_a_day_ends_at_local_midnight():
    before, after = Clock(NIGHT, "GMT-3"), Clock(NIGHT + 3 * HOUR, "GMT-3")
    assert before.has_moved(after, (DATE,)) and not before.has_moved(Clock(NIGHT + 2 * HOUR, "GMT-3"), (DATE,))
    assert before.has_moved(Clock(NIGHT + 1, "GMT-3"), (TIME,)) and not before.has_moved(before, (DATE, TIME))
    assert abs(now_in("UTC").instant - now_in("Asia/Tokyo").instant) < HOUR


def test_a_document_and_documents_of_another_form():
    clock = Clock(NIGHT, "UTC")
    assert from_document(to_document(clock, {DATE})) == (clock, frozenset({DATE}))
    assert [from_document(each) for each in (None, {}, {"instant": "1", "zone": "UTC", "parts": []})] == [None] * 3


@pytest.mark.parametrize(
    ("sql", "marked"),
    [
        ("select current_date as d from t", "select ip_clock_date() as d from t"),
        ("select curdate() as d, now() as n", "select ip_clock_date() as d, ip_clock_timestamp() as n"),
        ("select unix_timestamp() as u", "select unix_seconds(ip_clock_timestamp()) as u"),
        ("select t.current_date, a as current_date, 'now()' as s, `current_date`", None),
        ("select unix_timestamp(s) as u, now as n -- now()", None),
    ],
)
def test_calls_that_read_the_clock(sql, marked):
    assert with_marks(sql) == (marked or sql)
    assert bool(parts_of(with_marks(sql))) is (marked is not None) is has_clock(sql)


@pytest.mark.parametrize(
    ("condition", "marked"),
    [
        ("day = 'today'", "day = ip_clock_text_today()"),
        ("at >= ' Now '", "at >= ip_clock_text_now()"),
        ("day < date 'tomorrow'", "day < cast(ip_clock_text_tomorrow() as date)"),
        ("day = cast('yesterday' as date)", "day = cast(ip_clock_text_yesterday() as date)"),
        ("day = to_date('today')", "day = to_date(ip_clock_text_today())"),
        ("day between 'yesterday' and 'today'", "day between ip_clock_text_yesterday() and ip_clock_text_today()"),
        ("s = 'today'", None),
        ("day = 'today' and s = 'now'", None),
        ("day = lower('TODAY')", None),
        ("nullif(day, 'today') is null", None),
    ],
)
def test_texts_that_read_the_clock(condition, marked):
    """Only if Spark certainly casts all of them. Others are refused, or remain texts."""
    sql = "select id from lake.db.t where "
    assert with_marks_of_texts(sql + condition, COLUMNS, "lake") == sql + (marked or condition)


@pytest.mark.parametrize(
    "sql",
    [
        "with t as (select id as current_date from lake.db.t) select current_date as c from t",
        "select id as current_date from lake.db.t order by current_date desc limit 1",
        "select x.d, current_timestamp as c from lake.db.t x join lake.db.t y(current_timestamp) on true",
        "select current_date as d from (select inline(array(named_struct('current_date', 1))) from lake.db.t)",
        "select current_date as current_date from (select id as current_date from lake.db.t) order by current_date",
    ],
)
def test_a_name_that_may_be_a_column_or_the_time_is_refused(sql):
    with pytest.raises(NotAFunction, match="which may be the time or a column"):
        require_clear(sql, ())


def test_a_source_with_a_column_of_such_a_name():
    sql = "select {} as d from lake.db.t where id in (select h.current_date from lake.db.h h)"
    require_clear(sql.format("current_date()"), [{"current_date": "date"}])
    require_clear(sql.format("current_date"), [{"id": "int"}])
    require_clear(sql.format("current_date as current_date, 1"), [])
    for columns in ({"current_date": "date"}, {"s": "array<struct<current_date: date>>"}):
        with pytest.raises(NotAFunction, match="which may be the time or a column"):
            require_clear(sql.format("current_date"), [columns])


def test_all_as_a_column_and_as_an_order():
    """Spark orders by the column, if there is one."""
    require_clear("select id, 'all' as s from lake.db.t order by all limit 1", [{"id": "int"}])
    with pytest.raises(NotAFunction, match="ORDER BY ALL beside a column named all"):
        require_clear("select * from lake.db.t order by all limit 1", [{"all": "int"}])
