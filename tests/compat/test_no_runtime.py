"""With a PySpark for which Iceberg has not released a runtime yet, dbt reports one error of this package."""

from __future__ import annotations

import pyspark
import pytest

from tests.functional.first_hour.project import WAREHOUSE, dbt, write


@pytest.mark.parametrize("command", [("debug", "--connection"), ("run",)])
def test_dbt_names_the_supported_spark_versions(tmp_path, command):
    project = write(tmp_path, {"one.sql": "select 1 as id"}, WAREHOUSE)

    said = dbt(project, *command, succeeds=False)

    assert f"There is no Iceberg runtime for Spark {pyspark.__version__} yet." in said
    assert "Expected: Spark 4.0 or 4.1." in said
    assert "pip install 'pyspark>=4.0,<4.2'" in said
    assert said.count("no Iceberg runtime") == 1
    assert not (tmp_path / "lakehouse").exists()


def test_a_runtime_for_another_spark(tmp_path):
    jars = {"spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"}
    project = write(tmp_path, {}, {**WAREHOUSE, "server_side_parameters": jars})

    said = dbt(project, "debug", "--connection", succeeds=False)

    assert f"The Iceberg runtime in server_side_parameters is not for Spark {pyspark.__version__}." in said
    assert "pip install 'pyspark==4.1.*'" in said
