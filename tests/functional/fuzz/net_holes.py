"""Bugs in reading net changes, to be planted. Each omits, or adds, rows of one kind only."""

from __future__ import annotations

from dataclasses import replace

from iceberg_incremental.expose import parts
from iceberg_incremental.plan.ranges import position_at
from iceberg_incremental.table.commits import moves_files

from .holes import _instead, _patch


def rows_deleted_at_both_ends_count(monkeypatch):
    """The deleted rows of the start are not subtracted from those of the end."""
    _patch(monkeypatch, "expose.parts:_without", lambda _: lambda range_, part, before: part)


def deleted_rows_are_the_same_by_their_keys(monkeypatch):
    """Not by their positions, so a row that was updated twice, or inserted again, is not deleted again."""

    def careless(without):
        def by_key(range_, part, before):
            found = without(range_, part, before)
            join = found.join.replace("_file as ", "id as ").replace("_pos as ", "1 as ")
            return replace(found, join=join, keys=dict(zip(found.keys, ("id", "1"), strict=False)))

        return by_key

    _patch(monkeypatch, "expose.parts:_without", careless)


def rows_added_and_deleted_in_the_range_count(monkeypatch):
    """In added files, deleted rows count too, such as old versions of a row that was updated twice."""

    def careless(of_named_files):
        return lambda *args: [_with_new_deleted(part) for part in of_named_files(*args)]

    _patch(monkeypatch, "expose.parts:_of_named_files", careless)


def _with_new_deleted(part: parts.Part) -> parts.Part:
    conditions = (
        each.replace("_deleted <> (", "_deleted or (").replace("_deleted then not (", "_deleted then true or (")
        for each in part.rows.conditions
    )
    return replace(part, rows=replace(part.rows, conditions=tuple(conditions)))


def files_of_compactions_are_ignored(monkeypatch):
    """Although the compaction also wrote rows that the same range had changed before."""

    def careless(changed):
        def without_compacted(evidence, found):
            all_changed = changed(evidence, found)
            if all_changed.files is None or not moves_files(found.commits[-1]):
                return all_changed
            return replace(all_changed, files=replace(all_changed.files, at_end=()))

        return without_compacted

    _patch(monkeypatch, "capture.source_policy:_changed", careless)


def moved_rows_count_as_removed(monkeypatch):
    """Rows at both ends are not subtracted from the rows of the removed files."""
    _patch(monkeypatch, "expose.parts:_gone", lambda _: lambda range_, at_start, at_end: parts.Part(at_start, "-1"))


def moved_rows_share_their_bits(monkeypatch):
    """A row counts as moved if another row has its bit."""
    _patch(monkeypatch, "expose.parts:_gone", _with_join("& 63", "& 3"))


def moved_rows_are_in_smaller_blocks(monkeypatch):
    """This concerns the rows that are searched for, not the known rows."""

    def careless(gone):
        def other_blocks(*args):
            part = gone(*args)
            blocks, on, condition = part.join.partition(" on ")
            return replace(part, join=blocks + on + condition.replace(", 6)", ", 2)"))

        return other_blocks

    _patch(monkeypatch, "expose.parts:_gone", careless)


def updated_rows_count_as_moved(monkeypatch):
    """Rows with another version at the end are subtracted from the removed rows."""
    _patch(monkeypatch, "expose.parts:_gone", _with_join("_last_updated_sequence_number <=", "0 <="))


def _with_join(old: str, new: str):
    def careless(gone):
        def other(*args):
            part = gone(*args)
            return replace(part, join=part.join.replace(old, new))

        return other

    return careless


def a_segment_is_left_out(monkeypatch):
    """The last segment between compactions is omitted."""
    _patch(monkeypatch, "capture.source_policy:segments_of", lambda segments_of: lambda found: segments_of(found)[:-1])


def a_segment_begins_a_commit_late(monkeypatch):
    """This concerns segments with more than one commit."""

    def later(segment):
        if len(segment.commits) == 1:
            return segment
        return replace(segment, position=position_at(segment.history.table_uuid, segment.commits[0]))

    _patch(
        monkeypatch,
        "capture.source_policy:segments_of",
        lambda segments_of: lambda found: [later(segment) for segment in segments_of(found)],
    )


def segments_are_not_summed(monkeypatch):
    """A row that was updated in two segments is also returned with its value in between."""

    def careless(changelog_sql):
        def one_by_one(range_, *args):
            shown = [changelog_sql(each, *args) for each in range_.segments or (range_,)]
            return f"({' union all '.join(f'select * from {each}' for each in shown)})"

        return one_by_one

    _patch(monkeypatch, "expose.net:changelog_sql", careless)


def segments_have_one_name(monkeypatch):
    """Spark resolves the name once, with the options of the first segment. The package once had this bug."""
    _patch(monkeypatch, "expose.parts:changelog_name", _instead("CHANGES"))


def nothing_brings_rows_back(monkeypatch):
    """As if delete files could only be added."""
    _patch(monkeypatch, "plan.net_changes:may_undelete", _instead(False))


def keys_are_those_of_added_rows(monkeypatch):
    """Keys of deleted rows are left out."""

    def careless(parts_of):
        def added_only(range_, exact, *, apart=False):
            found = parts_of(range_, exact, apart=apart)
            return [replace(part, rows=part.rows.where(f"({part.sign}) = 1")) for part in found] if apart else found

        return added_only

    _patch(monkeypatch, "expose.parts:parts_of", careless)


def keys_of_moved_rows_count_as_changed(monkeypatch):
    """Keys of rows that were only moved count as changed."""
    _patch(monkeypatch, "plan.ranges:NetRange.may_have_moved_rows", lambda _: property(lambda range_: False))


def removed_files_are_ignored(monkeypatch):
    """A range counts as adding only, although files of the start were removed."""
    _patch(monkeypatch, "capture.source_policy:only_adds", _without(at_start=()))


def rows_deleted_in_place_are_ignored(monkeypatch):
    """A range counts as adding only, although rows were deleted from files of the start."""
    _patch(monkeypatch, "capture.source_policy:only_adds", _without(with_other_deletes=()))


def _without(**ignored):
    """Hide some of the changed files from the code that checks whether a range only adds rows."""

    def careless(only_adds):
        def blind(changed):
            files = changed.files
            return only_adds(changed if files is None else replace(changed, files=replace(files, **ignored)))

        return blind

    return careless
