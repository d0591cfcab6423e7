"""The engine in an environment without dbt and Jinja: each of its modules, and a job over two runs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.in_process.session import wanted_confs

pytestmark = pytest.mark.core

SCRIPT = """
import importlib, json, pkgutil, sys

BLOCKED = ("dbt", "dbt_common", "jinja2")
sys.modules.update(dict.fromkeys(BLOCKED))  # an import of None fails
import iceberg_incremental
for module in pkgutil.walk_packages(iceberg_incremental.__path__, "iceberg_incremental."):
    importlib.import_module(module.name)

from iceberg_incremental import Job, local_spark

spark = local_spark({"spark.master": "local[1]", **json.loads(sys.argv[1])})
catalog = sys.argv[2]
spark.sql(f"create namespace {catalog}.ops")
spark.sql(f"create table {catalog}.ops.events (id int) using iceberg")
job = Job(spark, f"{catalog}.ops.staged")
for number in (1, 2):
    spark.sql(f"insert into {catalog}.ops.events values ({number})")
    with job.run() as run:
        run.append(run.changes(f"{catalog}.ops.events"))
    print(run.is_rebuild, sorted(row.id for row in spark.table(f"{catalog}.ops.staged").collect()))
assert not [name for name, module in sys.modules.items() if module and name.split(".")[0] in BLOCKED]
"""


def test_a_job_runs_without_dbt(tmp_path, embedded_target):
    target = {**embedded_target, "schema": "ops", "warehouse": str(tmp_path / "lakehouse")}
    credentials = SparkIcebergCredentials.from_dict(target)
    (tmp_path / "lakehouse").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(dict(wanted_confs(credentials))), credentials.catalog],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["True [1]", "False [1, 2]"]
