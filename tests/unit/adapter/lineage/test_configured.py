"""Events are sent only if OpenLineage is configured."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import NoReturn

import pytest

from dbt.adapters.spark_iceberg.lineage.facts import Parent
from dbt.adapters.spark_iceberg.lineage.start import home, is_configured, job_namespace, outer_run


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"OPENLINEAGE_URL": ""}, False),
        ({"OPENLINEAGE_NAMESPACE": "n"}, False),
        ({"OPENLINEAGE_CONFIG": "/no/such/file.yml"}, False),
        ({"OPENLINEAGE_URL": "http://host"}, True),
        ({"OPENLINEAGE__TRANSPORT__TYPE": "console"}, True),
        ({"OPENLINEAGE__TRANSPORT": '{"type": "console"}'}, True),
        ({"OPENLINEAGE_URL": "http://host", "OPENLINEAGE_DISABLED": "True"}, False),
    ],
)
def test_the_environment(environment: dict[str, str], expected: bool, tmp_path: Path) -> None:
    assert is_configured(environment, tmp_path, tmp_path) is expected


@pytest.mark.parametrize("path", ["working/openlineage.yml", "home/.openlineage/openlineage.yml", "own.yml"])
def test_configuration_files(path: str, tmp_path: Path) -> None:
    environment = {"OPENLINEAGE_CONFIG": str(tmp_path / "own.yml")}
    working, home = tmp_path / "working", tmp_path / "home"
    assert not is_configured(environment, working, home)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).touch()
    assert is_configured(environment, working, home)


def test_a_folder_that_cannot_be_read_has_no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def closed(path: object, **_: object) -> None:
        raise PermissionError(path)  # as for root's home folder and another user

    monkeypatch.setattr(os, "stat", closed)
    assert not is_configured({"OPENLINEAGE_CONFIG": "/root/own.yml"}, tmp_path, tmp_path)


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert home() is None
    assert not is_configured({}, tmp_path, None)


def test_the_run_that_started_dbt() -> None:
    root = Parent("airflow", "dag", "2")
    assert outer_run({"OPENLINEAGE_PARENT_ID": "airflow/dag.task/1"}) == Parent("airflow", "dag.task", "1")
    environment = {"OPENLINEAGE_PARENT_ID": "airflow/dag.task/1", "OPENLINEAGE_ROOT_PARENT_ID": "airflow/dag/2"}
    assert outer_run(environment) == Parent("airflow", "dag.task", "1", root)
    assert outer_run({"OPENLINEAGE_PARENT_ID": "no run"}) is None


def test_the_namespace_of_jobs() -> None:
    assert job_namespace({}) == "dbt"
    assert job_namespace({"OPENLINEAGE_NAMESPACE": "prod"}) == "prod"
