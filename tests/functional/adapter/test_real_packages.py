"""Published packages from the folder DBT_PACKAGES, which has one folder per package, with the package's name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

FOLDER = os.environ.get("DBT_PACKAGES")
ITS_ESCAPES = pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
"""For packages with regular expressions in Jinja strings. Python warns of their backslashes."""


def installed(project, *packages: str) -> None:
    """Copy packages to the folder of `dbt deps`, which would need a network for their dependencies."""
    for name in packages:
        if FOLDER is None or not (Path(FOLDER) / name).is_dir():
            pytest.skip(f"set DBT_PACKAGES to a folder that has {name} in the folder {name}")
        leave_out = shutil.ignore_patterns(".git", "integration_tests*")
        shutil.copytree(Path(FOLDER) / name, Path(project.project_root) / "dbt_packages" / name, ignore=leave_out)


def rows(project, query: str) -> list[tuple[Any, ...]]:
    return sorted(project.run_sql(query.format(schema=project.test_schema), fetch="all"))


class TestDbtArtifacts:
    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {"on-run-end": ["{% if var('upload', false) %}{{ dbt_artifacts.upload_results(results) }}{% endif %}"]}

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "fine.sql": "{{ config(materialized='table') }} select 1 as id",
            "broken.sql": "{{ config(enabled=var('upload', false)) }} select it's 'quoted' \\ as id",
            "tests.yml": "models: [{name: fine, columns: [{name: id, data_tests: [not_null]}]}]\n"
            "exposures: [{name: page, type: dashboard, owner: {name: Ann}, depends_on: [ref('fine')]}]",
        }

    @pytest.fixture(scope="class")
    @classmethod
    def seeds(cls) -> dict[str, str]:
        return {"places.csv": "id,name\n1,x\n"}

    def test_uploads_are_queried_by_its_models(self, project):
        installed(project, "dbt_artifacts")
        run_dbt(["run", "--select", "dbt_artifacts"])
        run_dbt(["build", "--select", "test", "--vars", "{upload: true}"], expect_pass=False)

        statuses = rows(project, "select name, status from {schema}.fct_dbt__model_executions")
        assert statuses == [("broken", "error"), ("fine", "success")]
        assert rows(project, "select status from {schema}.fct_dbt__test_executions") == [("pass",)]
        assert rows(project, "select name, status from {schema}.fct_dbt__seed_executions") == [("places", "success")]
        assert rows(project, "select name from {schema}.dim_dbt__exposures") == [("page",)]
        message = rows(project, "select message from {schema}.fct_dbt__model_executions where name = 'broken'")
        assert "Syntax error at or near '''" in message[0][0]
        ((started, full_refresh, threads),) = rows(
            project, "select run_started_at, full_refresh_flag, target_threads from {schema}.fct_dbt__invocations"
        )
        ((compiled, completed),) = rows(
            project,
            "select compile_started_at, query_completed_at from {schema}.fct_dbt__model_executions "
            "where name = 'fine' and total_node_runtime > 0",
        )
        assert started < compiled < completed
        assert (full_refresh, threads) == (False, 4)


@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")  # caused by a literal in codegen
class TestCodegen:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "people.sql": "{{ config(materialized='table') }} select 1 as id, 'ann' as name",
            "names.sql": "select name from {{ ref('people') }}",
        }

    def test_a_source_is_generated_from_a_schema(self, project):
        installed(project, "codegen", "dbt_utils")
        run_dbt(["run"])
        arguments = f"{{schema_name: {project.test_schema}, generate_columns: true, name: shop}}"
        (_, log) = run_dbt_and_capture(["run-operation", "generate_source", "--args", arguments])
        assert log[log.index("sources:") :].split() == (
            f"sources: - name: shop schema: {project.test_schema} tables: "
            "- name: names columns: - name: name data_type: string "
            "- name: people columns: - name: id data_type: int - name: name data_type: string"
        ).split()  # fmt: skip
        arguments = f"{{schema_name: {project.test_schema}, table_pattern: p%, name: shop}}"
        (_, log) = run_dbt_and_capture(["run-operation", "generate_source", "--args", arguments])
        assert log.split()[-3:] == ["-", "name:", "people"]

        listing = "{{ dbt_utils.get_relations_by_prefix(target.schema, 'peo', exclude='%x') }}"
        (compiled,) = run_dbt(["compile", "--inline", listing])
        assert f"`{project.test_schema}`.`people`" in compiled.node.compiled_code
        assert "names" not in compiled.node.compiled_code


class TestAuditHelper:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        queries = "'select * from ' ~ ref('one'), 'select * from ' ~ ref('two'), primary_key_columns=['id']"
        both = "ref('one'), ref('two')"
        calls = {
            "relation_columns": f"compare_relation_columns({both})",
            "query_results": f"compare_and_classify_query_results({queries}, columns=['id', 'name'])",
            "relation_rows": f"compare_and_classify_relation_rows({both}, primary_key_columns=['id'])",
            "bounded_rows": f"compare_and_classify_query_results({queries}, columns=['id', 'name'], event_time='at')",
            "all_columns": "compare_all_columns(ref('one'), ref('two'), 'id')",
            "differing_columns": f"compare_which_relation_columns_differ({both}, primary_key_columns=['id'])",
            "row_counts": f"compare_row_counts({both})",
            "relations": f"compare_relations({both})",
            "queries": f"compare_queries({queries.replace('primary_key_columns=', 'primary_key=')})",
        }
        made = {
            f"{name}.sql": "-- depends_on: {{ ref('one') }} {{ ref('two') }}\n"
            f"{{% if execute %}}{{{{ audit_helper.{call} }}}}{{% else %}}select 1{{% endif %}}"
            for name, call in calls.items()
        }
        row = "select {}L as id, '{}' as name, timestamp'2026-01-0{} 00:00:00' as at"
        return {
            **made,
            "one.sql": " union all ".join(row.format(*each) for each in ((1, "a", 1), (2, "b", 2), (3, "c", 3))),
            "two.sql": " union all ".join(
                row.format(*each).replace("L as", " as") for each in ((1, "a", 1), (2, "x", 2), (4, "d", 2))
            ),
        }

    def test_its_macros(self, project):
        installed(project, "audit_helper", "dbt_utils")
        run_dbt(["run"])
        columns = rows(project, "select column_name, has_data_type_match, in_both from {schema}.relation_columns")
        assert columns == [("at", True, True), ("id", False, True), ("name", True, True)]
        expected = [
            ("added", 4, "d", 1),
            ("identical", 1, "a", 1),
            ("modified", 2, "b", 1),
            ("modified", 2, "x", 1),
            ("removed", 3, "c", 1),
        ]
        for table in ("query_results", "relation_rows"):
            found = f"select dbt_audit_row_status, id, name, dbt_audit_num_rows_in_status from {{schema}}.{table}"
            assert rows(project, found) == expected
        bounded = "select dbt_audit_row_status, id from {schema}.bounded_rows"
        assert rows(project, bounded) == [("added", 4), ("identical", 1), ("modified", 2), ("modified", 2)]
        differing = "select column_name, has_difference from {schema}.differing_columns"
        assert rows(project, differing) == [("at", False), ("id", False), ("name", True)]


class TestDates:
    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {"vars": {"dbt_date:time_zone": "UTC"}}

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        checks = """
            - dbt_expectations.expect_table_row_count_to_equal: {arguments: {value: 9}}
            - dbt_expectations.expect_compound_columns_to_be_unique: {arguments: {column_list: [date_day, day_of_week]}}
        """
        columns = """
            - name: date_day
              data_tests:
                - dbt_expectations.expect_column_values_to_be_of_type: {arguments: {column_type: date}}
                - dbt_expectations.expect_column_values_to_be_unique
            - name: day_of_week
              data_tests:
                - dbt_expectations.expect_column_values_to_be_between: {arguments: {min_value: 1, max_value: 7}}
                - dbt_expectations.expect_column_mean_to_be_between: {arguments: {min_value: 1, max_value: 7}}
            - name: day_of_week_name
              data_tests:
                - dbt_expectations.expect_column_values_to_match_regex: {arguments: {regex: "^[A-Z][a-z]+day$"}}
        """
        days = "dbt_date.get_date_dimension('2026-01-01', '2026-01-10')"
        return {
            "days.sql": f"{{{{ config(materialized='table') }}}} {{{{ {days} }}}}",
            "days.yml": f"models:\n  - name: days\n    data_tests:{checks}\n    columns:{columns}",
        }

    def test_a_date_dimension_meets_expectations(self, project):
        installed(project, "dbt_date", "dbt_expectations")
        results = run_dbt(["build"])
        assert {str(each.status) for each in results} == {"success", "pass"} and len(results) == 8
        days = rows(project, "select cast(min(date_day) as string), count(*) from {schema}.days")
        assert days == [("2026-01-01", 9)]  # the end date is exclusive


TABLE = {"+materialized": "table"}
VIEWS = ("int_direct_relationships", "int_all_dag_relationships")
"""Models that are tables on Databricks. As views, they would be computed again for each model that reads them."""


class TestProjectEvaluator:
    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {
            "vars": {"max_depth_dag": 9},
            "models": {"dbt_project_evaluator": {"marts": {"core": dict.fromkeys(VIEWS, TABLE)}}},
            "dispatch": [{"macro_namespace": "dbt", "search_order": ["dbt_project_evaluator", "dbt"]}],
        }

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {"one.sql": "select 1 as id", "two.sql": "select * from {{ ref('one') }} cross join (select 1 as n)"}

    @pytest.mark.thorough
    @ITS_ESCAPES
    def test_it_finds_models_without_tests(self, project):
        installed(project, "dbt_project_evaluator", "dbt_utils")
        run_dbt(["run", "--select", "test"])
        run_dbt(["build", "--select", "package:dbt_project_evaluator", "--exclude", "resource_type:test"])
        found = rows(project, "select resource_name from {schema}.fct_missing_primary_key_tests")
        assert found == [("one",), ("two",)]


class TestElementary:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "one.sql": "{{ config(materialized='table') }} select 1 as id",
            "one.yml": "models: [{name: one, columns: [{name: id, data_tests: [unique]}]}]",
        }

    @pytest.mark.thorough
    @ITS_ESCAPES
    def test_it_keeps_results_of_runs_and_tests(self, project):
        installed(project, "elementary", "dbt_utils")
        run_dbt(["run", "--select", "package:elementary"])
        run_dbt(["build", "--select", "one"])
        ran = "select name, status from {schema}.dbt_run_results where resource_type = 'model' and name = 'one'"
        assert rows(project, ran) == [("one", "success")]
        tested = "select column_name, status from {schema}.elementary_test_results"
        assert rows(project, tested) == [("id", "pass")]
