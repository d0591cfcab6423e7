"""Sessions: every dbt connection has its own session, and reads the commits of the others."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.relations.lookup import RelationLookup
from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergRelation
from dbt.adapters.spark_iceberg.spark.connections import open_own_session
from dbt.adapters.spark_iceberg.spark.in_process import session as in_process
from dbt.adapters.spark_iceberg.spark.in_process.session import opened_file
from dbt.adapters.spark_iceberg.spark.own_session import OwnSession

THREADS = 4


@pytest.fixture(scope="module")
def credentials(embedded_target: dict[str, Any]) -> SparkIcebergCredentials:
    return SparkIcebergCredentials.from_dict({**embedded_target, "schema": "sessions"})


@pytest.fixture
def connection(credentials: SparkIcebergCredentials) -> Iterator[OwnSession]:
    opened = open_own_session(credentials)
    yield opened
    opened.close()


def rows(connection: OwnSession, sql: str) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.execute(sql)
    return [tuple(row) for row in cursor.fetchall()]


def test_a_session_counts_only_its_own_work(credentials):
    barrier = threading.Barrier(2)

    def work(rows_read: int) -> tuple[float, float, float]:
        connection = open_own_session(credentials)
        measured: list[float] = []
        for count in (1, rows_read, 1):
            barrier.wait(timeout=60)
            rows(connection, f"select count(distinct md5(string(id))) from range({count})")
            barrier.wait(timeout=60)
            measured.append(connection.executor_seconds() or 0.0)
        connection.close()
        first, second, third = measured
        return first, second - first, third - second

    with ThreadPoolExecutor(2) as threads:
        large, small = threads.map(work, (1_000_000, 1_000))
    assert large[1] > 0.2 and large[1] > 5 * small[1] > 0
    assert all(0 < each < large[1] / 2 for found in (large, small) for each in (found[0], found[2]))


def test_a_failed_measurement_is_the_last_one(connection, monkeypatch):
    calls = []
    monkeypatch.setattr(in_process, "seconds_of_group", lambda *arguments: calls.append(arguments))
    assert [connection.executor_seconds() for _ in range(3)] == [None] * 3
    assert len(calls) == 1


@pytest.mark.core
def test_four_threads_share_no_setting_and_no_temporary_view(credentials, connection):
    rows(connection, "create schema if not exists sessions")
    barrier = threading.Barrier(THREADS)

    def work(number: int) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], int]:
        connection = open_own_session(credentials)
        rows(connection, f"set spark.sql.shuffle.partitions = {100 + number}")
        rows(connection, f"create temporary view own as select {number} as number")
        barrier.wait(timeout=60)
        setting = rows(connection, "set spark.sql.shuffle.partitions")
        view = rows(connection, "select number from own")
        views = len(rows(connection, "show views in lakehouse.sessions"))
        connection.close()
        return setting, view, views

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(work, range(THREADS)))
    assert found == [
        ([("spark.sql.shuffle.partitions", str(100 + number))], [(number,)], 1) for number in range(THREADS)
    ]


@pytest.mark.core
def test_a_session_reads_what_another_has_committed_since(credentials, connection):
    other = open_own_session(credentials)
    rows(connection, "create schema if not exists sessions")
    rows(connection, "create or replace table sessions.shared using iceberg as select 1 as id")
    assert rows(other, "select count(*) from sessions.shared") == [(1,)]
    rows(connection, "insert into sessions.shared values (2)")
    (snapshot,) = rows(connection, "select snapshot_id from sessions.shared.refs")[0]
    assert rows(other, "select count(*) from sessions.shared") == [(2,)]
    assert rows(other, f"select count(*) from sessions.shared version as of {snapshot}") == [(2,)]
    other.close()


@pytest.mark.parametrize("attempt", range(3))
def test_eight_sessions_open_a_fresh_lakehouse_at_once(embedded_target, tmp_path, attempt):
    fresh = SparkIcebergCredentials.from_dict({**embedded_target, "warehouse": str(tmp_path), "schema": "s"})
    barrier = threading.Barrier(8)

    def work(_: int) -> list[tuple[Any, ...]]:
        barrier.wait(timeout=60)
        connection = open_own_session(fresh)
        barrier.wait(timeout=60)
        try:
            return rows(connection, "show schemas in lakehouse")
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [[]] * 8


@pytest.mark.core
def test_the_names_in_the_catalogs_file_are_those_that_spark_lists(embedded_target, tmp_path):
    fresh = SparkIcebergCredentials.from_dict({**embedded_target, "warehouse": str(tmp_path), "schema": "s"})
    assert opened_file(fresh) is None
    connection = open_own_session(fresh)
    file = opened_file(fresh)
    assert file is not None
    for schema in ("`empty`", "`Mixed`", "mixed", "`a b`", "`x.y`"):
        rows(connection, f"create schema lakehouse.{schema}")
    rows(connection, "create table lakehouse.mixed.t using iceberg as select 1 as id")
    rows(connection, "create table lakehouse.mixed.`T u` using iceberg as select 1 as id")
    rows(connection, "create view lakehouse.mixed.v as select 1 as id")
    rows(connection, "create table lakehouse.`Mixed`.other using iceberg as select 1 as id")
    rows(connection, "create temporary view passing as select 1 as id")

    def looked_up(file: Path | None) -> tuple[list[str], dict[str, set[tuple[str, str, bool | None]]]]:
        connections = SimpleNamespace(rows=partial(rows, connection), catalog_file=lambda catalog: file)
        lookup = RelationLookup(cast(Any, connections), "lakehouse", connection.settings)
        found = {}
        for schema in ("empty", "Mixed", "mixed", "MIXED", "a b", "none"):
            listed = lookup.relations_in(SparkIcebergRelation.create(database="lakehouse", schema=schema))
            found[schema] = {(str(each.identifier), str(each.type), cast(Any, each).is_iceberg) for each in listed}
        return sorted(lookup.schemas("`lakehouse`")), found

    (schemas, found), of_spark = looked_up(file), looked_up(None)
    assert schemas == ["Mixed", "a b", "empty", "mixed", "x", "x.y"]
    assert ([each for each in schemas if "." not in each], found) == of_spark  # Spark lists one level
    assert found["mixed"] == {("t", "table", True), ("T u", "table", True), ("v", "view", None)}
    connection.close()
    file.unlink()
    assert opened_file(fresh) is None


@pytest.mark.core
@pytest.mark.parametrize("catalog", ["lakehouse", "archive"])
def test_every_catalog_reads_fresh(connection, catalog):
    assert connection.settings()[f"spark.sql.catalog.{catalog}.cache-enabled"] == "false"


@pytest.mark.core
def test_opening_a_session_runs_no_spark_job(credentials, connection):
    tracker = connection.session.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    opened = open_own_session(credentials)
    opened.close()
    assert set(tracker.getJobIdsForGroup(None)) == before
    assert list(tracker.getJobIdsForGroup(opened._group)) == []


@pytest.mark.core
def test_an_error_is_sparks_message_and_keeps_its_cause(connection):
    with pytest.raises(DbtDatabaseError) as caught, connection.cursor() as cursor:
        cursor.execute("select * from lakehouse.sessions.nowhere")
    assert str(caught.value.msg).startswith("[TABLE_OR_VIEW_NOT_FOUND]")
    assert "\tat " not in caught.value.msg
    assert "UnresolvedRelation" not in caught.value.msg
    assert caught.value.__cause__ is not None


@pytest.mark.core
def test_an_error_on_fetching_is_as_clear(connection):
    cursor = connection.cursor()
    cursor.execute("select raise_error('no such luck')")
    with pytest.raises(DbtDatabaseError, match="no such luck") as caught:
        cursor.fetchall()
    assert "\tat " not in str(caught.value.msg)


@pytest.mark.core
def test_a_cursor_describes_and_fetches(connection):
    cursor = connection.cursor()
    assert cursor.description == []
    cursor.execute("select id, cast(id as decimal(10, 2)) as d from range(5) order by id;")
    assert [column[:2] for column in cursor.description] == [("id", "bigint"), ("d", "decimal(10,2)")]
    assert cursor.fetchone()[0] == 0
    assert [row[0] for row in cursor.fetchmany(2)] == [1, 2]
    assert [row[0] for row in cursor.fetchall()] == [3, 4]
    assert cursor.fetchone() is None


@pytest.mark.core
def test_bindings_are_literals(connection):
    cursor = connection.cursor()
    cursor.execute("select %s, %s, %s", ["it's ${spark.app.name}", None, 3])
    assert [tuple(row) for row in cursor.fetchall()] == [("it's ${spark.app.name}", None, 3)]


@pytest.mark.core
def test_cancel_stops_what_a_session_runs(connection):
    errors: list[BaseException] = []
    started = threading.Event()

    def run() -> None:
        cursor = connection.cursor()
        started.set()
        try:
            cursor.execute("select count(*) from range(0, 100000000000L) where uuid() = 'x'")
            cursor.fetchall()
        except DbtDatabaseError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    started.wait(timeout=30)
    connection.cancel()  # most likely before the statement has a job
    thread.join(timeout=60)
    assert re.search("cancell?ed", str(errors[0]))


@pytest.mark.core
class TestThreads:
    """The same with dbt: four concurrent models, each with its own setting and its own temporary view."""

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        model = """
            {{{{ config(materialized='table', pre_hook=[
                "set spark.sql.session.timeZone = +0{n}:00", "create temporary view own as select {n} as number"
            ]) }}}}
            select number, current_timezone() as zone, count(*) as n from own, range(200000) group by 1, 2
        """
        return {f"m{n}.sql": model.format(n=n) for n in range(1, 5)} | {
            # on a thread that another model has used before
            "after.sql": """
                -- depends_on: {{ ref('m1') }} {{ ref('m2') }} {{ ref('m3') }} {{ ref('m4') }}
                select current_timezone() as zone
            """
        }

    def test_models_share_nothing(self, project):
        run_dbt(["run", "--threads", "4"])
        for n in range(1, 5):
            assert project.run_sql(f"select number, zone from {project.test_schema}.m{n}", fetch="one") == (
                n,
                f"+0{n}:00",
            )
        zone = project.run_sql("select current_timezone()", fetch="one")[0]
        assert project.run_sql(f"select zone from {project.test_schema}.after", fetch="one")[0] == zone
