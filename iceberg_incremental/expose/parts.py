"""The parts of net changes: rows of added files, rows that were deleted in place, and rows of removed files.

The two ends of a range differ only by the rows of these parts. A row that a commit moved unchanged to another file is
in none of them if format v3's row lineage identifies it. Otherwise, it is in two parts and cancels out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from ..explain import source_errors
from ..plan.ranges import CHANGELOG_NAMES, NetRange
from ..spark.port import ExactScans, Rows
from ..sql import sql_name, sql_string, unused
from ..table.files import DataFile, FileDifference, TableColumn
from ..table.history import TableName
from .bounds import bounds_sql
from .projection import projected

NAME = "_row_id"
"""The metadata column with the id of a row."""


def missing_sql(table: TableName, at_start: Rows, kept: Rows) -> str:
    """The relation of the blocks of ids of the start that no kept row has.

    The query fails if rows of the start share an id or have none, because a deleted row would then seem to be kept. It
    also fails if a kept row has an id that no row of the start has, or that another kept row has: the writer that moved
    it has lost its id, as Iceberg 1.12 does when it compacts ORC files that it reads by columns.
    ``kept``: the rows of the end that have not changed since the start.
    """
    block, bit = f"shiftright({NAME}, 6)", f"shiftleft(1L, int({NAME} & 63))"
    missing = "bit_or(before) & ~bit_or(kept)"
    shared = (
        "block is null or count_if(before <> 0) > bit_count(bit_or(before))"
        " or count_if(kept <> 0) > bit_count(bit_or(before) & bit_or(kept))"
    )
    error = f"raise_error({sql_string(source_errors.row_ids_repeated(table).msg)})"
    rows = (
        f"select {block} as block, {bit} as before, 0L as kept {at_start.clauses}"
        f" union all select {block}, 0L, {bit} {kept.clauses}"
    )
    return (
        f"(select block, {missing} as missing from ({rows}) group by block"
        f" having case when {shared} then {error} else {missing} <> 0 end)"
    )


def is_missing(row_id: str, blocks: str) -> str:
    """The condition that an id is among the missing ids. ``blocks``: the alias of the relation of ``missing_sql``."""
    same = f"{blocks}.block = shiftright({row_id}, 6)"
    return f"{same} and shiftright({blocks}.missing, int({row_id} & 63)) & 1L = 1L"


_LONGEST_FILE_LIST = 100_000
"""Characters. A longer list of files is omitted, and only bounds are used."""

_MOST_BROADCAST_ROWS = 64 * 4_000_000
"""If the removed files have at most this many rows, the removed row ids are broadcast, as one bit for each row."""

_DELETED = "_deleted = true"
_LINEAGE = "_last_updated_sequence_number"


@dataclass(frozen=True)
class Part:
    """Rows that one end of a range has, and the other end does not have or has less often.

    ``sign``: an expression, 1 for a row of the end and -1 for a row of the start. ``join``: a join in the FROM clause
    that excludes some of the rows; ``hint``: its hint; ``keys``: the expressions that it uses, by name.
    ``has_unchanged``: may include rows of unchanged files. ``is_log``: may include rows added and removed in between.
    """

    rows: Rows
    sign: str
    join: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    has_unchanged: bool = False
    is_log: bool = False

    def select(self, names: Sequence[str], count: str) -> str:
        """The SELECT of columns, by their names at the range's end, and of the sign as ``count``."""
        sign = f"{self.sign} as {count}"
        if not self.join:
            return self.rows.select(names, sign)
        keys = [f"{expression} as {name}" for name, expression in self.keys.items()]
        listed = ", ".join([*map(sql_name, names), count])
        return f"select {self.hint}{listed} from ({self.rows.select(names, sign, *keys)}) as {_ROWS} {self.join}"


class Reading(Enum):
    """How net changes are read, as the log line ``read …`` states it."""

    EXACT_FILES = "from the changed files"
    CHANGELOG_SCAN = "with Iceberg's changelog scan"
    FILE_NAMES = "with scans of the table that filter by file name"
    ENDS = "with scans of the table"


_ROWS, _OTHERS = "_ip_rows", "_ip_others"


def parts_of(net: NetRange, exact: ExactScans | None, *, apart: bool = False) -> list[Part]:
    """The parts of a range whose start has not expired. ``exact``: None if individual files cannot be read.

    ``apart``: whether to exclude rows that were only moved, as far as ``net`` identifies them.
    """
    ranges = net.segments or (net,)
    return [part for index, each in enumerate(ranges) for part in _cheapest(each, exact, index, apart=apart)[1]()]


def readings_of(net: NetRange, exact: ExactScans | None) -> list[Reading]:
    """The ways in which the parts of a range are read, each once."""
    if net.start_id is None:
        return [_touched_rows(net, exact)[0]]
    return list(dict.fromkeys(_cheapest(each, exact, 0)[0] for each in net.segments or (net,)))


def _cheapest(
    net: NetRange, exact: ExactScans | None, index: int, *, apart: bool = False
) -> tuple[Reading, Callable[[], list[Part]]]:
    """The way to read a range that reads the least data, and a function that returns the parts.

    ``index``: the index of the range among those that the statement reads together.
    """
    files = net.changed.files
    if files is not None:
        found = None if exact is None else _of_exact_files(net, files, exact)
        if found is not None:
            return Reading.EXACT_FILES, lambda: found
        if net.has_log and not (net.untouched_since is not None and (apart or net.changes_most_files)):
            return Reading.CHANGELOG_SCAN, lambda: [_logged(net, index)]
        if _length(files.all) <= _LONGEST_FILE_LIST:
            return Reading.FILE_NAMES, lambda: _of_named_files(net, files)
    return Reading.ENDS, lambda: _of_ends(net)


def touched_rows(net: NetRange, exact: ExactScans | None) -> Rows:
    """The rows of the end that were added or changed since a start that is not read, including duplicates.

    They are in the files that were added since. With row lineage, they are the rows with a later sequence number.
    """
    return _touched_rows(net, exact)[1]


def _touched_rows(net: NetRange, exact: ExactScans | None) -> tuple[Reading, Rows]:
    at_end = _ends_at(net, net.end_id, net.changed.end, net.changed.end_has_other_names)
    if net.changed.files is None:
        return Reading.ENDS, at_end.where(_touched(net))
    files = net.changed.files.at_end
    if exact is not None:
        found = exact.rows(net.table, net.end_id, _paths(files), columns_of=_columns_of(net), deleted=False)
        if found is not None:
            return Reading.EXACT_FILES, found.where(_touched(net))
    listed = net.untouched_since is None or _length(files) <= _LONGEST_FILE_LIST
    named = at_end.where(_is_in(files) if listed else None, bounds_sql(net.changed, files), _touched(net))
    return Reading.FILE_NAMES if listed else Reading.ENDS, named


def _of_exact_files(net: NetRange, files: FileDifference, exact: ExactScans) -> list[Part] | None:
    """The parts, each read from its own files. None if the connection cannot read individual files."""
    end_id, start_id = _ids(net)
    before = files.with_other_deletes if net.changed.start_has_deletes else ()
    added, kept, removed = files.at_end, files.with_other_deletes, files.at_start
    if net.by_ends:
        added, kept, removed, before = files.all, (), files.all, ()
    found: list[Rows | None] = []
    for snapshot_id, its_files, deleted in (
        (end_id, added, False),
        (end_id, kept, True),
        (start_id, removed, False),
        (start_id, before, True),
    ):
        rows = None
        if its_files:
            rows = exact.rows(net.table, snapshot_id, _paths(its_files), columns_of=_columns_of(net), deleted=deleted)
            if rows is None:
                return None
        found.append(rows)
    return _signed(net, *found)


def _signed(net: NetRange, added: Rows | None, kept: Rows | None, removed: Rows | None, old: Rows | None) -> list[Part]:
    """The parts, from the rows of added files, of files with other deletes, and of removed files.

    ``old``: the rows at the start of the files with other deletes; None if they had no deletes at the start.
    """
    parts = []
    if added is not None:
        parts.append(Part(added.where(_touched(net)), "1"))
    if kept is not None:
        parts.append(_without(net, Part(kept.where(_DELETED), "-1"), old))
    if removed is not None:
        parts.append(_gone(net, removed, added))
    return parts


def _of_named_files(net: NetRange, files: FileDifference) -> list[Part]:
    """The parts, read by scans of the table at both ends with conditions on file names and bounds.

    Conditions on file names do not let a scan skip files. One scan of the end therefore returns both the added rows and
    the rows that were deleted in place.
    """
    at_end, at_start = _ends(net)
    if net.by_ends:
        bounds = bounds_sql(net.changed, files.all) if net.has_same_columns else None
        named = [each.where(_is_in(files.all), bounds) for each in (at_end, at_start)]
        return [Part(rows, sign) for rows, sign in zip(named, ("1", "-1"), strict=True)]
    added = at_end.where(_is_in(files.at_end), _bounds(net, files.at_end)) if files.at_end else None
    removed = at_start.where(_is_in(files.at_start)) if files.at_start else None
    if removed is not None and net.has_same_columns:
        removed = removed.where(_bounds(net, files.at_start))
    if not files.with_other_deletes or added is None:
        kept = _some(at_end, net, files.with_other_deletes) if files.with_other_deletes else None
        return _signed(net, added, kept, removed, at_start if net.changed.start_has_deletes else None)
    is_new = _is_in(files.at_end)
    shown = f"_deleted <> ({is_new})"
    if net.untouched_since is not None:
        shown = f"case when _deleted then not ({is_new}) else {is_new} and {_touched(net)} end"
    rows = _some(at_end, net, (*files.at_end, *files.with_other_deletes)).where(shown)
    both = Part(rows, "if(_deleted, -1, 1)")
    parts = [_without(net, both, at_start if net.changed.start_has_deletes else None)]
    return parts if removed is None else [*parts, _gone(net, removed, added)]


def _of_ends(net: NetRange) -> list[Part]:
    """The parts, read by scans of the table at both ends, with conditions on bounds if the changed files are known."""
    files = net.changed.files
    bounds = bounds_sql(net.changed, files.all) if files is not None and net.has_same_columns else None
    at_end, at_start = (each.where(bounds) for each in _ends(net))
    if net.untouched_since is None:
        return [Part(at_end, "1", has_unchanged=True), Part(at_start, "-1", has_unchanged=True)]
    return [Part(at_end.where(_touched(net)), "1"), _gone(net, at_start, at_end)]


def _some(at_end: Rows, net: NetRange, files: Sequence[DataFile]) -> Rows:
    """A scan of the end that can return the deleted rows of some files, and possibly those of other files.

    A file whose deletes have not changed has the same deleted rows at both ends.
    """
    bounds = _bounds(net, files)
    return at_end if bounds is None else at_end.where(_is_in(files), bounds)


def changelog_name(number: int) -> str:
    """A spelling of the name of Iceberg's changelog table in upper and lower case. See ``relations`` for the reason.

    Additions count from 0 upwards, and the ranges of net changes count from the last number downwards.
    """
    assert number < CHANGELOG_NAMES
    return "".join(letter.upper() if number >> bit & 1 else letter for bit, letter in enumerate("changes"))


def _logged(net: NetRange, index: int) -> Part:
    """The rows of all added and removed files, as returned by Iceberg's changelog scan."""
    scan = f"{net.table.sql}.`{changelog_name(CHANGELOG_NAMES - 1 - index)}`"
    rows = Rows(f"{scan} WITH (`start-snapshot-id` = '{net.start_id}', `end-snapshot-id` = '{net.end_id}')")
    return Part(rows, "if(_change_type = 'INSERT', 1, -1)", is_log=True)


def _without(net: NetRange, part: Part, before: Rows | None) -> Part:
    """A part, without the rows that were already deleted at the start. ``before``: a scan of the start."""
    if before is None:
        return part
    names = names_of(net)
    keys = {unused("_ip_file", names): "_file", unused("_ip_pos", names): "_pos"}
    others = before.where(_DELETED).select((), *(f"{column} as {name}" for name, column in keys.items()))
    same = " and ".join(f"{_ROWS}.{name} = {_OTHERS}.{name}" for name in keys)
    return replace(part, join=f"left anti join ({others}) as {_OTHERS} on {same}", keys=keys)


def _gone(net: NetRange, at_start: Rows, at_end: Rows | None) -> Part:
    """The rows of the start. With row lineage, without the rows that ``at_end`` contains unchanged."""
    if net.untouched_since is None or at_end is None:
        return Part(at_start, "-1")
    kept = at_end.where(f"{_LINEAGE} <= {net.untouched_since}")
    row_id = unused("_ip_row_id", names_of(net))
    hint = f"/*+ broadcast({_OTHERS}) */ " if _records(net) <= _MOST_BROADCAST_ROWS else ""
    join = f"left semi join {missing_sql(net.table, at_start, kept)} as {_OTHERS}"
    condition = is_missing(f"{_ROWS}.{row_id}", _OTHERS)
    return Part(at_start, "-1", f"{join} on {condition}", {row_id: NAME}, hint)


def _touched(net: NetRange) -> str | None:
    """The condition that a row was added or changed since the start. None if row lineage is not used."""
    return None if net.untouched_since is None else f"{_LINEAGE} > {net.untouched_since}"


def _records(net: NetRange) -> int:
    files = net.changed.files
    return _MOST_BROADCAST_ROWS if files is None else sum(file.records for file in files.at_start)


def _ends(net: NetRange) -> tuple[Rows, Rows]:
    """The whole table at the end and at the start."""
    end_id, start_id = _ids(net)
    changed = net.changed
    return (
        _ends_at(net, end_id, changed.end, changed.end_has_other_names),
        _ends_at(net, start_id, changed.start, changed.start_has_other_names),
    )


def _ends_at(net: NetRange, snapshot_id: int, columns: Sequence[TableColumn], has_other_names: bool) -> Rows:
    """The whole table at a snapshot with these ``columns``, converted to the columns of the returned rows."""
    whole = Rows(net.table.at_sql(snapshot_id, has_other_names=has_other_names))
    if columns == net.columns:
        return whole
    return replace(whole, columns=dict(zip(names_of(net), projected(columns, net.columns), strict=True)))


def _columns_of(net: NetRange) -> int:
    """The snapshot whose columns the returned rows have."""
    return net.end_id if net.shown_as is None else net.shown_as.snapshot_id


def _ids(net: NetRange) -> tuple[int, int]:
    """The ids of the end and of the start, which must not have expired."""
    assert net.start_id is not None
    return net.end_id, net.start_id


def names_of(net: NetRange) -> list[str]:
    """The names of the columns of the returned rows."""
    return [column.name for column in net.columns]


def _bounds(net: NetRange, files: Sequence[DataFile]) -> str | None:
    """The bounds of some files. None if most files changed, because a scan would then skip few files."""
    return None if net.changes_most_files else bounds_sql(net.changed, files)


def _paths(files: Iterable[DataFile]) -> list[str]:
    return [file.path for file in files]


def _length(files: Iterable[DataFile]) -> int:
    return sum(len(file.path) for file in files)


def _is_in(files: Sequence[DataFile]) -> str:
    if not files:
        return "1 = 0"
    return f"_file in ({', '.join(map(sql_string, dict.fromkeys(_paths(files))))})"
