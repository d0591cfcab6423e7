"""Bugs of dbt's snapshots by what changed, planted on purpose."""

from __future__ import annotations

import dataclasses

from iceberg_incremental.capture import dbt_snapshot as opened
from iceberg_incremental.write import dbt_snapshot as sql


def rows_that_went_do_not_count(monkeypatch):
    """Deletions, and rows that leave the filter, are not seen."""
    keys_sql = sql.keys_sql
    monkeypatch.setattr(sql, "keys_sql", lambda key, came, gone: keys_sql(key, came, f"select * from ({gone}) limit 0"))


def versions_are_not_looked_up(monkeypatch):
    """A row that comes back with the time of an earlier version gets that version twice."""
    insert_sql = sql.insert_sql
    monkeypatch.setattr(sql, "insert_sql", lambda *args: insert_sql(*args[:4], None))


def other_writers_are_not_noticed(monkeypatch):
    """Rows that somebody has deleted from the table, or changed in it, do not come back."""
    monkeypatch.setattr(opened, "same_rows", lambda history, start, end: True)


def altered_columns_are_not_noticed(monkeypatch):
    """A column of the table was dropped and added again."""
    monkeypatch.setattr(opened, "_has_same_columns", lambda reader, history, base: True)


def edits_are_not_noticed(monkeypatch):
    """Another query, or another treatment of deleted rows, concerns changed keys only."""
    of_table = opened._of_table

    def unchanged(plan, checkpoint, history, reader, source):
        logic = checkpoint.logic
        return of_table(dataclasses.replace(plan, logic=logic), checkpoint, history, reader, source)

    monkeypatch.setattr(opened, "_of_table", unchanged)


def repeated_keys_are_not_noticed(monkeypatch):
    """A row of a key came beside one that stayed."""
    monkeypatch.setattr(sql, "repeated_sql", lambda query, key, keys=None: "select 1, 0")


def closed_versions_stay_open(monkeypatch):
    """Versions that have changed are not ended."""
    close_sql = sql.close_sql
    monkeypatch.setattr(sql, "close_sql", lambda *args: close_sql(*args).replace("('update', 'delete')", "('delete')"))


ALL = [
    rows_that_went_do_not_count,
    versions_are_not_looked_up,
    other_writers_are_not_noticed,
    altered_columns_are_not_noticed,
    edits_are_not_noticed,
    repeated_keys_are_not_noticed,
    closed_versions_stay_open,
]
