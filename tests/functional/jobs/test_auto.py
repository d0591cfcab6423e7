"""Jobs whose tables are kept equal to a query: the same choices, checkpoint and errors as models with ``auto``."""

from __future__ import annotations

from collections import Counter

import pytest

from iceberg_incremental import Job
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.errors import ConfigError, NotIncrementalError, StatementError

from ..incremental.conftest import shop  # noqa: F401 (a fixture)
from .test_jobs import lake  # noqa: F401 (a fixture)

AUTO = {"incremental_strategy": "auto", "rebuild_above": 1}

SQL = (
    "select a.id, a.v, b.n, sum(b.n) over (partition by a.v order by a.id) as total from {s} a "
    "left join {s}_sizes b on b.v = a.v where a.day >= date '2026-01-01'"
)


@pytest.fixture
def joined(lake):  # noqa: F811
    lake.sql("create table {s}_sizes (v string, n int) using iceberg")
    lake.sql("insert into {s}_sizes values ('a', 1), ('b', 2), ('c', 3)")
    lake.insert(*((number, "abc"[number % 3], 1 + number % 9) for number in range(200)))
    return lake


def require_equal(lake, sql=SQL):  # noqa: F811
    assert Counter(lake.sql("select * from {t}")) == Counter(lake.sql(sql))


@pytest.mark.core
@pytest.mark.parametrize("reader", ["auto", "spark"])
def test_a_table_is_kept_equal_to_a_query(joined, reader):
    job, sql = joined.job(metadata_reader=reader), SQL.format(s=joined.source)
    built = job.auto(sql)
    assert (built.rows, built.checkpoint.epoch) == (200, 1)
    require_equal(joined)
    for statement, most in (
        ("insert into {s} values (900, 'a', date '2026-01-05')", 1),
        ("update {s}_sizes set n = 7 where v = 'b'", 67),
        ("delete from {s} where id = 197", 2),
        ("merge into {s} t using (select 6 as id) u on t.id = u.id when matched then update set v = null", 70),
    ):
        joined.sql(statement)
        assert job.status().plan.action is Action.APPLY
        found = job.auto(sql, rebuild_above=1)
        assert found.rows <= most, (statement, found.rows)
        require_equal(joined)
    assert job.auto(sql) is None and job.status().plan.action is Action.NOTHING
    assert joined.branches() == {"main"}


def test_another_query_builds_the_table_again(joined):
    job = joined.job()
    job.auto(SQL.format(s=joined.source))
    other = SQL.replace("sum(b.n)", "max(b.n)")
    assert job.auto(f"-- a comment\n{SQL.format(s=joined.source)}") is None
    assert job.auto(other.format(s=joined.source)).rows == 200
    require_equal(joined, other)
    assert job.auto(other.format(s=joined.source), full_refresh=True).rows == 200


def test_rows_that_a_run_has_written_are_replaced(joined):
    """The run's commit moves the position, so only its rows show that the table no longer equals the query."""
    job, sql = joined.job(on_source_rewrite="upserts"), f"select id, v from {joined.source}"
    job.auto(sql)
    joined.insert((903, "a", 1))
    with job.run() as run:
        run.append(run.changes(joined.source).selectExpr("id", "'other' as v"))
    assert ("other",) in joined.sql("select v from {t}")
    job.auto(sql, rebuild_above=1)
    require_equal(joined, sql)


def test_views_are_followed(joined):
    joined.sql("create view {s}_seen as select id, v from {s} where id < 50")
    job, sql = joined.job(partitioned_by=["v"]), f"select id, v from {joined.source}_seen"
    assert job.auto(sql).rows == 50
    joined.sql("create or replace view {s}_seen as select id, v from {s} where id < 60")
    job.auto(sql)
    require_equal(joined, sql)
    joined.sql("delete from {s} where id = 3")
    job.auto(sql)
    require_equal(joined, sql)


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("select id, rand() as r from {s}", NotIncrementalError, "rand"),
        ("select id, no_such_column from {s}", StatementError, "no_such_column"),
        ("select id fro {s} where id = 1", StatementError, "syntax"),
        ("select id from passing", NotIncrementalError, "name a table or view of a catalog"),
        ("select id from {s} union all select id from {t}", ConfigError, "reads its own table"),
        ("  ", ConfigError, "sql"),
    ],
)
def test_a_query_that_cannot_be_kept_up(joined, sql, error, message):
    job = joined.job()
    job.auto(f"select id from {joined.source}")
    joined.insert((901, "a", 1))
    joined.sql("create or replace temporary view passing as select 1 as id")
    with pytest.raises(error, match=f"(?i){message}"):
        job.auto(sql.format(s=joined.source, t=joined.target))
    assert joined.sql("select count(*) from {t}") == [(200,)] and joined.branches() == {"main"}
    with pytest.raises(ConfigError, match="unique_key"):
        job.auto(f"select id from {joined.source}", unique_key="number")


def test_a_query_of_chance_is_computed_again_if_a_source_has_changed(joined):
    job, sql = joined.job(), f"select id, rand() < 2 as r from {joined.source}"
    assert job.auto(sql, on_not_incremental="full_refresh").rows == 200
    assert job.auto(sql, on_not_incremental="full_refresh") is None
    joined.insert((901, "a", 1))
    job.auto(sql, on_not_incremental="full_refresh")
    assert joined.sql("select count(*) from {t}") == [(201,)]


def test_columns_follow_the_policy_of_the_job(joined):
    sql = f"select * from {joined.source}"
    joined.job().auto(sql)
    joined.sql("alter table {s} add column extra int")
    joined.sql("insert into {s} values (902, 'a', date '2026-01-05', 4)")
    with pytest.raises(ConfigError, match="extra"):
        joined.job().auto(sql)
    joined.job(on_schema_change="append_new_columns").auto(sql)
    require_equal(joined, sql)


@pytest.mark.core
def test_a_table_passes_from_a_model_to_a_job_and_back(shop):  # noqa: F811
    events = shop.source("events", "id int, v string")
    shop.model("kept", "select v, count(*) as n from {{ source('raw', 'events') }} group by v", **AUTO)
    shop.sql(f"insert into {events} values (1, 'a'), (2, 'b')")
    assert shop.run().success
    kept, sql = shop.built("kept"), f"select v, count(*) as n from {events} group by v"
    job = Job(shop.session, kept, name="model.shop.kept")
    assert job.auto(sql) is None
    for number in range(4):
        shop.sql(f"update {events} set v = 'c{number}' where id = 2")
        published = None
        if number % 2:
            assert shop.run().success
        else:
            published = job.auto(sql, rebuild_above=1)
        assert published is None or published.checkpoint.epoch == number + 2
        assert shop.rows(kept) == shop.rows(f"({sql})")
    assert job.status().plan.checkpoint.epoch == 5
