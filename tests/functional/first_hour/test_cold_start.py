"""The first command in a new embedded lakehouse, as a user types it, and what other programs then read there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.functional.first_hour.project import WAREHOUSE, dbt, printed, start, write

ROOT = Path(__file__).parents[3]
SNIPPETS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "lakehouse.md").read_text(), re.DOTALL)
SCHEMAS = 6
ENDLESS = "{{ config(materialized='table') }} select count(*) as n from range(100000000000L) where uuid() = 'x'"


def models(side: str) -> dict[str, str]:
    """A model in each of several schemas."""
    return {
        f"{side}/{side}{n}.sql": f"{{{{ config(materialized='table', schema='s{n}') }}}} select {n} as id"
        for n in range(SCHEMAS)
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A project that two concurrent processes built from the start, and their output."""
    staged = {"left/flights_staged.sql": "{{ config(materialized='table') }} select 7 as id"}
    project = write(tmp_path_factory.mktemp("cold"), models("left") | models("right") | staged, WAREHOUSE)
    dbt(project, "parse")
    both = [start(project, "run", "--select", side, "--log-path", f"logs/{side}") for side in ("left", "right")]
    return project, [printed(process) for process in both]


def tables(lakehouse: Path) -> set[str]:
    """The tables of the embedded lakehouse, as another engine lists them."""
    catalog = SqlCatalog("lakehouse", uri=f"sqlite:///{lakehouse / 'catalog.db'}", warehouse=str(lakehouse))
    return {".".join(name) for namespace in catalog.list_namespaces() for name in catalog.list_tables(namespace)}


@pytest.mark.thorough
def test_two_processes_start_at_once_on_several_schemas(built):
    project, said = built
    expected = {f"analytics_s{n}.{side}{n}" for n in range(SCHEMAS) for side in ("left", "right")}
    assert tables(project / "lakehouse") == expected | {"analytics.flights_staged"}
    for log in said:
        assert "ERROR=0" in log
        assert log.index("Starting Spark") < log.index("Spark is up after") < log.index("START sql table model")


def test_spark_starts_while_dbt_parses(built):
    project, _ = built
    said = dbt(project, "--no-partial-parse", "run", "--select", "flights_staged")
    assert said.index("Starting Spark") < said.index("Found 13 models") < said.index("START sql table model")
    assert said.count("Starting Spark") == 1
    opened = said.index("The first session opened after")
    assert said.index("Spark is up") < opened < said.index("START sql table model")
    times = dict(re.findall(r"^(\d\d:\d\d:\d\d)  .*(Starting Spark|first session opened)", said, re.MULTILINE))
    began, ended = (datetime.strptime(each, "%H:%M:%S").replace(tzinfo=timezone.utc) for each in times)
    stated = sum(map(int, re.findall(r"(?:is up|opened) after (\d+)", said)))
    assert abs((ended - began).seconds - stated) <= 2, "the lines leave out a part of the start"


def test_a_new_lakehouse_is_announced_once_with_its_path_and_git_ignores_it(built):
    project, said = built
    assert (project / "lakehouse" / ".gitignore").read_text() == "*\n"
    assert sum(log.count(f"Creating a new lakehouse in {project / 'lakehouse'}\n") for log in said) == 1


@pytest.mark.parametrize("command", [["run", "--select", "flights_staged"], ["debug"]], ids=["run", "debug"])
def test_a_command_in_another_folder_uses_the_lakehouse_of_the_project(built, tmp_path, command):
    project, _ = built
    said = dbt(tmp_path, *command, "--project-dir", os.path.relpath(project, tmp_path), "--profiles-dir", str(project))
    assert "Creating a new lakehouse" not in said
    assert not (tmp_path / "lakehouse").exists()
    if command == ["debug"]:
        assert f"schemas, lakehouse in {project / 'lakehouse'}\n" in said


def test_python_models_run_in_the_python_of_dbt(tmp_path):
    """Even if `python3` on the path is a different one, as without an activated environment."""
    code = """
    def model(dbt, session):
        import sys
        from pyspark.sql.functions import udf
        running = udf(lambda _: sys.executable)
        return session.range(1).select(running("id").alias("python"))
    """
    project = write(tmp_path / "shop", {"m.py": textwrap.dedent(code)}, WAREHOUSE)
    other = tmp_path / "other" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    path = f"{other.parent}{os.pathsep}{os.environ['PATH']}"
    dbt(project, "run", PATH=path)
    said = dbt(project, "show", "--inline", "select * from {{ ref('m') }}", "--output", "json", PATH=path)
    assert sys.executable in said


def test_a_project_that_does_not_parse_ends_at_once(built):
    project, _ = built
    wrong = project / "models" / "wrong.sql"
    wrong.write_text("select * from {{ ref('nowhere') }}")
    try:
        said = dbt(project, "run", succeeds=False)
    finally:
        wrong.unlink()
    assert "depends on a node named 'nowhere' which was not found" in said
    assert "Spark is up" not in said


@pytest.mark.thorough
@pytest.mark.parametrize("snippet", SNIPPETS, ids=["pyspark", "pyiceberg"])
def test_snippets_of_the_docs_open_the_lakehouse(built, snippet):
    project, _ = built
    done = subprocess.run([sys.executable, "-c", snippet], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "7" in done.stdout


def test_a_catalog_name_that_the_lakehouse_does_not_have(built):
    project, _ = built
    before = tables(project / "lakehouse")
    write(project, {}, {**WAREHOUSE, "catalog": "lakehose"})
    said = dbt(project, "run", succeeds=False)
    assert "contains the catalog `lakehouse`, but not `lakehose`" in said
    assert "Starting Spark" not in said
    assert tables(project / "lakehouse") == before


def test_an_interrupted_run_ends_with_one_line(tmp_path):
    project = write(tmp_path, {f"m{n}.sql": ENDLESS for n in range(3)}, WAREHOUSE)
    process = start(project, "run")
    assert process.stdout is not None
    while "START sql table model" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(1)  # some models are opening their connection, others are planning or running
    process.send_signal(signal.SIGINT)
    assert "Interrupted: the running Spark statements" in printed(process, succeeds=False)
