"""Tests that apply to every kind of Spark server, and two catalogs for them, with Iceberg's cache on, as by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark
import pytest
from dbt.adapters.contracts.connection import Connection, Identifier
from dbt.tests.util import get_connection, run_dbt, run_dbt_and_capture

from dbt.adapters.spark_iceberg.profile import lakehouse
from tests.functional.metadata import servers


def settings(folder: Path, embedded_target: dict[str, Any]) -> dict[str, str]:
    """The settings of a server with two catalogs, `lake` and `archive`."""
    found = servers.lake_settings(folder / "lake", "lake", embedded_target) | {
        "spark.sql.catalog.archive": lakehouse.CATALOG_CLASS,
        "spark.sql.catalog.archive.type": "hadoop",
        "spark.sql.catalog.archive.warehouse": str(folder / "archive"),
    }
    del found["spark.sql.catalog.lake.cache-enabled"]
    return found


class AnyServer:
    """Subclasses set the profile as `dbt_profile_target`."""

    @pytest.fixture(scope="class")
    @classmethod
    def seeds(cls):
        return {"given.csv": "id,name\n1,\n2,it's\n"}

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        return {
            "t.sql": "{{ config(materialized='table') }} select * from {{ ref('given') }}",
            "far.sql": "{{ config(materialized='table', database='archive') }} select * from {{ ref('t') }}",
            "v.sql": "select * from {{ ref('far') }}",
            "i.sql": """
                {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
                select * from {{ ref('v') }}
            """,
            "staged.sql": """
                {{ config(
                    materialized='iceberg_incremental_snapshot',
                    pre_hook="set spark.sql.parser.escapedStringLiterals = {{ var('escaped', 'false') }}"
                ) }}
                select * from {{ ip_changes(ref('given')) }}
            """,
        }

    def test_debug_reports_the_server_and_the_catalog(self, project):
        (_, log) = run_dbt_and_capture(["debug"])
        assert f"Spark {pyspark.__version__}, Iceberg 1." in log
        assert "catalog lake (jdbc)" in log

    def test_two_builds(self, project):
        schema = project.test_schema
        for _ in range(2):
            assert {r.status for r in run_dbt(["build"])} == {"success"}
        assert project.run_sql(f"select * from lake.{schema}.i order by id", fetch="all") == [(1, None), (2, "it's")]
        with get_connection(project.adapter):
            relation = project.adapter.Relation.create(database="archive", schema=schema)
            assert [r.identifier for r in project.adapter.list_relations_without_caching(relation)] == ["far"]
            project.adapter.drop_schema(relation)

    def test_maintenance_calls_iceberg_s_procedures(self, project):
        table = f"lake.{project.test_schema}.staged"
        run_dbt(["build", "--select", "given", "staged"])
        for number in range(5):
            project.run_sql(f"insert into {table} values ({number}, null)")
        arguments = ["run-operation", "ip_maintain", "--args", "{max_snapshot_age: 1 minute}"]
        (_, would) = run_dbt_and_capture([*arguments[:-1], "{dry_run: true}"])
        assert "rewrite_data_files: 6 of 6 data files" in would
        assert project.run_sql(f"select count(*) from {table}.files", fetch="one") == (6,)
        (_, printed) = run_dbt_and_capture(arguments)
        assert "6 data files rewritten, 1 data file added" in printed
        assert project.run_sql(f"select count(*) from {table}.files", fetch="one") == (1,)

    def test_a_setting_in_the_server_s_session_is_refused(self, project):
        refused = ["run", "--full-refresh", "--select", "staged", "--vars", "{escaped: 'true'}"]
        (result,) = run_dbt(refused, expect_pass=False)
        assert "Found: spark.sql.parser.escapedStringLiterals = true" in str(result.message)

    @pytest.mark.parametrize("catalog", ["lake", "archive"])
    def test_a_connection_reads_later_commits_of_another(self, project, catalog):
        adapter = project.adapter
        table = f"{catalog}.fresh.t"
        with adapter.connection_named("one"):
            adapter.execute(f"create schema if not exists {catalog}.fresh")
            adapter.execute(f"create or replace table {table} using iceberg as select 1 as id")
            other = adapter.connections.open(
                Connection(Identifier("spark_iceberg"), "other", adapter.config.credentials)
            )

            def count() -> int:
                cursor = other.handle.cursor()
                cursor.execute(f"select count(*) from {table}")
                return int(cursor.fetchall()[0][0])

            assert count() == 1
            adapter.execute(f"insert into {table} values (2)")
            assert count() == 2
            other.handle.close()

    def test_an_error_is_sparks_message_without_a_stack_trace(self, project):
        with get_connection(project.adapter), pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND") as caught:
            project.adapter.execute("select * from lake.fresh.nowhere")
        assert "\tat " not in str(caught.value)
        assert "HiveSQLException" not in str(caught.value)
