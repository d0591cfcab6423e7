"""Jobs without dbt, on real tables: each kind of write over several runs, failures, and switches to dbt and back."""

from __future__ import annotations

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql.functions import count, expr

from iceberg_incremental import Job
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.errors import (
    CheckpointError,
    ConcurrentRunError,
    ConfigError,
    RewriteError,
    SourceMissingError,
    StagingError,
    StatementError,
)
from iceberg_incremental.plan.session_settings import SUMMARY_SETTING
from iceberg_incremental.publish.publisher import Publisher

from ..incremental.conftest import shop  # noqa: F401 (a fixture)

_numbers = itertools.count(1)


class Lake:
    """The tables of one test."""

    def __init__(self, session, catalog="lakehouse"):
        self.session = session
        self.schema = f"{catalog}.jobs_{next(_numbers)}"
        session.sql(f"create namespace {self.schema}")
        self.source, self.target = f"{self.schema}.events", f"{self.schema}.staged"
        session.sql(f"create table {self.source} (id bigint, v string, day date) using iceberg")

    def sql(self, text):
        return [tuple(row) for row in self.session.sql(text.format(s=self.source, t=self.target)).collect()]

    def insert(self, *rows):
        values = ", ".join(f"({number}, '{value}', date '2026-01-0{day}')" for number, value, day in rows)
        self.sql(f"insert into {{s}} values {values}")

    def rows(self, columns="id, v"):
        return Counter(self.sql(f"select {columns} from {{t}}"))

    def job(self, **options):
        return Job(self.session, self.target, **options)

    def branches(self):
        return {name for (name,) in self.sql("select name from {t}.refs")}


@pytest.fixture
def lake(outside):
    return Lake(outside.session)


def appended(lake, **options):
    with lake.job(**options).run() as run:
        run.append(run.changes(lake.source))
    return run


@pytest.mark.core
@pytest.mark.parametrize("reader", ["auto", "spark"])
def test_a_job_appends_what_is_new(lake, reader):
    options = {"metadata_reader": reader}
    lake.insert((1, "a", 1), (2, "b", 1))
    first = appended(lake, **options)
    assert first.is_rebuild and first.published.rows == 2
    lake.insert((3, "c", 2))
    assert lake.job(**options).status().plan.action is Action.APPLY
    second = appended(lake, **options)
    assert not second.is_rebuild and second.published.rows == 1
    assert lake.rows() == Counter([(1, "a"), (2, "b"), (3, "c")])
    assert appended(lake, **options).published is None
    assert lake.job(**options).status().plan.action is Action.NOTHING
    assert lake.branches() == {"main"}


@pytest.mark.parametrize("reader", ["auto", "spark"])
@pytest.mark.parametrize("schema", ["{}", "lakehouse.no_such_schema"])
def test_a_source_that_does_not_exist(lake, reader, schema):
    job, missing = lake.job(metadata_reader=reader), f"{schema.format(lake.schema)}.missing"
    with pytest.raises(SourceMissingError, match=rf"The source {missing} of \S+ does not exist"), job.run() as run:
        run.append(run.changes(missing))


def failing(lake):
    with lake.job().run() as run:
        run.append(run.changes(lake.source))
        raise ZeroDivisionError


@pytest.mark.core
def test_an_exception_publishes_nothing(lake):
    lake.insert((1, "a", 1))
    appended(lake)
    lake.insert((2, "b", 1))
    with pytest.raises(ZeroDivisionError):
        failing(lake)
    with pytest.raises(StatementError, match="no such luck"), lake.job().run() as run:
        run.append(run.changes(lake.source).withColumn("v", expr("string(raise_error('no such luck'))")))
    assert lake.rows("id") == Counter([(1,)])
    assert lake.branches() == {"main"}
    appended(lake)
    assert lake.rows("id") == Counter([(1,), (2,)])


def merged(lake, **options):
    with lake.job(on_source_rewrite="upserts").run() as run:
        run.merge(run.changes(lake.source), key="id", **options)


@pytest.mark.core("True")
@pytest.mark.parametrize("partitioned", [False, True])
def test_a_job_merges_by_key(lake, partitioned):
    lake.insert((1, "a", 1), (2, "b", 1))
    with lake.job(partitioned_by=["day"] if partitioned else []).run() as run:
        run.merge(run.changes(lake.source), key="id")
    lake.insert((3, "c", 2))
    lake.sql("update {s} set v = 'B' where id = 2")
    merged(lake)
    assert lake.rows() == Counter([(1, "a"), (2, "B"), (3, "c")])
    lake.insert((4, "d", 2), (4, "e", 2))
    with pytest.raises(Exception, match="times"):
        merged(lake)
    assert lake.rows() == Counter([(1, "a"), (2, "B"), (3, "c")])


@pytest.mark.core
def test_a_job_applies_changes_and_keeps_a_mirror(lake):
    lake.insert((1, "a", 1), (2, "b", 1))
    for change in ("delete from {s} where id = 1", "update {s} set v = 'B' where id = 2", None):
        with lake.job().run() as run:
            run.apply_changes(run.changelog(lake.source, "id"), key="id")
        assert lake.rows() == Counter(lake.sql("select id, v from {s}")) or change is not None
        if change is not None:
            lake.sql(change)
            lake.insert((10, "x", 3)) if "delete" in change else None
    assert lake.rows() == Counter([(2, "B"), (10, "x")])


def test_a_job_logs_the_changes_of_each_commit(lake):
    def log():
        with lake.job().run() as run:
            run.append(run.changelog(lake.source, "id", per="commit").drop("day"))

    lake.insert((1, "a", 1), (2, "b", 1))
    log()
    lake.sql("update {s} set v = 'B' where id = 2")
    lake.sql("delete from {s} where id = 2")
    lake.sql("call lakehouse.system.rewrite_data_files(table => '{s}', options => map('rewrite-all', 'true'))")
    lake.insert((3, "c", 1))
    log()
    log()  # nothing new
    assert lake.rows("id, v, _change_type, _commit_order") == Counter(
        [
            (1, "a", "INSERT", 0),
            (2, "b", "INSERT", 0),
            (2, "b", "UPDATE_BEFORE", 0),
            (2, "B", "UPDATE_AFTER", 0),
            (2, "B", "DELETE", 1),
            (3, "c", "INSERT", 2),
        ]
    )
    commits = dict(lake.sql("select snapshot_id, committed_at from {s}.snapshots"))
    found = lake.sql("select distinct _commit_snapshot_id, _commit_timestamp from {t}")
    assert len(found) == 4 and all(commits[snapshot] == time for snapshot, time in found)
    with pytest.raises(ConfigError, match="'range', 'commit'"), lake.job().run() as run:
        run.changelog(lake.source, per="commits")


@pytest.mark.core
def test_late_rows_do_not_replace_newer_ones(lake):
    lake.insert((1, "b", 2))
    merged(lake, sequence_by="day")
    lake.insert((1, "a", 1), (2, "c", 1))
    merged(lake, sequence_by="day")
    assert lake.rows() == Counter([(1, "b"), (2, "c")])
    lake.insert((1, "z", 3))
    with pytest.raises(ConfigError, match="was not built with sequence_by"):
        merged(lake, sequence_by="v")


@pytest.mark.core
def test_a_job_overwrites_partitions(lake):
    lake.insert((1, "a", 1), (2, "b", 2))

    def run_once():
        with lake.job(partitioned_by=["day"]).run() as run:
            changed = run.value_range(lake.source, "day")
            if run.has_changes:
                days = run.as_of(lake.source).where(f"day between {changed.min} and {changed.max}")
                run.overwrite_partitions(days.groupBy("day").agg(count("*").alias("n")))

    run_once()
    lake.insert((3, "c", 2), (4, "d", 2))
    run_once()
    run_once()
    assert lake.rows("string(day), n") == Counter([("2026-01-01", 1), ("2026-01-02", 3)])


@pytest.mark.core
def test_groups_are_computed_again_as_a_whole(lake):
    lake.insert((1, "a", 1), (2, "b", 2))

    def run_once():
        with lake.job().run() as run:
            groups = run.changed_groups(lake.source, "day")
            if run.has_changes:
                run.merge(groups.groupBy("day").agg(count("*").alias("n")), key="day")

    run_once()
    lake.insert((3, "c", 2))
    lake.sql("delete from {s} where id = 1")
    run_once()
    assert lake.rows("string(day), n") == Counter([("2026-01-02", 2)])
    lake.insert((5, "e", 3))
    with pytest.raises(ConfigError, match="changed groups of day"), lake.job().run() as run:
        run.append(run.changed_groups(lake.source, "day"))


@pytest.mark.core
def test_signed_changes_add_up(lake):
    lake.insert((1, "a", 1), (2, "b", 1))
    lake.sql("delete from {s} where id = 1")
    with lake.job().run() as run:
        run.append(run.signed_changes(lake.source).selectExpr("day", "_change_sign as n"))
    lake.sql("delete from {s} where id = 2")
    lake.insert((3, "c", 1))
    with lake.job().run() as run:
        run.append(run.signed_changes(lake.source).selectExpr("day", "_change_sign as n"))
    assert lake.sql("select sum(n) from {t}") == [(1,)]


@pytest.mark.core
def test_a_rewrite_stops_a_job_unless_it_is_told_what_to_do(lake):
    lake.insert((1, "a", 1), (2, "b", 1))
    appended(lake)
    lake.sql("delete from {s} where id = 1")
    with pytest.raises(RewriteError, match="changed or deleted"), lake.job().run() as run:
        run.append(run.changes(lake.source))
    status = lake.job().status()
    assert all(isinstance(read.error, RewriteError) for read in status.sources.values())
    appended(lake, on_source_rewrite="ignore")
    assert lake.rows("id") == Counter([(1,), (2,)])


def test_captured_rows_must_be_written(lake):
    lake.insert((1, "a", 1))
    with pytest.raises(StagingError, match="has written nothing"), lake.job().run() as run:
        run.changes(lake.source)
    with pytest.raises(ConfigError, match="captured no source"), lake.job().run() as run:
        run.append(lake.session.table(lake.source))
    with lake.job().run() as run:
        rows = run.changes(lake.source)
        run.append(rows)
        with pytest.raises(ConfigError, match="calls merge after append"):
            run.merge(rows, key="id")
    with pytest.raises(ConfigError, match="has ended"):
        run.changes(lake.source)
    with pytest.raises(ConfigError, match=r"catalog\.namespace\.table"), lake.job().run() as run:
        run.changes("events")
    with pytest.raises(ConfigError, match="on_source_rewrite is 'upsert'"):
        lake.job(on_source_rewrite="upsert")


def test_a_compaction_of_the_source_moves_the_position_only(lake):
    lake.insert((1, "a", 1))
    lake.insert((2, "b", 1))
    appended(lake)
    head = lake.sql("select snapshot_id from {t}.snapshots")
    options = "options => map('rewrite-all', 'true')"
    lake.session.sql(f"call lakehouse.system.rewrite_data_files(table => '{lake.source}', {options})")
    assert lake.job().status().plan.action is Action.ADVANCE
    assert appended(lake).published.snapshot is None
    assert lake.sql("select snapshot_id from {t}.snapshots") == head
    assert lake.job().status().plan.action is Action.NOTHING


def test_columns_follow_the_policy(lake):
    lake.insert((1, "a", 1))
    with lake.job().run() as run:
        run.append(run.changes(lake.source).select("id", "v"))
    lake.insert((2, "b", 1))
    with pytest.raises(ConfigError, match="out of sync"):
        appended(lake)
    appended(lake, on_schema_change="append_new_columns")
    assert lake.rows("id, v, string(day)") == Counter([(1, "a", None), (2, "b", "2026-01-01")])


def test_a_foreign_table_is_not_changed(lake):
    lake.insert((1, "a", 1))
    lake.sql("create table {t} using iceberg as select 9 as id, 'z' as v, date '2026-01-09' as day")
    with pytest.raises(CheckpointError, match="checkpoint"):
        appended(lake)
    appended(lake, on_missing_checkpoint="full_refresh")
    assert lake.rows() == Counter([(1, "a")])
    with pytest.raises(CheckpointError):
        appended(lake, name="job.another")


def test_only_one_of_two_runs_from_the_same_position_can_publish(lake, monkeypatch):
    lake.insert((1, "a", 1))
    appended(lake)
    lake.insert((2, "b", 1))
    attempt, ran = Publisher._attempt, []

    def after_another_run(self, run, *args):
        if not ran:
            ran.append(True)
            appended(lake)
        return attempt(self, run, *args)

    monkeypatch.setattr(Publisher, "_attempt", after_another_run)
    with pytest.raises(ConcurrentRunError):
        appended(lake)
    assert lake.rows("id") == Counter([(1,), (2,)])
    assert lake.branches() == {"main"}


def test_jobs_in_threads_of_one_session_do_not_affect_each_other(lake):
    targets = [f"{lake.schema}.staged_{number}" for number in range(3)]

    def run(target):
        with Job(lake.session, target).run() as run:
            run.append(run.changes(lake.source))

    for number in range(3):
        lake.insert((number, "a", 1))
        with ThreadPoolExecutor(len(targets)) as pool:
            list(pool.map(run, targets))
    for target in targets:
        assert sorted(lake.sql(f"select id from {target}")) == [(0,), (1,), (2,)]
    left = [key for key in lake.session.conf.getAll if key.startswith(SUMMARY_SETTING)]
    assert left == []


@pytest.mark.core
def test_a_model_of_dbt_continues_a_job_and_the_job_the_model(shop):  # noqa: F811
    events = shop.source("events")
    shop.model("staged", "select id, v from {{ ip_changes(source('raw', 'events')) }}")
    shop.insert(events, "(1, 'a')")
    staged, model = shop.built("staged"), "model.shop.staged"
    job = Job(shop.session, staged, name=model)
    with job.run() as run:
        run.append(run.changes(events))
    shop.insert(events, "(2, 'b')")
    shop.run()
    shop.insert(events, "(3, 'c')")
    with job.run() as run:
        run.append(run.changes(events))
    assert (run.is_rebuild, run.published.checkpoint.epoch) == (False, 3)
    assert shop.rows(staged, "id") == Counter([(1,), (2,), (3,)])


@pytest.mark.parametrize("cached", [False, True])
def test_rows_that_a_job_computes_from_its_target_are_not_published_if_another_writer_changes_it(lake, cached):
    def add_unknown(in_between=""):
        with lake.job().run() as run:
            frame = run.changes(lake.source).join(lake.session.table(lake.target), "id", "left_anti")
            if cached:
                frame.cache().count()
            if in_between:
                lake.session.newSession().sql(in_between.format(t=lake.target))
            run.append(frame)

    lake.insert((1, "a", 1))
    appended(lake)
    lake.insert((2, "b", 1), (3, "c", 1))
    with pytest.raises(ConcurrentRunError, match="computes its rows from its own table"):
        add_unknown("insert into {t} values (3, 'other', null)")
    assert lake.rows() == Counter([(1, "a"), (3, "other")])
    add_unknown()
    assert lake.rows() == Counter([(1, "a"), (2, "b"), (3, "other")])
    lake.insert((4, "d", 1))
    add_unknown("call lakehouse.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))")
    assert lake.rows("id") == Counter([(1,), (2,), (3,), (4,)])


def test_a_session_that_caches_tables_reads_what_others_have_committed(lake):
    session = lake.session.newSession()
    session.conf.set("spark.sql.catalog.lakehouse.cache-enabled", "true")  # Iceberg's default

    def add_unknown():
        with Job(session, lake.target).run() as run:
            new = run.changes(lake.source)
            if not run.is_rebuild:
                new = new.join(session.table(lake.target), "id", "left_anti").cache()
                new.count()
            run.append(new)

    lake.insert((1, "a", 1))
    add_unknown()
    assert [session.table(each).count() for each in (lake.source, lake.target)] == [1, 1]
    lake.insert((2, "b", 1), (3, "c", 1))
    lake.sql("insert into {t} values (3, 'other', null)")
    add_unknown()
    assert lake.rows() == Counter([(1, "a"), (2, "b"), (3, "other")])


def test_rows_that_spark_has_cached_are_read_again_after_a_run(lake):
    lake.insert((1, "a", 1))
    appended(lake)
    lake.sql("cache table {t}")
    assert len(lake.sql("select id from {t}")) == 1
    lake.insert((2, "b", 1))
    appended(lake)
    assert len(lake.sql("select id from {t}")) == 2
    lake.sql("uncache table {t}")
