"""The method `connect`, with a real Spark Connect server that requires a token."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.contracts.connection import Connection, Identifier
from dbt.tests.util import run_dbt, run_dbt_and_capture
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.connections import SparkIcebergConnectionManager, open_own_session
from tests.functional.adapter.any_server import AnyServer
from tests.functional.adapter.test_sessions import (
    TestThreads as ThreadsOfASession,
)
from tests.functional.adapter.test_sessions import (  # noqa: F401 (the same for a session of a server)
    rows,
    test_a_cursor_describes_and_fetches,
    test_a_session_reads_what_another_has_committed_since,
    test_an_error_is_sparks_message_and_keeps_its_cause,
    test_an_error_on_fetching_is_as_clear,
    test_bindings_are_literals,
    test_every_catalog_reads_fresh,
    test_four_threads_share_no_setting_and_no_temporary_view,
)
from tests.functional.adapter.test_sessions import (
    test_cancel_stops_what_a_session_runs as cancel_stops_what_a_session_runs,
)
from tests.functional.metadata import servers

from .conftest import TOKEN

pytestmark = pytest.mark.core


class TestConnect(AnyServer):
    @pytest.fixture(scope="class")
    @classmethod
    def dbt_profile_target(cls, target: dict[str, Any]) -> dict[str, Any]:
        return {**target, "catalog": "lake"}

    def test_debug_hides_the_token(self, project):
        (_, log) = run_dbt_and_capture(["debug"])
        assert "host: localhost" in log
        assert TOKEN not in log

    def test_docs(self, project):
        run_dbt(["build", "--select", "given staged"])
        run_dbt(["docs", "generate"])
        catalog = json.loads(Path(project.project_root, "target", "catalog.json").read_text())
        staged = catalog["nodes"]["model.test.staged"]
        assert [*staged["columns"]] == ["id", "name"]
        assert any("checkpoint" in str(stat).lower() for stat in staged["stats"].values()), staged["stats"]


class TestThreads(ThreadsOfASession):
    @pytest.fixture(scope="class")
    @classmethod
    def dbt_profile_target(cls, target: dict[str, Any]) -> dict[str, Any]:
        return target


TYPES = (
    "cast(1.50 as decimal(10,2))", "timestamp'2026-01-02 03:04:05.678'", "timestamp_ntz'2026-01-02 03:04:05'",
    "date'0001-01-01'", "X'00ff'", "array(1, null)", "map('a', 1)", "named_struct('x', 1, 'y', 'z')", "double('NaN')",
    "null", "interval '1' day", "1Y",
)  # fmt: skip


@pytest.mark.parametrize("value", TYPES)
def test_values_equal_those_of_a_local_session(connection, embedded_target, value):
    from dbt.adapters.spark_iceberg.spark.in_process.session import open_session

    here = open_session(SparkIcebergCredentials.from_dict({**embedded_target, "schema": "s"}))
    sql = f"select {value} as v"
    assert repr(rows(connection, sql)) == repr(rows(here, sql))
    here.close()


def test_settings_of_the_profile_apply_only_to_its_own_session(target, connection):
    own = opened({**target, "server_side_parameters": {"spark.sql.session.timeZone": "+05:00", "spark.cores.max": 9}})
    assert rows(own.handle, "select current_timezone()") == [("+05:00",)]
    assert rows(connection, "select current_timezone()") != [("+05:00",)]
    own.handle.close()


def test_settings_can_be_read_except_for_secrets_and_are_restored(connection):
    zone, token = "spark.sql.session.timeZone", "spark.sql.catalog.lakehouse.token"
    conf = connection.session.conf
    before = conf.get(zone)
    connection.configure(zone, "+05:00")
    connection.configure(token, "s3cret")
    found = connection.settings()
    assert (found[zone], conf.get(zone)) == ("+05:00", "+05:00")
    assert "redacted" in found[token]
    connection.configure(zone, None)
    connection.configure(token, None)
    assert (conf.get(zone), conf.get(token, None)) == (before, None)
    assert token not in connection.settings()


def test_held_rows_are_computed_once(connection):
    connection.hold("held", "select uuid() as u from range(3)")
    connection.hold("others", "select 1 as u")
    first = rows(connection, "select u from held order by u")
    assert len(set(first)) == 3
    assert rows(connection, "select u from held order by u") == first
    connection.release_view("held")
    with pytest.raises(DbtRuntimeError, match="TABLE_OR_VIEW_NOT_FOUND"):
        rows(connection, "select * from held")


def test_a_session_and_connect_work_in_one_process(connection, embedded_target):
    from dbt.adapters.spark_iceberg.spark.in_process.session import open_session

    here = open_session(SparkIcebergCredentials.from_dict({**embedded_target, "schema": "s"}))
    rows(here, "create temporary view which as select 'here' as place")
    rows(connection, "create temporary view which as select 'there' as place")
    assert (rows(here, "select * from which"), rows(connection, "select * from which")) == ([("here",)], [("there",)])
    here.close()


def test_a_statement_that_is_cancelled_leaves_no_task_behind(credentials, connection):
    """The statement has two tasks, which would use all cores of the server."""
    with closing(open_own_session(credentials)) as cancelled:
        cancel_stops_what_a_session_runs(cancelled)
    counting = "select count(*) from range(9)"
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.extend(rows(connection, counting)), daemon=True)
    other.start()
    other.join(timeout=60)
    assert found == [(9,)]


def opened(target: dict[str, Any]) -> Connection:
    data = SparkIcebergCredentials.translate_aliases({**target, "schema": "s"})
    credentials = SparkIcebergCredentials.from_dict(data)
    return SparkIcebergConnectionManager.open(Connection(Identifier("spark_iceberg"), "one", credentials))


def test_a_connection_string_works_too(target, port):
    connection = opened(
        {"method": "connect", "catalog": target["catalog"], "remote": f"sc://localhost:{port}/;token=let-me%3Bin"}
    )
    assert rows(connection.handle, "select 1") == [(1,)]
    connection.handle.close()


def without(target: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in target.items() if key != name}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: {**t, "port": servers.free_port()}, "The Spark Connect server at localhost:"),
        (lambda t: {**t, "token": "wr0ng"}, "refuses this client.\n  Expected: a token that the server accepts."),
        (lambda t: without(t, "token"), "refuses this client.\n  Expected: a token that the server accepts."),
        (lambda t: {**t, "use_ssl": True}, "remove `use_ssl`"),
        (lambda t: {**t, "catalog": "lakee"}, "The catalog `lakee` is not configured in Spark. Configured catalogs: "),
    ],
    ids=["no server", "wrong token", "no token", "no TLS there", "no such catalog"],
)
def test_an_error_of_the_connection_states_the_cause_and_a_fix(target, change, said):
    with pytest.raises(DbtRuntimeError) as caught:
        opened(change(target))
    assert said in caught.value.msg
    assert "wr0ng" not in caught.value.msg
    assert "StatusCode" not in caught.value.msg
