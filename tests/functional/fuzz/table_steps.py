"""The steps of a source that change no rows, that alter the table, and that break its history."""

from __future__ import annotations

from collections import Counter

from .sources import Effect, Numbers, Source, StepFunction
from .tables import Table

# Commits without rows


def compact(source: Source, numbers: Numbers) -> Effect | None:
    if source.has_a_file_twice:  # Iceberg's compaction refuses such a table
        return None
    return Effect(compact_sql(source), source.rows)


def compact_some(source: Source, numbers: Numbers) -> Effect | None:
    """Rewrite the files that have deletes. Delete files may remain that no longer delete anything."""
    if source.has_a_file_twice:
        return None
    options = "options => map('delete-file-threshold', '1')"
    return Effect(f"call {source.catalog}.system.rewrite_data_files(table => '{source.name}', {options})", source.rows)


def rewrite_deletes(source: Source, numbers: Numbers) -> Effect:
    """Rewrite the files of position deletes, without deletes that no longer apply."""
    options = "options => map('rewrite-all', 'true')"
    procedure = f"{source.catalog}.system.rewrite_position_delete_files"
    return Effect(f"call {procedure}(table => '{source.name}', {options})", source.rows)


def rewrite_manifests(source: Source, numbers: Numbers) -> Effect:
    return Effect(f"call {source.catalog}.system.rewrite_manifests('{source.name}')", source.rows)


# Schema and settings


def _altered(source: Source, change: str) -> Effect:
    source.is_altered = True
    return Effect(f"alter table {source.name} {change}", source.rows)


def add_column(source: Source, numbers: Numbers) -> Effect | None:
    if source.has_added:
        return None
    source.has_added = True
    return _altered(source, "add column w string")


def rename_column(source: Source, numbers: Numbers) -> Effect:
    old, source.unread = source.unread, f"u{numbers[0] % 1000}"
    return _altered(source, f"rename column {old} to {source.unread}")


def widen_column(source: Source, numbers: Numbers) -> Effect:
    source.is_wide = source.was_widened = True
    return _altered(source, "alter column v type bigint")


def upgrade(source: Source, numbers: Numbers) -> Effect:
    source.version = 3
    return Effect(f"alter table {source.name} set tblproperties ('format-version'='3')", source.rows)


def change_modes(source: Source, numbers: Numbers) -> Effect:
    source.mode = ("copy-on-write", "merge-on-read")[numbers[0] % 2]
    modes = ", ".join(f"'write.{each}.mode'='{source.mode}'" for each in ("delete", "update", "merge"))
    return Effect(f"alter table {source.name} set tblproperties ({modes})", source.rows)


# Breaks of the history


def expire(source: Source, numbers: Numbers) -> Effect:
    return Effect(expire_sql(source, 1 + numbers[0] % 4), source.rows)


def rollback(source: Source, numbers: Numbers) -> Effect | None:
    older = source.ancestors(source.head)[1:5]
    return _set_to(source, "rollback_to_snapshot", older[numbers[0] % len(older)]) if older else None


def restore(source: Source, numbers: Numbers) -> Effect | None:
    """Set the table to any existing snapshot, on any branch of its history."""
    others = [each for each in source.seen.parents if each != source.head]
    if source.is_altered:  # a replaced table has different columns, even if their names are the same
        others = [each for each in others if source.generation[each] == source.generations]
    others.sort(key=lambda each: source.order[each])
    return _set_to(source, "set_current_snapshot", others[numbers[0] % len(others)]) if others else None


def replace_empty(source: Source, numbers: Numbers) -> Effect:
    _begin_anew(source)
    return Effect(source.create("create or replace table"), Counter())


def replace_by_rows(source: Source, numbers: Numbers) -> Effect:
    _begin_anew(source)
    rows = source.fresh(numbers[:2])
    query = f" as {source.selected(rows)}"
    return Effect(source.create("create or replace table", query), Counter(rows))


def _begin_anew(source: Source) -> None:
    source.generations += 1
    source.begin_anew()


def _set_to(source: Source, procedure: str, snapshot: int) -> Effect:
    return Effect(f"call {source.catalog}.system.{procedure}('{source.name}', {snapshot})", back_to=snapshot)


def expire_sql(table: Table, keep: int) -> str:
    """Expire all snapshots of a table except the last ones."""
    return (
        f"call {table.catalog}.system.expire_snapshots(table => '{table.name}', "
        f"older_than => timestamp'2100-01-01', retain_last => {keep})"
    )


def compact_sql(table: Table) -> str:
    """Rewrite all files of a table."""
    options = "options => map('rewrite-all', 'true')"
    return f"call {table.catalog}.system.rewrite_data_files(table => '{table.name}', {options})"


STEPS: dict[str, StepFunction] = {
    each.__name__: each
    for each in (
        compact,
        compact_some,
        rewrite_deletes,
        rewrite_manifests,
        add_column,
        rename_column,
        widen_column,
        upgrade,
        change_modes,
        expire,
        rollback,
        restore,
        replace_empty,
        replace_by_rows,
    )
}
