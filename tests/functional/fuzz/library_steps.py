"""The steps of a source that other writers make with Iceberg's own library."""

from __future__ import annotations

from dataclasses import replace

from .kinds import Row
from .library import add_moved, delete_equal, undo_deletes
from .sources import Effect, Numbers, Source
from .tables import REWRITE


def add_moved_file(source: Source, rows: list[Row]) -> Effect:
    """Add a file whose rows have the row ids of another table, which other rows of this table may have too."""
    sql, query = "-- a file with the row ids of another table is added", source.selected(rows)
    return replace(source.insert(rows), sql=sql, by_library=lambda session: add_moved(session, source.name, query))


def undelete(source: Source, numbers: Numbers) -> Effect | None:
    """As another writer, restore the rows that the last commit deleted in place."""
    last = source.ancestors(source.head)[:2]
    if source.has_a_file_twice or len(last) < 2 or source.commits[last[0]] is not REWRITE or last[1] not in source.held:
        return None
    return Effect(
        "-- the delete files of the last commit are taken out again, if it did nothing else",
        source.held[last[1]],
        REWRITE,
        by_library=lambda session: undo_deletes(session, source.name),
    )


def delete_by_equality(source: Source, numbers: Numbers) -> Effect | None:
    """As another writer, delete rows by their ids, without searching the files for them."""
    ids = {row[0] for row in source.known()[numbers[0] % 3 :: 3]}
    if source.variant.partition is not None or not ids:
        return None
    effect = source.changed(f"-- {sorted(ids)} are deleted by equality", lambda row: None if row[0] in ids else row)
    return replace(effect, by_library=lambda session: delete_equal(session, source.name, ids))
