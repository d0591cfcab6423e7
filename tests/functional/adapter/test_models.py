"""Materializations and their features, on Iceberg."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import get_connection, run_dbt, run_dbt_and_capture, write_file
from dbt_common.exceptions import DbtDatabaseError

from tests.functional.incremental.shop import FILLS_IN_COLUMNS

pytestmark = pytest.mark.core

ONE = "select 1 as id, 'a' as name"


def columns(project, table: str) -> list[tuple[str, str, str | None]]:
    return [tuple(row) for row in project.run_sql(f"describe {project.test_schema}.{table}", fetch="all")]


def snapshots(project, table: str) -> list[int]:
    sql = f"select snapshot_id from {project.test_schema}.{table}.snapshots order by committed_at"
    return [row[0] for row in project.run_sql(sql, fetch="all")]


def nullable(project, table: str) -> dict[str, bool]:
    with get_connection(project.adapter) as connection:
        fields = connection.handle.session.table(f"{project.test_schema}.{table}").schema.fields
        return {field.name: field.nullable for field in fields}


def configured(sql: str, **config) -> str:
    return "{{ config(" + ", ".join(f"{key}={value!r}" for key, value in config.items()) + ") }} " + sql


class TestKinds:
    """Tables become views and views become tables. A replaced table keeps its history."""

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        return {"m.sql": ONE}

    def test_kinds_change(self, project):
        for kind in ("table", "view", "table", "view", "incremental", "table"):
            write_file(configured(ONE, materialized=kind), project.project_root, "models", "m.sql")
            run_dbt(["run"])
            assert project.run_sql(f"select * from {project.test_schema}.m", fetch="all") == [(1, "a")], kind

    def test_a_table_is_replaced_atomically(self, project):
        write_file(configured(ONE, materialized="table"), project.project_root, "models", "m.sql")
        run_dbt(["run", "--full-refresh"])
        before = snapshots(project, "m")
        run_dbt(["run", "--full-refresh"])
        assert snapshots(project, "m")[:-1] == before
        failing = "select raise_error('no') as id, 'a' as name"
        write_file(configured(failing, materialized="table"), project.project_root, "models", "m.sql")
        run_dbt(["run"], expect_pass=False)
        assert project.run_sql(f"select * from {project.test_schema}.m", fetch="all") == [(1, "a")]


class TestClauses:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        return {
            "m.sql": configured(
                "select 1 as id, timestamp '2020-01-01 00:00:00' as ts, '{{ var(\"x\", \"\") }}' as x",
                materialized="table",
                partition_by=["days(ts)", "bucket(4, id)"],
                tblproperties={"write.wap.enabled": True, "note": 'it\'s ${spark.app.name} \\ "so"'},
                sql_header="set spark.sql.session.timeZone = UTC; create temporary view hdr as select ';' as x;",
            )
        }

    def test_partitions_properties_and_a_header(self, project):
        run_dbt(["run"])
        schema = project.test_schema
        properties = dict(project.run_sql(f"show tblproperties {schema}.m", fetch="all"))
        assert properties["write.wap.enabled"] == "true"
        assert properties["note"] == 'it\'s ${spark.app.name} \\ "so"'
        (partition,) = project.run_sql(f"select partition from {schema}.m.partitions", fetch="one")
        assert list(partition.asDict()) == ["ts_day", "id_bucket"]


class TestDocs:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        model = "select 1 as id, 'a' as `Odd name`"
        return {
            "t.sql": configured(model, materialized="table"),
            "i.sql": configured(model, materialized="incremental"),
            "v.sql": configured(model, materialized="view"),
            "schema.yml": {
                "models": [
                    {
                        "name": name,
                        "description": "it's ${spark.app.name}\nin \\ two lines",
                        "config": {"persist_docs": {"relation": True, "columns": True}},
                        "columns": [
                            {"name": "id", "description": "the 'key'"},
                            {"name": "Odd name", "quote": True, "description": "日本"},
                        ],
                    }
                    for name in ("t", "i", "v")
                ]
            },
        }

    def test_comments_are_persisted_once_and_shown_in_the_catalog(self, project):
        run_dbt(["run"])
        (_, log) = run_dbt_and_capture(["--debug", "run", "--select", "i"])
        assert "alter column" not in log
        assert "comment on" not in log
        run_dbt(["docs", "generate"])
        catalog = json.loads(Path("target/catalog.json").read_text())["nodes"]
        for name in ("t", "i", "v"):
            node = catalog[f"model.test.{name}"]
            assert node["metadata"]["comment"] == "it's ${spark.app.name}\nin \\ two lines"
            assert {c["name"]: (c["type"], c["comment"]) for c in node["columns"].values()} == {
                "id": ("int", "the 'key'"),
                "Odd name": ("string", "日本"),
            }
        assert catalog["model.test.t"]["stats"]["rows"]["value"] == 1
        assert catalog["model.test.v"]["metadata"]["type"] == "view"


class TestContract:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        return {
            "m.sql": configured(
                "select {{ var('id', '1') }} as id, 'a' as name", materialized="incremental", on_schema_change="fail"
            ),
            "schema.yml": {
                "models": [
                    {
                        "name": "m",
                        "config": {"contract": {"enforced": True}},
                        "columns": [
                            {"name": "id", "data_type": "int", "constraints": [{"type": "not_null"}]},
                            {"name": "name", "data_type": "string"},
                        ],
                    }
                ]
            },
        }

    @pytest.mark.parametrize("flags", [[], ["--full-refresh"]])
    def test_null_is_rejected_and_nothing_is_stored(self, project, flags):
        run_dbt(["run", "--full-refresh"])
        before = snapshots(project, "m")
        bad = ["run", *flags, "--vars", "{id: 'cast(null as int)'}"]
        (_, log) = run_dbt_and_capture(bad, expect_pass=False)
        assert "NULL in column id, which the model's contract declares not_null" in log
        assert snapshots(project, "m") == before
        assert [column[:2] for column in columns(project, "m")] == [("id", "int"), ("name", "string")]

    def test_the_table_itself_rejects_null(self, project):
        run_dbt(["run", "--full-refresh"])
        assert nullable(project, "m") == {"id": False, "name": True}
        for statement in ("insert into {} values (null, 'b')", "update {} set id = null"):
            with pytest.raises(DbtDatabaseError):
                project.run_sql(statement.format(f"{project.test_schema}.m"))
        run_dbt(["run"])  # this run is an INSERT and does not alter the table
        assert nullable(project, "m") == {"id": False, "name": True}
        assert project.run_sql(f"select * from {project.test_schema}.m", fetch="all") == [(1, "a")] * 2

    def test_a_wrong_type_is_reported(self, project):
        (_, log) = run_dbt_and_capture(["run", "--vars", "{id: \"'x'\"}"], expect_pass=False)
        assert "This model has an enforced contract that failed" in log


class TestConstraintsOfTables:
    """NOT NULL for quoted names and for a model's own constraint. Constraints that Iceberg lacks are logged once."""

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        sql = "select 1 as `Odd name`, 2 as b, cast(null as int) as c"
        column = {"data_type": "int"}
        return {
            "m.sql": configured(sql, materialized="table"),
            "schema.yml": {
                "models": [
                    {
                        "name": "m",
                        "config": {"contract": {"enforced": True}},
                        "constraints": [
                            {"type": "not_null", "columns": ["b"]},
                            {"type": "primary_key", "columns": ["b"]},
                        ],
                        "columns": [
                            {"name": "Odd name", "quote": True, "constraints": [{"type": "not_null"}], **column},
                            {"name": "b", "constraints": [{"type": "check", "expression": "b > 0"}], **column},
                            {"name": "c", **column},
                        ],
                    }
                ]
            },
        }

    def test_not_null_is_in_the_table_and_other_constraints_are_logged_once(self, project):
        for _ in range(2):
            (_, log) = run_dbt_and_capture(["run"])
            assert nullable(project, "m") == {"Odd name": False, "b": False, "c": True}
            for kind in ("check", "primary_key"):
                assert " ".join(log.split()).count(f"The constraint type {kind} is not supported by spark_iceberg") == 1
            assert "not_null is not" not in log


class TestIncremental:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        def model(**config: Any) -> str:
            sql = "select {{ var('columns', 'id, name') }} from (select 1 as id, 'a' as name, 2L as extra)"
            return configured(sql, materialized="incremental", **config)

        new = {"on_schema_change": "append_new_columns"}
        return {
            "append.sql": model(**new),
            "merge.sql": model(incremental_strategy="merge", unique_key="id", on_schema_change="sync_all_columns"),
            "replace.sql": model(incremental_strategy="delete+insert", unique_key=["id"], **new),
            "overwrite.sql": model(incremental_strategy="insert_overwrite", partition_by="id", **new),
        }

    @FILLS_IN_COLUMNS
    def test_strategies_with_added_and_removed_columns(self, project):
        run_dbt(["run"])
        run_dbt(["run", "--vars", "{columns: 'id, extra'}"])

        def rows(table: str) -> list[tuple[Any, ...]]:
            return project.run_sql(f"select * from {project.test_schema}.{table} order by 2", fetch="all")

        assert rows("append") == [(1, None, 2), (1, "a", None)]
        assert [column[:2] for column in columns(project, "merge")] == [("id", "int"), ("extra", "bigint")]
        assert rows("merge") == [(1, 2)]
        assert rows("replace") == [(1, None, 2)]
        assert rows("overwrite") == [(1, None, 2)]


class TestRowsOfOneKey:
    """How dbt's own incremental models handle several new rows with the same key."""

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        log = (
            "select * from {{ var('log') }} "
            "{% if is_incremental() %} where at > (select max(at) from {{ this }}) {% endif %}"
        )
        strategies = {"merged": "merge", "replaced": "delete+insert"}
        return {
            f"{name}.sql": configured(log, materialized="incremental", incremental_strategy=strategy, unique_key="ID")
            for name, strategy in strategies.items()
        }

    def test_a_merge_refuses_them_and_delete_insert_inserts_them_all(self, project):
        def run(*rows: str, **options: Any) -> Any:
            log = f"(values {', '.join(rows)} as t(id, at))"
            return run_dbt(["run", "--vars", json.dumps({"log": log})], **options)

        def rows(table: str) -> list[tuple[Any, ...]]:
            return project.run_sql(f"select id, at from {project.test_schema}.{table} order by 1, 2", fetch="all")

        first = ["(1, 9)", "(1, 10)", "(2, 5)"]
        run(*first)
        # this run replaces the row with max(at), on which the model's SQL depends
        run(*first, "(1, 11)", "(1, 12)", expect_pass=False)
        assert rows("replaced") == [(1, 11), (1, 12), (2, 5)]
        assert rows("merged") == [(1, 9), (1, 10), (2, 5)]
        results = run(*first, "(3, 13)", "(3, 14)", expect_pass=False)
        (message,) = [result.message for result in results if result.status == "error"]
        assert '{"id":3} (2 times)' in message and "merged" in message


class TestSnapshots:
    """Two keys, and a record for each deleted row."""

    @pytest.fixture(scope="class")
    @classmethod
    def snapshots(cls):
        return {
            "s.sql": """
                {% snapshot s %}{{ config(
                    strategy='check', unique_key=['a', 'b'], check_cols=['x'], hard_deletes='new_record'
                ) }}
                select * from values (1, 'k', 10), (2, 'k', 20) as t(a, b, x) where {{ var('where', 'true') }}
                {% endsnapshot %}
            """
        }

    def test_changes_and_deletes_are_recorded(self, project):
        run_dbt(["snapshot"])
        run_dbt(["snapshot", "--vars", "{where: 'a = 1'}"])
        run_dbt(["snapshot", "--vars", "{where: 'a = 1'}"])
        run_dbt(["snapshot"])
        sql = f"""
            select a, b, x, dbt_is_deleted, dbt_valid_to is null
            from {project.test_schema}.s order by a, dbt_valid_from, dbt_valid_to
        """
        assert project.run_sql(sql, fetch="all") == [
            (1, "k", 10, "False", True),
            (2, "k", 20, "False", False),
            (2, "k", 20, "True", False),
            (2, "k", 20, "False", True),
        ]


class TestClone:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        return {"t.sql": configured(ONE, materialized="table", clone_as="view")}

    def test_a_clone_may_be_a_view_or_a_copy(self, project, dbt_profile_data):
        run_dbt(["run"])
        (Path("target") / "manifest.json").rename(Path(project.project_root) / "manifest.json")
        other = f"{project.test_schema}_clone"
        run = ["clone", "--state", str(project.project_root), "--vars", "{x: 1}"]
        write_file(
            "{% macro generate_schema_name(name, node) %}" + other + "{% endmacro %}",
            project.project_root,
            "macros",
            "schema.sql",
        )
        run_dbt(run)
        assert project.run_sql(f"select * from {other}.t", fetch="all") == [(1, "a")]
        assert project.run_sql(f"show views in {other}", fetch="all")[0][1] == "t"
        write_file(configured(ONE, materialized="table", clone_as="table"), project.project_root, "models", "t.sql")
        run_dbt([*run, "--full-refresh"])
        assert project.run_sql(f"select * from {other}.t", fetch="all") == [(1, "a")]
        assert project.run_sql(f"show views in {other}", fetch="all") == []
        with get_connection(project.adapter):
            project.adapter.drop_schema(project.adapter.Relation.create(database="lakehouse", schema=other))

    def test_a_table_is_not_cloned_onto_itself(self, project):
        Path(project.project_root, "macros", "schema.sql").unlink(missing_ok=True)
        run_dbt(["run"])
        before = snapshots(project, "t")
        (Path("target") / "manifest.json").rename(Path(project.project_root) / "manifest.json")
        for clone_as in ("clone", "view", "table"):
            write_file(
                configured(ONE, materialized="table", clone_as=clone_as), project.project_root, "models", "t.sql"
            )
            run_dbt(["clone", "--state", str(project.project_root), "--full-refresh"])
            assert project.run_sql(f"select * from {project.test_schema}.t", fetch="all") == [(1, "a")]
            assert len(snapshots(project, "t")) == len(before)


class TestSeeds:
    @pytest.fixture(scope="class")
    @classmethod
    def seeds(cls):
        big = "\n".join(f"{n},name {n},{n}.5,2020-01-01" for n in range(10_000))
        return {
            "big.csv": f"id,name,amount,day\n{big}\n",
            "text.csv": "id,zip,Text,flag\n1,00501,,true\n2,,it's ${spark.app.name} \\n,\n",
            "numbers.csv": "id,n\n1,602214076000000000000000\n2,1.602176634E-19\n3,6.62607015E-34\n4,-0.5\n5,\n",
            "wrong.csv": "id,n\n1,5\n2,x\n",
            "greater.csv": "n\n3000000000\n",
            "seeds.yml": {
                "seeds": [
                    {"name": "text", "config": {"column_types": {"zip": "string"}}},
                    {"name": "wrong", "config": {"column_types": {"n": "int"}}},
                    {"name": "greater", "config": {"column_types": {"n": "int"}}},
                ]
            },
        }

    @pytest.mark.parametrize(("seed", "found"), [("wrong", "x"), ("greater", "3000000000")])
    def test_a_value_that_its_column_cannot_hold_is_refused(self, project, seed, found):
        (result,) = run_dbt(["seed", "--select", seed], expect_pass=False)
        assert "Expected: int, in the column n." in result.message and f"Found: '{found}'." in result.message
        assert project.run_sql(f"show tables in {project.test_schema} like '{seed}'", fetch="all") == []

    def test_empty_is_null_and_ten_thousand_rows_are_quick(self, project):
        run_dbt(["seed", "--select", "text"])
        started = time.monotonic()
        run_dbt(["seed", "--select", "big"])
        # dbt-spark takes minutes; on an idle machine this takes about 3 seconds
        assert time.monotonic() - started < 60
        schema = project.test_schema
        assert project.run_sql(f"select * from {schema}.text order by id", fetch="all") == [
            (1, "00501", None, True),
            (2, None, "it's ${spark.app.name} \\n", None),
        ]
        assert project.run_sql(f"select count(*), sum(amount) from {schema}.big", fetch="one") == (10000, 50000000.0)
        assert [column[1] for column in columns(project, "big")] == ["bigint", "string", "double", "date"]
        # one commit replaces all rows
        run_dbt(["seed", "--select", "big"])
        assert len(snapshots(project, "big")) == 2

    def test_numbers_of_very_different_size_in_one_column(self, project):
        run_dbt(["seed", "--select", "numbers"])
        found = project.run_sql(f"select n from {project.test_schema}.numbers order by id", fetch="all")
        assert [n for (n,) in found] == [6.02214076e23, 1.602176634e-19, 6.62607015e-34, -0.5, None]


class TestSchemas:
    def test_a_schema_that_holds_tables_and_views_is_dropped(self, project):
        with get_connection(project.adapter):
            relation = project.adapter.Relation.create(database="lakehouse", schema=f"{project.test_schema}_full")
            project.adapter.create_schema(relation)
            project.adapter.execute(f"create table {relation}.t using iceberg as select 1 as id")
            project.adapter.execute(f"create view {relation}.v as select 1 as id")
            assert project.adapter.check_schema_exists("lakehouse", relation.schema)
            project.adapter.drop_schema(relation)
            assert not project.adapter.check_schema_exists("lakehouse", relation.schema)

    @pytest.mark.parametrize("kind", ["table", "view"])
    def test_relations_are_renamed(self, project, kind):
        with get_connection(project.adapter):
            adapter = project.adapter
            old, new = (
                adapter.Relation.create("lakehouse", project.test_schema, f"{name} {kind}", kind)
                for name in ("old", "new")
            )
            adapter.execute(
                f"create {kind} {old} as select 1 as id"
                if kind == "view"
                else f"create table {old} (id int) using iceberg"
            )
            adapter.rename_relation(old, new)
            assert adapter.get_columns_in_relation(old) == []
            assert [c.dtype for c in adapter.get_columns_in_relation(new)] == ["int"]


class TestParsing:
    """dbt renders the macros of a project once before it has a connection."""

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        calls = (
            "drop_schema(this)",
            "persist_docs(this, model)",
            "alter_column_comment(this, {'id': {'description': 'the key'}})",
            "apply_grants(this, {'select': ['reporter']}, false)",
            "partition_cols('partitioned by')",
            "location_clause()",
            "tblproperties_clause()",
            "can_clone_table()",
            "create_table_as(false, this, 'select 1')",
        )
        return {"m.sql": ONE + "".join(f" -- {{{{ {call} }}}}\n" for call in calls)}

    def test_nothing_is_asked_of_spark(self, project):
        run_dbt(["parse", "--no-partial-parse"])


class TestGrants:
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        return {"m.sql": configured(ONE, materialized="table", grants={"select": ["reporter"]})}

    def test_a_spark_without_grants_is_a_clear_error(self, project):
        _, log = run_dbt_and_capture(["run"], expect_pass=False)
        assert "its `grants` were not applied" in log
        assert "Spark cannot parse SHOW GRANTS" in log
