"""Messages for users: the numbers in them, and the commands in errors."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
import yaml

from dbt.adapters.spark_iceberg.operations import operation_errors
from iceberg_incremental.explain import source_errors, wording
from iceberg_incremental.plan.breaks import Break, Reason
from iceberg_incremental.plan.changes import plan_changes, plan_whole
from iceberg_incremental.plan.policy import Cause
from iceberg_incremental.table.history import TableName
from iceberg_incremental.write.columns.unique_keys import raise_sql
from tests.unit.incremental import histories as h


def test_the_captured_line():
    source = h.history(*h.chain(4))
    new = plan_changes(source, h.at(1), source.current)
    old = plan_changes(source, h.at(4), source.current)
    assert wording.captured([new, old], {}) == (
        "captured lake.ops.flights: 3 snapshots, 6 files, 30 rows, 2.9 KiB (append) 1…→4…; "
        "captured lake.ops.flights: nothing new"
    )
    assert wording.captured([replace(old, waiting=2)], {}) == (
        "captured lake.ops.flights: nothing new, and 2 snapshots left for later runs by the model's limits"
    )
    readings = {new.table: "from the changed files"}
    assert "(append, read from the changed files) 1…→4…" in wording.captured([new], readings)
    empty = plan_whole(h.history(), None)
    assert wording.captured([empty], {}) == "captured lake.ops.flights: nothing: the table has no snapshot yet"


@pytest.mark.parametrize("name", ["flights", "it's", "a b", "x: {y}", "back`tick", "täble"])
def test_the_command_survives_shell_and_yaml(name):
    """A command from an error can be pasted unchanged, regardless of the table's name."""
    source = TableName("lake", "ops", name)
    shell = wording.set_checkpoint_command("daily", source, 42)[1:-1]
    arguments = yaml.safe_load(shlex.split(shell)[-1])
    assert arguments == {"model": "daily", "source": str(source), "snapshot_id": 42}


@pytest.mark.parametrize("cause", list(Cause))
def test_a_break_names_both_ends_and_the_fixes(cause):
    source = h.history(*h.chain(3))
    broken = Break(cause, source, h.at(9), source.current, Reason.UNKNOWN, oldest=source.snapshots[1])
    text = str(source_errors.history_break(broken, source.table, "model.shop.daily", may_rebuild=True))
    assert "snapshot 9 (2026-01-01 00:00:09 UTC, sequence number 9)" in text
    assert "snapshot 3 (2026-01-01 00:00:03 UTC, sequence number 3)" in text
    assert "although the history goes back to its time; the oldest known snapshot is snapshot 1" in text
    assert "`dbt run --full-refresh --select daily`" in text
    assert f"on_history_break: {{{cause.value}: full_refresh}}" in text
    held = str(source_errors.history_break(broken, source.table, "model.shop.daily", may_rebuild=False))
    assert "on_history_break" not in held and "first remove full_refresh: false" in held


def test_the_fix_for_a_missing_table_is_to_build_it_first():
    text = str(source_errors.source_missing(TableName("lake", "ops", "carriers"), "model.shop.daily"))
    assert (
        "  To fix: if dbt builds it, run `dbt build --select +daily`. If it is declared as a dbt source, create" in text
    )


@pytest.mark.parametrize(
    ("length", "said"), [(1, "Expected: snapshot 1 ("), (3, "Expected: one of the 3 snapshots from ")]
)
def test_the_error_lists_the_valid_positions(length, said):
    source = h.history(*h.chain(length))
    chain = list(reversed(h.chain(length)))
    assert said in str(operation_errors.not_a_position(42, source, chain, is_part=False))


def test_duplicate_keys_are_named_with_their_counts():
    two = [('{"id":1}', 3, 2), ('{"id":2}', 2, 2)]
    assert wording.duplicates(two) == '{"id":1} (3 times), {"id":2} (2 times)'
    assert wording.duplicates([('{"id":1}', 3, 1200)]) == '{"id":1} (3 times), and others: 1,200 keys in all'


def test_the_error_of_a_duplicate_key_is_also_a_sql_expression():
    sql = raise_sql("model.shop.it's", ["a", "b"], "n")
    assert sql.startswith(
        "raise_error(concat('More than one new row of model.shop.it\\'s has the same unique_key (a, b)."
    )
    assert "Found: ', left(to_json(struct(`a`, `b`)" in sql and "' (', n, ' times)', '.\\n  To fix" in sql
