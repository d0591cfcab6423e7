"""Bugs in incremental snapshots, planted deliberately."""

from __future__ import annotations

import dataclasses

from iceberg_incremental.capture import dbt_snapshot as opened
from iceberg_incremental.write.versions import dbt_snapshot as sql
from iceberg_incremental.write.versions.snapshot_writer import SnapshotWriter


def removed_rows_are_ignored(monkeypatch):
    """Deletions, and rows that no longer pass the filter, are ignored."""
    keys_sql = sql.keys_sql
    monkeypatch.setattr(sql, "keys_sql", lambda key, new, old: keys_sql(key, new, f"select * from ({old}) limit 0"))


def versions_are_not_looked_up(monkeypatch):
    """A row that returns with the time of an earlier version adds that version again."""
    new_sql = sql.new_sql
    monkeypatch.setattr(sql, "new_sql", lambda *args: new_sql(*args[:3], None))


def versions_of_new_keys_are_not_looked_up(monkeypatch):
    """Versions with the ids of new keys are searched at other times."""
    places_sql, time = sql.places_sql, "ip_staged.`dbt_updated_at`"
    is_new = f"coalesce({sql._KEYS}.{sql._REMOVED} = 0, false)"
    later = f"if({is_new}, timestampadd(day, 99, {time}), {time}) as `dbt_updated_at`"
    monkeypatch.setattr(sql, "places_sql", lambda *args: places_sql(*args).replace(time, later, 1))


def other_writers_are_not_noticed(monkeypatch):
    """Rows that another writer has deleted or changed in the table are not restored."""
    monkeypatch.setattr(opened, "same_rows", lambda history, start, end: True)


def altered_columns_are_not_noticed(monkeypatch):
    """A column of the table was dropped and added again."""
    monkeypatch.setattr(opened, "_has_same_columns", lambda reader, history, base: True)


def edits_are_not_noticed(monkeypatch):
    """Another query, or another treatment of deleted rows, affects changed keys only."""
    of_table = opened._of_table

    def unchanged(plan, checkpoint, history, reader, source):
        logic = checkpoint.logic
        return of_table(dataclasses.replace(plan, logic=logic), checkpoint, history, reader, source)

    monkeypatch.setattr(opened, "_of_table", unchanged)


def repeated_keys_are_not_noticed(monkeypatch):
    """A second row of a key was added next to an unchanged row."""
    monkeypatch.setattr(sql, "repeated_sql", lambda query, key, keys=None: "select 1, 0, 0")


def closed_versions_stay_open(monkeypatch):
    """Versions that have changed are not ended."""
    statements = SnapshotWriter._statements
    monkeypatch.setattr(
        SnapshotWriter,
        "_statements",
        lambda writer, new, found: statements(writer, new, dataclasses.replace(found, total=found.new)),
    )


SHOWN_BY = {
    removed_rows_are_ignored: ("delete", "put_aside"),
    versions_are_not_looked_up: ("bring_back",),
    versions_of_new_keys_are_not_looked_up: ("bring_back",),
    other_writers_are_not_noticed: ("target_delete", "target_update"),
    altered_columns_are_not_noticed: ("target_alter",),
    edits_are_not_noticed: ("edit",),
    repeated_keys_are_not_noticed: ("repeat",),
    closed_versions_stay_open: ("update",),
}
"""The bugs, each with the steps that can show it."""

OF_TIMES = {versions_are_not_looked_up, versions_of_new_keys_are_not_looked_up}
"""The bugs that affect only versions whose ids depend on a time of the source."""
