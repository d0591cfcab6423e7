"""The adapter's macros for packages, called by macros with the same names and dispatch as in those packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from tests.conftest import OTHER_CATALOG

STAND_INS = {
    "dbt_utils": """
        {% macro list_tables(schema, tables="%", exclude="", database=target.database) -%}
            {%- set query = adapter.dispatch("get_tables_by_pattern_sql", "dbt_utils") -%}
            {%- for row in run_query(query(schema, tables, exclude, database)) -%}
                {%- do log("listed " ~ row.table_schema ~ "." ~ row.table_name ~ ": " ~ row.table_type, info=true) -%}
            {%- endfor -%}
        {%- endmacro %}
        {% macro default__get_tables_by_pattern_sql(schema, tables, exclude, database) -%}
            select * from {{ database }}.information_schema.tables
        {%- endmacro %}
    """,
    "dbt_artifacts": """
        {% macro upload(values) -%}
            {%- set log = api.Relation.create(database=target.database, schema=target.schema, identifier="runs") -%}
            {%- set columns = "(  node_id,\\n   at, Passed, `rows`, seconds)" -%}
            {%- set content = "select col1, col2, nullif(col3, ''), col4, col5 from values " ~ values -%}
            {%- do adapter.dispatch("insert_into_metadata_table", "dbt_artifacts")(log, columns, content) -%}
        {%- endmacro %}
        {% macro spark__insert_into_metadata_table(relation, fields, content) -%}
            {%- do run_query("insert into " ~ relation ~ fields ~ content) -%}
        {%- endmacro %}
    """,
    "audit_helper": """
        {% macro count_in_status() -%}
            {{ adapter.dispatch("_count_num_rows_in_status", "audit_helper")() }}
        {%- endmacro %}
        {% macro default___count_num_rows_in_status() -%} count(distinct x) over () {%- endmacro %}
    """,
}


class TestPackageMacros:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        statuses = "(1, 1, 'same'), (1, 1, 'same'), (1, 2, 'same'), (2, 1, 'same'), (3, 1, 'added')"
        columns = "dbt_audit_surrogate_key, dbt_audit_pk_row_num, dbt_audit_row_status"
        return {
            "people.sql": "{{ config(materialized='table') }} select 1 as id",
            "people_view.sql": "select * from {{ ref('people') }}",
            "runs.sql": """
                {{ config(materialized='incremental') }}
                select '' as node_id, current_timestamp() as at, true as passed, 1 as rows, 1d as seconds where false
            """,
            "counted.sql": f"""
                select distinct dbt_audit_row_status as status, {{{{ audit_helper.count_in_status() }}}} as n
                from values {statuses} as v({columns})
            """,
        }

    @pytest.fixture(scope="class")
    @classmethod
    def built(cls, project) -> Any:
        for name, macros in STAND_INS.items():
            folder = Path(project.project_root) / "dbt_packages" / name
            (folder / "macros").mkdir(parents=True)
            (folder / "dbt_project.yml").write_text(f"{{name: {name}, version: 1.0.0, config-version: 2}}")
            (folder / "macros" / "all.sql").write_text(macros)
        run_dbt(["run"])
        return project

    def listed(self, **arguments: str) -> list[str]:
        text = ", ".join(f'{name}: "{value}"' for name, value in arguments.items())
        (_, log) = run_dbt_and_capture(["run-operation", "dbt_utils.list_tables", "--args", f"{{{text}}}"])
        return [line.split("listed ")[1] for line in log.splitlines() if "listed " in line]

    def test_tables_are_listed_by_patterns(self, built):
        schema = built.test_schema
        people, view = f"{schema}.people: table", f"{schema}.people_view: view"
        assert sorted(self.listed(schema=schema)) == [
            f"{schema}.counted: view", people, view, f"{schema}.runs: table",
        ]  # fmt: skip
        assert sorted(self.listed(schema=schema, tables="PEOPLE%")) == [people, view]
        assert self.listed(schema=f"{schema[:-4]}%", tables="people%", exclude="%_view") == [people]
        assert self.listed(schema="no_such_schema") == []
        assert self.listed(schema=schema, database=OTHER_CATALOG) == []

    def test_strings_are_inserted_into_columns_of_other_types(self, built):
        def upload(values: str, expect_pass: bool = True) -> str:
            call = ["run-operation", "dbt_artifacts.upload", "--args", f'{{values: "{values}"}}']
            return run_dbt_and_capture(call, expect_pass=expect_pass)[1]

        def rows() -> list[tuple[Any, ...]]:
            columns = "node_id, cast(at as string), passed, rows, seconds"
            return built.run_sql(f"select {columns} from {built.test_schema}.runs order by node_id", fetch="all")

        built.run_sql("set time zone 'UTC'")
        upload(
            "('a', '2026-01-02 03:04:05.123456+00:00', 'False', 4, 0.25),"
            "('b', '2026-01-02T03:04:05.5Z', '', null, 1e0), ('c', null, 'true', 2147483647, 3)"
        )
        expected = [
            ("a", "2026-01-02 03:04:05.123456", False, 4, 0.25),
            ("b", "2026-01-02 03:04:05.5", None, None, 1.0),
            ("c", None, True, 2147483647, 3.0),
        ]
        assert rows() == expected

        log = upload("('d', '2026-01-02 03:04:05', 'true', 1, 1), ('e', 'soon', 'true', 1, 1)", expect_pass=False)
        assert f"Cannot insert into `lakehouse`.`{built.test_schema}`.`runs`: a value does not fit its column." in log
        assert "Expected: timestamp, in the column at." in log
        assert "Found: 'soon'." in log
        log = upload("('d', null, 'true', 2147483648, 1)", expect_pass=False)
        assert "Found: '2147483648'." in log
        assert rows() == expected

    def test_other_inserts_refuse_strings_as_before(self, built):
        with pytest.raises(Exception, match=r"INCOMPATIBLE_DATA_FOR_TABLE\.CANNOT_SAFELY_CAST"):
            built.run_sql(f"insert into {built.test_schema}.runs select 'x', '2026-01-02', true, 1, 1d")

    def test_distinct_rows_are_counted_in_a_window(self, built):
        found = built.run_sql(f"select status, n from {built.test_schema}.counted order by status", fetch="all")
        assert found == [("added", 1), ("same", 3)]
