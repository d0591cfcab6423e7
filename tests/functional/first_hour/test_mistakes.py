"""Typing errors and misunderstandings, and the contents of their error messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.in_process.session import open_session
from tests.functional.first_hour.project import WAREHOUSE, dbt, write

OURS = "iceberg_incremental_snapshot"


def debug(folder: Path, **profile: Any) -> str:
    """The output of `dbt debug` for an invalid profile."""
    return dbt(write(folder, {}, profile), "debug", "--connection", succeeds=False)


def test_a_mistyped_field_of_the_profile(tmp_path):
    assert "`warehous`: did you mean `warehouse`?" in debug(tmp_path, warehous="lakehouse")


def test_a_warehouse_that_is_a_file(tmp_path):
    (tmp_path / "lakehouse").touch()
    said = debug(tmp_path, **WAREHOUSE)
    assert f"`warehouse` is {tmp_path / 'lakehouse'}, which is a file: expected a folder" in said


def test_too_much_memory_for_the_driver(tmp_path):
    said = debug(tmp_path, **WAREHOUSE, server_side_parameters={"spark.driver.memory": "12x"})
    assert "Invalid maximum heap size: -Xmx12x" in said
    assert "Set `spark.driver.memory`" in said
    assert str(tmp_path / "lakehouse" / "spark.log") in said


def test_jars_that_do_not_exist(tmp_path):
    parameters = {"spark.jars.packages": "org.example:nowhere:1", "spark.jars.ivy": str(tmp_path / "ivy")}
    said = debug(tmp_path, **WAREHOUSE, server_side_parameters=parameters)
    assert "downloading 1 jar, once: org.example:nowhere:1" in said
    assert "unresolved dependency: org.example#nowhere;1: not found" in said
    assert "spark.jars.repositories" in said


def test_a_catalog_whose_database_is_unreachable(embedded_target, tmp_path):
    uri = {"spark.sql.catalog.lakehouse.uri": f"jdbc:sqlite:file:{tmp_path}/nowhere/catalog.db"}
    parameters = {**embedded_target["server_side_parameters"], **uri}
    profile = {**embedded_target, "server_side_parameters": parameters, "schema": "s"}
    with pytest.raises(DbtRuntimeError, match="The catalog `lakehouse` is unreachable") as caught:
        open_session(SparkIcebergCredentials.from_dict(profile))
    assert "spark.sql.catalog.lakehouse.uri" in str(caught.value)
    assert "not an Iceberg catalog" not in str(caught.value)


@pytest.mark.core
class TestModels:
    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls):
        return {"models": {"test": {"ours": {"+incremental_stategy": "append", "+owner": "me"}}}}

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        config = f"{{{{ config(materialized='{OURS}', on_source_rewrites='upserts') }}}} "
        return {
            "source.sql": "{{ config(materialized='table', file_format='') }} select 1 as id",
            "grown.sql": "{{ config(materialized='incremental', file_format='') }} select * from {{ ref('source') }}",
            "ours": {"typos.sql": config + "select * from {{ ip_changes(ref('source')) }}"},
        }

    def test_each_error_names_a_fix(self, project):
        results = run_dbt(["run"], expect_pass=False)
        said = {result.node.name: str(result.message) for result in results}
        assert "incremental_stategy is not a config: did you mean incremental_strategy?" in said["typos"]
        assert "on_source_rewrites is not a config: did you mean on_source_rewrite?" in said["typos"]
        assert "owner" not in said["typos"]
        for name in ("source", "grown"):
            assert project.run_sql(f"select id from {project.test_schema}.{name}", fetch="all") == [(1,)]
