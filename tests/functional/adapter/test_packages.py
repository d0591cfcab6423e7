"""Features of an adapter that widely used packages need, tested with a small package that uses them in the same way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

FIELD_KIT = Path(__file__).parent / "field_kit"


class TestPackages:
    @pytest.fixture(scope="class")
    @classmethod
    def packages(cls) -> dict[str, Any]:
        return {"packages": [{"local": str(FIELD_KIT)}]}

    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {
            "models": {"+materialized": "table"},
            "on-run-end": ["{{ field_kit.bookkeeping() }}"],
            # as with a package that replaces macros of another package
            "dispatch": [{"macro_namespace": "field_kit", "search_order": ["test", "field_kit"]}],
        }

    @pytest.fixture(scope="class")
    @classmethod
    def macros(cls) -> dict[str, str]:
        return {"shim.sql": "{% macro spark__shimmed() -%} {{ return('shim') }} {%- endmacro %}"}

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        people = "{{ ref('people') }}"
        kinds = ", ".join(
            f"'{{{{ field_kit.{kind}() }}}}' as {kind}" for kind in ("plain", "sparks", "ours", "shimmed")
        )
        pivot = """
            -- depends_on: {{ ref('people') }}
            select {% for name in field_kit.values_of(ref('people'), 'name') %}
                count_if(name = '{{ name }}') as {{ adapter.quote(name) }}{{ ', ' if not loop.last }}
            {% endfor %} from {{ ref('people') }}
        """
        return {
            "found.sql": f"select {kinds}",
            "people.sql": "select 1 as id, 'ann' as name union all select 2, 'bob'",
            "places.sql": "select 3 as id, 'x' as `a place`",
            "ids.sql": f"select {{{{ field_kit.columns_without(ref('people'), ['name']) }}}} from {people}",
            "both.sql": "{{ field_kit.union_of([ref('people'), ref('places')]) }}",
            "keyed.sql": f"select {{{{ field_kit.surrogate_key(['id', 'name']) }}}} as key, id from {people}",
            "pivoted.sql": pivot,
            "compared.sql": "{{ field_kit.differing(ref('people'), ref('people')) }}",
            "log_of_runs.sql": """
                {{ config(materialized='incremental') }}
                select cast(null as string) as node, cast(null as string) as status, cast(null as timestamp) as at
                where false
            """,
            "schema.yml": """
                models:
                  - name: people
                    data_tests: [{field_kit.holds: {arguments: {expression: id > 0}}}]
            """,
        }

    @pytest.fixture(scope="class")
    @classmethod
    def built(cls, project) -> Any:
        run_dbt(["deps"])
        run_dbt(["build"])

        def rows(model: str, columns: str = "*") -> list[tuple[Any, ...]]:
            return sorted(project.run_sql(f"select {columns} from {project.test_schema}.{model}", fetch="all"))

        return rows

    @pytest.mark.core
    def test_macros_are_found_for_this_adapter_then_for_spark(self, built):
        assert built("found") == [("default", "spark", "spark_iceberg", "shim")]

    def test_columns_are_listed_quoted_and_cast(self, built, project):
        assert built("ids") == [(1,), (2,)]
        people, places = (f"`lakehouse`.`{project.test_schema}`.`{name}`" for name in ("people", "places"))
        assert built("both", "origin, id, coalesce(name, ''), coalesce(`a place`, '')") == [
            (people, 1, "ann", ""), (people, 2, "bob", ""), (places, 3, "", "x"),
        ]  # fmt: skip
        assert len({key for key, _ in built("keyed")}) == 2

    def test_queries_while_dbt_compiles(self, built):
        assert built("pivoted", "ann, bob") == [(1, 1)]
        assert built("compared") == [(0,)]

    def test_rows_of_a_run_are_merged_by_a_temporary_view(self, built):
        before = built("log_of_runs", "node, status")
        run_dbt(["run"])
        after = built("log_of_runs", "node, status")
        assert ("model.test.people", "success") in before
        assert after == [row for row in before if row[0].startswith("model.")] + [
            row for row in before if not row[0].startswith("model.")
        ]

    def test_schemas_and_relations_are_inspected(self, built, project):
        schema = f"{project.test_schema}_inspected"
        arguments = json.dumps({"schema": schema, "known": "people"})
        (_, log) = run_dbt_and_capture(["run-operation", "field_kit.report", "--args", arguments])
        found, _ = json.JSONDecoder().raw_decode(log, log.index("inspected ") + len("inspected "))
        assert found == {
            "type": ["spark_iceberg", "spark_iceberg"],
            "catalog": ["lakehouse", "lakehouse"],
            "schema_exists": True,
            "relation": [True, False, "lakehouse", "renamed"],
            "missing": ["name"],
            "rows": 0,
            "dropped": True,
        }
