"""`dbt debug` reports the versions and the catalog. Each missing component is one clear error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml
from dbt.tests.util import run_dbt_and_capture

from dbt.adapters.spark_iceberg.profile import lakehouse


@pytest.mark.core
class TestDebug:
    def test_it_reports_spark_iceberg_and_catalog(self, project):
        (_, log) = run_dbt_and_capture(["debug"])
        assert f"Spark {pyspark.__version__}, Iceberg 1." in log
        assert "catalog lakehouse (jdbc)" in log
        assert "All checks passed!" in log


def debug(folder: Path, target: dict[str, Any], **environment: str) -> str:
    """The output of `dbt debug` for a profile, in its own process, which starts its own Spark."""
    (folder / "dbt_project.yml").write_text(yaml.safe_dump({"name": "p", "profile": "p"}))
    output = {"type": "spark_iceberg", "schema": "s", **target}
    (folder / "profiles.yml").write_text(yaml.safe_dump({"p": {"target": "t", "outputs": {"t": output}}}))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "dbt.cli.main",
            "debug",
            "--connection",
            "--no-use-colors",
            "--no-send-anonymous-usage-stats",
        ],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode != 0
    assert "\tat " not in done.stdout + done.stderr
    return done.stdout


def test_no_iceberg_runtime(tmp_path):
    (tmp_path / "empty.jar").write_bytes(b"PK\x05\x06" + bytes(18))
    printed = debug(tmp_path, {"warehouse": "w", "server_side_parameters": {"spark.jars": str(tmp_path / "empty.jar")}})
    assert "no Iceberg runtime on its classpath" in printed
    assert f'spark.jars.packages: "{lakehouse.packages(pyspark.__version__).split(",")[0]}"' in printed


@pytest.mark.thorough
def test_no_extension(tmp_path):
    printed = debug(tmp_path, {"warehouse": "w", "server_side_parameters": {"spark.sql.extensions": ""}})
    assert "SQL extension is not enabled" in printed
    assert lakehouse.EXTENSIONS in printed


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"catalog": "lakee"}, "The catalog `lakee` is not configured in Spark. Configured catalogs: `lakehouse`"),
        pytest.param(
            {"catalog": "spark_catalog"},
            "The catalog `spark_catalog` is not an Iceberg catalog",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_an_unknown_catalog(tmp_path, target, message):
    parameters = lakehouse.spark_confs(tmp_path, "lakehouse", pyspark.__version__, {})
    assert message in debug(tmp_path, {**target, "server_side_parameters": parameters})
