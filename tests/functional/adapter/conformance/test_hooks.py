"""Hooks. The values that they record are queried with Spark's SQL, and compared with this adapter's profile."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.hooks.test_model_hooks import (
    MODEL_POST_HOOK,
    MODEL_PRE_HOOK,
    BaseDuplicateHooksInConfigs,
    BaseHookRefs,
    BaseHooksRefsOnSeeds,
    BasePrePostModelHooks,
    BasePrePostModelHooksInConfig,
    BasePrePostModelHooksInConfigKwargs,
    BasePrePostModelHooksInConfigWithCount,
    BasePrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    BasePrePostModelHooksOnSnapshots,
    BasePrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks, BasePrePostRunHooks

FIELDS = (
    *("test_state", "target_dbname", "target_host", "target_name", "target_schema", "target_type"),
    *("target_user", "target_pass", "target_threads", "run_started_at", "invocation_id", "thread_id"),
)
# dbt's tests add a column in the syntax of other databases
ADD_COLUMN = ["alter table {{ this }} add columns (new_col int)", "update {{ this }} set new_col = 1"]


def create_table(project: Any, name: str) -> None:
    columns = ", ".join(f"{field} {'int' if field == 'target_threads' else 'string'}" for field in FIELDS)
    project.run_sql(f"drop table if exists {project.test_schema}.{name}")
    project.run_sql(f"create table {project.test_schema}.{name} ({columns})")


def rows(project: Any, name: str, state: str) -> list[dict[str, Any]]:
    found = project.run_sql(
        f"select {', '.join(FIELDS)} from {project.test_schema}.{name} where test_state = '{state}'", fetch="all"
    )
    return [dict(zip(FIELDS, row, strict=True)) for row in found]


def check(row: dict[str, Any], project: Any) -> None:
    assert row["target_name"] == "default"
    assert row["target_schema"] == project.test_schema
    assert row["target_threads"] == 4
    assert row["target_type"] == "spark_iceberg"
    assert row["run_started_at"] and row["invocation_id"]


class ModelHooks:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def setUp(cls, project: Any) -> None:
        create_table(project, "on_model_hook")

    def check_hooks(self, state: str, project: Any, host: Any, count: int = 1) -> None:
        found = rows(project, "on_model_hook", state)
        assert len(found) == count
        for row in found:
            check(row, project)
            assert row["thread_id"].startswith("Thread-")


class TwoHooks:
    """dbt's own hooks run VACUUM, a statement of PostgreSQL, outside of a transaction."""

    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        outside = {"sql": "refresh table {{ this.schema }}.on_model_hook", "transaction": False}
        return {"models": {"test": {"pre-hook": [MODEL_PRE_HOOK, outside], "post-hook": [outside, MODEL_POST_HOOK]}}}


class TestPrePostModelHooks(ModelHooks, TwoHooks, BasePrePostModelHooks):
    pass


class TestHookRefs(ModelHooks, BaseHookRefs):
    pass


class TestPrePostModelHooksInConfig(ModelHooks, BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(ModelHooks, TwoHooks, BasePrePostModelHooksInConfigWithCount):
    pass


class TestPrePostModelHooksInConfigKwargs(ModelHooks, BasePrePostModelHooksInConfigKwargs):
    pass


class TestDuplicateHooksInConfigs(BaseDuplicateHooksInConfigs):
    pass


class TestHooksOnSeeds(BasePrePostModelHooksOnSeeds):
    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        macro = "select cast(null as {{ dbt.type_int() }}) as id"
        return {"models": {}, "seeds": {"post-hook": [*ADD_COLUMN, macro], "quote_columns": False}}


class TestHooksOnSeedsPlusPrefixed(BasePrePostModelHooksOnSeedsPlusPrefixed):
    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {"models": {}, "seeds": {"+post-hook": ADD_COLUMN, "quote_columns": False}}


class TestHooksOnSeedsPlusPrefixedWhitespace(BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace):
    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {"models": {}, "seeds": {"+post-hook": ADD_COLUMN, "quote_columns": False}}


class TestHooksRefsOnSeeds(BaseHooksRefsOnSeeds):
    pass


class TestHooksOnSnapshots(BasePrePostModelHooksOnSnapshots):
    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {"snapshot-paths": ["test-snapshots"], "models": {}, "snapshots": {"post-hook": ADD_COLUMN}}


class TestSnapshotHooksInConfigKwargs(BasePrePostSnapshotHooksInConfigKwargs):
    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return {"snapshot-paths": ["test-kwargs-snapshots"], "models": {}, "snapshots": {"post-hook": ADD_COLUMN}}


class TestPrePostRunHooks(BasePrePostRunHooks):
    @pytest.fixture
    def setUp(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        create_table(project, "on_run_hook")
        for name in ("schemas", "db_schemas"):
            project.run_sql(f"drop table if exists {project.test_schema}.{name}")
        monkeypatch.setenv("TERM_TEST", "TESTING")

    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        schemas, pairs = "{{ target.schema }}.schemas", "{{ target.schema }}.db_schemas"
        each = "{% for {} %}({}){% if not loop.last %},{% endif %}{% endfor %}"
        first, second = (
            each.replace("{}", names, 1).replace("{}", values, 1)
            for names, values in (
                ("schema in schemas", "'{{ schema }}'"),
                ("db, schema in database_schemas", "'{{ db }}', '{{ schema }}'"),
            )
        )

        def of(state: str) -> list[str]:
            table = f"{{{{ target.schema }}}}.{state}_hook_order_test"
            hook = f"{{{{ custom_run_hook('{state}', target, run_started_at, invocation_id) }}}}"
            return [hook, f"create table {table} (id int)", f"drop table {table}"]

        return {
            "on-run-start": [*of("start"), "{{ log(env_var('TERM_TEST'), info=True) }}"],
            "on-run-end": [
                *of("end"),
                f"create table {schemas} (schema string)",
                f"insert into {schemas} (schema) values {first}",
                f"create table {pairs} (db string, schema string)",
                f"insert into {pairs} (db, schema) values {second}",
            ],
            "seeds": {"quote_columns": False},
        }

    def check_hooks(self, state: str, project: Any, host: Any) -> None:
        (row,) = rows(project, "on_run_hook", state)
        check(row, project)
        assert row["thread_id"].startswith("Thread-") or row["thread_id"] == "MainThread"


class TestAfterRunHooks(BaseAfterRunHooks):
    pass
