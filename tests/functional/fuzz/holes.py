"""Bugs that this package once had, to be planted again. Each was silent, or its error stated no fix.

Paths are text, since the patched names are not public. One bug is left out: more than a million new keys were not
checked for duplicates. ``keys_are_checked_in_a_join_only`` is the same bug for any number of keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

Wrap = Callable[[Any], Any]


def _patch(monkeypatch: pytest.MonkeyPatch, path: str, wrap: Wrap) -> None:
    """Replace an object in a module of the package with the result of ``wrap``."""
    module_name, _, name = path.partition(":")
    holder: Any = import_module(module_name)
    *parts, last = name.split(".")
    for part in parts:
        holder = getattr(holder, part)
    monkeypatch.setattr(holder, last, wrap(getattr(holder, last)))


def _instead(value: Any) -> Wrap:
    """Return a function that returns this value for all arguments."""
    return lambda _: lambda *args, **kwargs: value


def rows_that_a_filter_removes_stay(monkeypatch):
    """The old version of an updated row does not delete the row."""

    def careless(changelog_sql):
        return lambda *args: f"(select * from {changelog_sql(*args)} where _change_type <> 'UPDATE_BEFORE')"

    _patch(monkeypatch, "iceberg_incremental.expose.net:changelog_sql", careless)


def keys_may_come_twice(monkeypatch):
    """Only Spark's own check of a MERGE is left."""
    _patch(monkeypatch, "dbt.adapters.spark_iceberg.hooks.model:ModelHooks.is_keyed", _instead(False))
    for module in ("columns.unique_keys", "strategies.apply_changes"):
        _patch(monkeypatch, f"iceberg_incremental.write.{module}:raise_sql", _instead("true"))
    _patch(monkeypatch, "iceberg_incremental.write.writer:Writer._require_sound", _instead(None))


def keys_are_checked_in_a_join_only(monkeypatch):
    """Keys are not checked before the insertion of rows that replace others."""
    _patch(monkeypatch, "iceberg_incremental.write.writer:Writer._require_sound", _instead(None))


def files_of_older_partitions_stay(monkeypatch):
    """An INSERT OVERWRITE leaves rows of another partition spec."""
    _patch(monkeypatch, "iceberg_incremental.table.layout:has_older_specs", _instead(False))
    _patch(monkeypatch, "iceberg_incremental.publish.fence:Fence.require_one_spec", _instead(None))


def bounds_of_strings_are_trusted(monkeypatch):
    """Even if Iceberg could not decode their bytes."""
    for path in (
        "iceberg_incremental.table.intervals:safe_lower",
        "iceberg_incremental.table.intervals:safe_upper",
        "iceberg_incremental.expose.value_range:safe_lower",
        "iceberg_incremental.expose.value_range:safe_upper",
    ):
        _patch(monkeypatch, path, lambda _: lambda text: text)


def rows_are_staged_on_main(monkeypatch):
    """As if another user had turned staging off."""
    _patch(
        monkeypatch,
        "dbt.adapters.spark_iceberg.hooks.model:ModelHooks.staged",
        lambda _: lambda self, node, target: target,
    )


def partitions_of_nan_are_unequal(monkeypatch):
    """Deletes in such partitions apply to no file."""
    _patch(monkeypatch, "iceberg_incremental.metadata.manifest_files:_equal_to_itself", lambda _: lambda value: value)


def nan_is_left_out_of_ranges(monkeypatch):
    """The bounds of a column of doubles ignore NaN."""

    def careless(from_row):
        return lambda column, kind, row: from_row(column, kind, [each if each != "NaN" else "1" for each in row])

    _patch(monkeypatch, "iceberg_incremental.expose.value_range:from_row", careless)


def times_of_ranges_have_no_offset(monkeypatch):
    """The bounds of a column of times depend on the time zone."""

    def careless(literal):
        return lambda value, type_: literal(value, type_).replace("+00:00", "")

    _patch(monkeypatch, "iceberg_incremental.expose.value_range:typed_literal", careless)


def a_file_is_in_a_table_once(monkeypatch):
    """A file that the table has twice counts once."""

    def careless(difference):
        return lambda **files: difference(**{**files, "has_repeated": False})

    _patch(monkeypatch, "iceberg_incremental.metadata.manifests:FileDifference", careless)


def columns_are_the_same_in_any_case(monkeypatch):
    """The bounds of one column restrict the groups of another column."""
    bounds_sql = import_module("iceberg_incremental.expose.bounds").bounds_sql

    def bounds_of(files, columns):
        if files.files is None:
            return None
        wanted = {column.lower() for column in columns}
        end = tuple(column for column in files.end if column.name.lower() in wanted)
        return bounds_sql(replace(files, end=end), files.files.all)

    _patch(monkeypatch, "iceberg_incremental.explain.column_errors:differing_only_in_case", _instead([]))
    for path in (
        "iceberg_incremental.expose.groups:bounds_of",
        "iceberg_incremental.write.strategies.replacement:bounds_of",
    ):
        _patch(monkeypatch, path, lambda _: bounds_of)


def settings_are_not_checked(monkeypatch):
    """Session settings that the package does not support are not refused."""
    _patch(monkeypatch, "iceberg_incremental.plan.session_settings:refused_in", _instead([]))


def reads_of_later_runs_are_not_detected(monkeypatch):
    """Reads in the incremental branch of a model are not detected."""
    reads = import_module("iceberg_incremental.plan.conditional_reads").ConditionalReads()
    _patch(monkeypatch, "dbt.adapters.spark_iceberg.hooks.invocation:reads_of", _instead(reads))


def missing_columns_become_null(monkeypatch):
    """Columns of the table that the model's SQL no longer returns become NULL."""
    none = import_module("iceberg_incremental.write.columns.table_columns").SchemaChanges()

    def careless(schema_changes):
        return lambda policy, *args: none if policy == "ignore" else schema_changes(policy, *args)

    _patch(monkeypatch, "dbt.adapters.spark_iceberg.hooks.write:schema_changes", careless)


def deleted_rows_count(monkeypatch):
    """Row counts include deleted rows."""

    def careless(rows_at):
        def counted(history, snapshot):
            found = rows_at(history, snapshot)
            return replace(found, rows=int(snapshot.summary["total-records"]), at_most=False)

        return counted

    _patch(monkeypatch, "iceberg_incremental.plan.changes:rows_at", careless)


def a_changed_key_keeps_its_old_row(monkeypatch):
    """The DELETE omits one of the keys that a changelog changes."""

    def careless(keys_sql):
        return lambda *args: f"(select * from {keys_sql(*args)} order by 1 offset 1)"

    _patch(monkeypatch, "iceberg_incremental.write.strategies.changelog:_keys_sql", careless)


def no_row_of_a_changelog_is_kept(monkeypatch):
    """A row that was just inserted is deleted together with the row that it replaces."""

    def careless(summary_of):
        return lambda *args: replace(summary_of(*args), kept=0)

    _patch(monkeypatch, "iceberg_incremental.write.order.held_changes:summary_of", careless)
