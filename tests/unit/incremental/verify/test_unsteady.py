"""Names in a model's code that may make two builds differ."""

from __future__ import annotations

import pytest

from iceberg_incremental.verify.unsteady import choosing_sql, unsteady_jinja, unsteady_python, unsteady_sql


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("select id, RAND() as r from t", ["rand()"]),
        ("select uuid(), uuid() from t where d < current_date", ["uuid()", "current_date"]),
        ("select current_timestamp() from t", ["current_timestamp()"]),
        ("select unix_timestamp() from t", ["unix_timestamp()"]),
        ("select unix_timestamp(d) from t", []),
        ("select * from t where d < timestamp 'now'", ["'now'"]),
        ("select * from t where d between 'yesterday' and '2999-01-01'", ["'yesterday'"]),
        ("select * from t where d < lower('TODAY')", ["the text LOWER('TODAY')"]),
        ("select * from t version as of 3 where last_day('today') > d", ["'today'"]),
        ("select 'now' as kind, concat(s, 'now') as s from t where cast(s as string) = 'now' and k like 'now'", []),
        ("insert into t select 'Now'; select 'x'", ["'Now'"]),
        ("select curdate(), localtimestamp()", ["curdate()", "localtimestamp()"]),
        ("select current_timezone(), now()", ["current_timezone()", "now()"]),
        ("select * from t tablesample (10 percent)", ["TABLESAMPLE"]),
        ("select * from t TABLESAMPLE (100 PERCENT) REPEATABLE (0), u TABLESAMPLE (0 ROWS)", []),
        ("select 'rand()', `uuid()`, t.now, user, USER, version from t -- rand()", []),
        ("select o.current_date, /* uuid() */ random_id from o", []),
        ("select shop.rand(id) from t", []),
    ],
)
def test_of_sql(sql, found):
    assert unsteady_sql(sql) == found


def test_of_python():
    code = "def model(dbt, session):\n    return dbt.ip_changes(x).withColumn('r', F.rand()).limit(3)"
    assert unsteady_python(code) == ["rand()"]
    assert unsteady_python("def sample(frame):\n    return frame") == []


def test_of_jinja():
    assert unsteady_jinja("{{ run_started_at }} {{ modules.datetime.date.today() }} {{ my_run_started_at }}") == [
        "run_started_at",
        "modules.datetime",
    ]


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("select collect_list(v), sum(v), stddev(v) from t", ["collect_list()"]),
        ("select row_number() over (order by v) from t limit 3", ["row_number()", "LIMIT"]),
        ("select max(v) from t", []),
    ],
)
def test_functions_that_depend_on_the_order_of_rows(sql, found):
    assert choosing_sql(sql) == found
