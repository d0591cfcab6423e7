"""The packages of ``pip install dbt-spark-iceberg[connect]`` are sufficient, without full PySpark or Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml

from tests.compat.install import find_python
from tests.functional.adapter.test_sessions import rows
from tests.functional.incremental.shop import CATALOG

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module", params=["3.10", "3.13"])
def thin_python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the extra. It has the package versions of this environment."""
    interpreter = find_python(request.param)
    if interpreter is None:
        pytest.skip(f"Python {request.param} is not installed")
    folder = tmp_path_factory.mktemp("thin")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "build", "--wheel", "--out-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*uv, "venv", "--python", interpreter, folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    locked = ["--constraint", str(ROOT / "requirements" / "dev.txt")]
    subprocess.run([*uv, "pip", "install", "--python", python, f"{wheel}[connect]", *locked], check=True)
    return python


def dbt(python: Path, folder: Path, *args: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "PYTHON", "SPARK"))}
    environment |= {"PATH": "/nonexistent", "JAVA_HOME": "/nonexistent", "DBT_PROFILES_DIR": str(folder)}
    command = [str(python), "-c", "from dbt.cli.main import cli; cli()", *args]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


IN_PYTHON = """
import pandas
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

def model(dbt, session):
    dbt.config(materialized="iceberg_incremental_snapshot")
    assert SparkSession.builder.getOrCreate() is session
    names = session.createDataFrame(pandas.DataFrame({"id": [1], "name": ["one"]}))
    return dbt.ip_changes(dbt.ref("base")).join(names, "id").select("id", F.upper("name").alias("name"))
"""


@pytest.mark.thorough
def test_debug_and_a_run_without_java(thin_python: Path, tmp_path: Path, target: dict[str, Any], outside):
    installed = subprocess.run([sys.executable, "-m", "uv", "pip", "list", "--python", thin_python],
                               capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert "pyspark-client" in installed
    assert "py4j" not in installed
    profile = {"thin": {"target": "t", "outputs": {"t": {**target, "schema": "thin"}}}}
    (tmp_path / "profiles.yml").write_text(yaml.safe_dump(profile))
    (tmp_path / "dbt_project.yml").write_text(yaml.safe_dump({"name": "thin", "profile": "thin"}))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "base.sql").write_text("{{ config(materialized='table') }} select 1 as id, current_date() d")
    (tmp_path / "models" / "next.sql").write_text(
        "{{ config(materialized='iceberg_incremental_snapshot') }} select id from {{ ip_changes(ref('base')) }}"
    )
    (tmp_path / "models" / "in_python.py").write_text(IN_PYTHON)
    assert f"Spark {pyspark.__version__}, Iceberg 1." in dbt(thin_python, tmp_path, "debug", "--connection")
    for selected in ("base next in_python", "next in_python"):
        dbt(thin_python, tmp_path, "run", "--select", selected)
    assert rows(outside, f"select * from {CATALOG}.thin.next") == [(1,)]
    assert rows(outside, f"select * from {CATALOG}.thin.in_python") == [(1, "ONE")]
