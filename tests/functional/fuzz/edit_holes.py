"""Bugs that random edits of models must find. Each is planted in this process, in which dbt also runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.hooks import write
from dbt.adapters.spark_iceberg.hooks.model import ModelHooks
from dbt.adapters.spark_iceberg.project.model_logic import ModelLogic
from iceberg_incremental.capture import open as opening
from iceberg_incremental.capture import run_plan as running
from iceberg_incremental.capture.run_plan import Action, RunPlan
from iceberg_incremental.expose import relations
from iceberg_incremental.table.checkpoint import RecordedLogic
from iceberg_incremental.write.columns import table_columns
from iceberg_incremental.write.columns.table_columns import SchemaChanges


def _fingerprint_of(monkeypatch: pytest.MonkeyPatch, part: Callable[[ModelLogic], ModelLogic]) -> None:
    """Compute the fingerprint from a part of the logic only."""
    whole: Any = vars(ModelLogic)["fingerprint"]
    monkeypatch.setattr(ModelLogic, "fingerprint", property(lambda logic: whole.fget(part(logic))))


def macros_do_not_count(monkeypatch):
    def without(logic):
        return replace(logic, code={name: text for name, text in logic.code.items() if not name.startswith("macro ")})

    _fingerprint_of(monkeypatch, without)


def ephemeral_models_do_not_count(monkeypatch):
    def without(logic):
        return replace(logic, code={name: text for name, text in logic.code.items() if not name.startswith("model.")})

    _fingerprint_of(monkeypatch, without)


def variables_do_not_count(monkeypatch):
    _fingerprint_of(monkeypatch, lambda logic: replace(logic, values={}))


def configs_do_not_count(monkeypatch):
    _fingerprint_of(monkeypatch, lambda logic: replace(logic, config={}))


def layout_counts(monkeypatch):
    monkeypatch.setattr(ModelLogic, "normal", lambda logic, part: logic.code.get(part))


def a_logic_is_recorded_without_rows(monkeypatch):
    monkeypatch.setattr(
        RunPlan, "_next_logic", lambda plan, types: running.recorded_logic(plan.logic, plan.logic_change, types)
    )


def the_earlier_logic_is_forgotten(monkeypatch):
    """A table with rows of two logics counts as a table of the later logic."""
    monkeypatch.setattr(
        running, "recorded_logic", lambda logic, change, types: RecordedLogic(logic.fingerprint, None, types)
    )


def edited_sql_is_not_analysed(monkeypatch):
    """This concerns runs without new rows."""
    begin = ModelHooks.begin

    def careless(hooks, node):
        action = begin(hooks, node)
        return Action.NOTHING.value if action == Action.CHECK_ONLY.value else action

    monkeypatch.setattr(ModelHooks, "begin", careless)


def types_are_not_compared(monkeypatch):
    monkeypatch.setattr(table_columns, "compares_alike", lambda *types: True)


def keys_are_not_compared(monkeypatch):
    """This concerns models with ``sequence_by``."""
    require = opening.require_same_order

    def careless(run, checkpoint):
        order = checkpoint.sequence
        require(run, replace(checkpoint, sequence=None if order is None else replace(order, key=())))

    monkeypatch.setattr(opening, "require_same_order", careless)


def a_table_need_not_be_in_order(monkeypatch):
    monkeypatch.setattr(opening, "require_same_order", lambda run, checkpoint: None)


def columns_that_the_sql_leaves_out_are_null(monkeypatch):
    """This happens under any value of ``on_schema_change``. New columns are not added."""

    def careless(on_schema_change, given, target, *args):
        return SchemaChanges(passed_over=["new ones"])

    monkeypatch.setattr(write, "schema_changes", careless)


def a_range_has_a_with_outside_of_parentheses(monkeypatch):
    appended = relations._appended_sql

    def careless(planned, exact):
        sql = appended(planned, exact)
        return sql.removeprefix("(").removesuffix(")") if sql.startswith("(`") else sql

    monkeypatch.setattr(relations, "_appended_sql", careless)
