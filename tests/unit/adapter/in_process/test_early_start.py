from __future__ import annotations

import threading
from typing import Any

import pyspark
import pytest

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark import checks
from dbt.adapters.spark_iceberg.spark.in_process import early_start
from iceberg_incremental.jvm import jars

EMBEDDED = {"method": "session", "warehouse": "lakehouse", "schema": "s"}
OTHER = {"method": "session", "catalog": "lake", "schema": "s"}
SERVER = {"method": "connect", "host": "localhost", "catalog": "lake", "schema": "s"}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was started: Spark for some credentials, and the rest. All jars exist, and no Spark is running."""
    found: list[object] = []
    monkeypatch.setattr(early_start, "_open", found.append)
    monkeypatch.setattr(early_start, "_import", lambda: found.append("rest"))
    monkeypatch.setattr(jars, "missing", lambda confs: [])
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", None)
    return found


def begin(opened: list[object], profile: dict[str, Any], command: str | None) -> None:
    early_start.begin(SparkIcebergCredentials.from_dict(profile), command)
    for thread in threading.enumerate():
        if thread.name in ("start", "import"):
            thread.join()


@pytest.mark.parametrize("command", ["run", "build", "seed", "generate"])
def test_a_command_that_sends_statements_starts_spark(opened, command: str):
    begin(opened, EMBEDDED, command)
    assert len(opened) == 2


@pytest.mark.parametrize(
    ("profile", "command"),
    [(EMBEDDED, "parse"), (EMBEDDED, "list"), (EMBEDDED, "debug"), (EMBEDDED, None), (OTHER, "run"), (SERVER, "run")],
)
def test_other_commands_and_connections_do_not_start_spark(opened, profile: dict[str, Any], command: str | None):
    begin(opened, profile, command)
    assert opened == []


def test_missing_jars_are_left_to_the_first_connection(opened, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jars, "missing", lambda confs: ["a:b:1"])
    begin(opened, EMBEDDED, "run")
    assert opened == []


def test_a_running_spark_is_left_alone(opened, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", object())
    begin(opened, EMBEDDED, "run")
    assert opened == []


@pytest.mark.parametrize("version", ["3.5.6", "4.3.0"])
def test_a_spark_without_a_runtime_is_the_first_connections_error(
    opened, version: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(checks, "require_pyspark", lambda: version)
    begin(opened, EMBEDDED, "run")
    assert opened == []
