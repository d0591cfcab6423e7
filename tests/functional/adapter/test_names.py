"""Names: three levels, several catalogs, and all characters that names may contain."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from dbt.cli.main import dbtRunner
from dbt.tests.util import get_connection, run_dbt
from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.sql import sql_name
from tests.conftest import OTHER_CATALOG

pytestmark = pytest.mark.core

ODD = ["Upper", "with space", "with.dot", "it's", 'say "hi"', "back`tick", "日本é", "select"]


class TestCatalogs:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        return {
            "sources.yml": f"""
                sources:
                  - name: far
                    database: {OTHER_CATALOG}
                    schema: "{{{{ target.schema }}}}"
                    tables: [{{name: given}}]
                  - name: near
                    database: spark_catalog
                    schema: "{{{{ target.schema }}}}"
                    tables: [{{name: Given}}]
            """,
            "here.sql": """
                {{ config(materialized='table') }} select id, 'here' as place from {{ source('far', 'given') }}
            """,
            "there.sql": f"""
                {{{{ config(materialized='table', database='{OTHER_CATALOG}') }}}} select * from {{{{ ref('here') }}}}
            """,
            "alias.sql": f"""
                {{{{ config(materialized='incremental', catalog='{OTHER_CATALOG}') }}}}
                select n.id from {{{{ source('near', 'Given') }}}} n join {{{{ ref('there') }}}} using (id)
            """,
            "plain.sql": """
                {{ config(materialized='table', database='spark_catalog', file_format='parquet') }}
                select * from {{ ref('here') }}
            """,
        }

    def test_models_and_sources_reach_across_catalogs(self, project):
        schema = project.test_schema
        for catalog, name, using in ((OTHER_CATALOG, "given", "iceberg"), ("spark_catalog", "Given", "parquet")):
            project.run_sql(f"create schema if not exists {catalog}.{schema}")
            project.run_sql(f"create table {catalog}.{schema}.{name} using {using} as select 1 as id")
        try:
            for run in range(2):
                results = run_dbt(["run"])
                assert [r.status for r in results] == ["success"] * 4, run
            assert project.run_sql(f"select * from {OTHER_CATALOG}.{schema}.there", fetch="all") == [(1, "here")]
            assert len(project.run_sql(f"select * from {OTHER_CATALOG}.{schema}.alias", fetch="all")) == 2
            assert project.run_sql(f"select * from spark_catalog.{schema}.plain", fetch="all") == [(1, "here")]
            run_dbt(["docs", "generate"])
            catalog = json.loads(Path("target/catalog.json").read_text())
            databases = {
                key: node["metadata"]["database"] for key, node in {**catalog["nodes"], **catalog["sources"]}.items()
            }
            assert databases == {
                "model.test.here": "lakehouse",
                "model.test.there": OTHER_CATALOG,
                "model.test.alias": OTHER_CATALOG,
                "model.test.plain": "spark_catalog",
                "source.test.far.given": OTHER_CATALOG,
                "source.test.near.Given": "spark_catalog",
            }
        finally:
            with get_connection(project.adapter):
                for catalog in (OTHER_CATALOG, "spark_catalog"):
                    project.adapter.drop_schema(project.adapter.Relation.create(database=catalog, schema=schema))

    def test_a_missing_schema_has_no_relations(self, project):
        with get_connection(project.adapter) as _:
            for catalog in ("lakehouse", OTHER_CATALOG, "spark_catalog"):
                relation = project.adapter.Relation.create(database=catalog, schema="nowhere")
                assert project.adapter.list_relations_without_caching(relation) == []

    def test_an_unknown_catalog_is_an_error_that_names_the_others(self, project):
        relation = project.adapter.Relation.create(database="nowhere", schema="s")
        message = r"`nowhere` is not configured .*`archive`"
        with get_connection(project.adapter), pytest.raises(DbtRuntimeError, match=message):
            project.adapter.list_relations_without_caching(relation)


class TestSchemas:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        return {
            f"{kind}.sql": f"{{{{ config(materialized={kind!r}, schema='Mixed') }}}} select 1 as id"
            for kind in ("table", "view")
        }

    def test_a_schema_whose_name_differs_in_case_is_another(self, project):
        project.run_sql(f"create schema lakehouse.{project.test_schema}_mixed")
        try:
            for _ in range(2):
                assert len(run_dbt(["run"])) == 2
            assert project.run_sql(f"show tables in lakehouse.{project.test_schema}_mixed", fetch="all") == []
            names = project.run_sql(f"show tables in lakehouse.{project.test_schema}_Mixed", fetch="all")
            assert [row[1] for row in names] == ["table"]
        finally:
            with get_connection(project.adapter):
                for each in ("mixed", "Mixed"):
                    schema = f"{project.test_schema}_{each}"
                    project.adapter.drop_schema(project.adapter.Relation.create(database="lakehouse", schema=schema))

    def test_two_threads_create_one_schema(self, project):
        relations = [
            project.adapter.Relation.create(database="lakehouse", schema=f"{project.test_schema}_{number}")
            for number in range(20)
        ]
        barrier = Barrier(2)

        def create(name: str) -> None:
            with get_connection(project.adapter, name):
                project.adapter.execute("select 1")
                for each in relations:
                    barrier.wait(60)
                    project.adapter.create_schema(each)

        with ThreadPoolExecutor(2) as threads:
            for done in [threads.submit(create, name) for name in ("one", "other")]:
                done.result()
        with get_connection(project.adapter):
            for each in relations:
                project.adapter.drop_schema(each)

    @pytest.mark.parametrize("macro", ["", "{% macro generate_schema_name(name, node) %}{{ name }}{% endmacro %}"])
    def test_a_schema_with_an_empty_level_is_refused(self, project, macro):
        Path("macros").mkdir(exist_ok=True)
        Path("macros/own.sql").write_text(macro)
        Path("models/dotted.sql").write_text("{{ config(schema='a..b') }} select 1 as id")
        found = dbtRunner().invoke(["run", "--select", "dotted"])
        assert not found.success
        message = str(found.exception or found.result.results[0].message)
        assert "has the schema `" in message and "a..b`, in which a level has no name" in message
        with get_connection(project.adapter):
            assert not any("a." in each for each in project.adapter.list_schemas("lakehouse"))


class TestOddNames:
    @pytest.fixture(scope="class")
    @classmethod
    def unique_schema(cls, prefix):
        return f"{prefix} Odd`s"

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        def model(name: str, kind: str) -> str:
            config = f"{{{{ config(materialized={kind!r}, alias={name!r}) }}}}"
            return f"{config} select 1 as id, 'x' as {sql_name(name)}"

        return {f"t{n}.sql": model(name, "incremental") for n, name in enumerate(ODD)} | {
            f"v{n}.sql": model(f"v {name}", "view") for n, name in enumerate(ODD)
        }

    def test_every_name_is_found_again(self, project):
        assert len(run_dbt(["run"])) == 2 * len(ODD)
        run_dbt(["run"])
        with get_connection(project.adapter):
            schema = project.adapter.Relation.create(database="lakehouse", schema=project.test_schema)
            found = {(r.identifier, str(r.type)) for r in project.adapter.list_relations_without_caching(schema)}
            assert found == {(n, "table") for n in ODD} | {(f"v {n}", "view") for n in ODD}
            for name in ODD:
                relation = project.adapter.get_relation("lakehouse", project.test_schema, name)
                assert [c.name for c in project.adapter.get_columns_in_relation(relation)] == ["id", name]
                # the second run has appended to the table of the first
                assert project.adapter.connections.rows(f"select count(*) from {relation}") == [(2,)]
