"""The parts of net changes: the rows that came with files, that were deleted in place, and that went with files.

The two ends of a range differ by the rows of these parts alone. A row that a commit put into another file as it was is
in none of them where format v3's row lineage identifies it; else it is in two, and cancels out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from ..plan.ranges import CHANGELOG_NAMES, NetRange
from ..spark.scans import ExactScans, Rows
from ..sql import sql_name, sql_string, unused
from ..table.changed_files import DataFile, FileDifference, TableColumn
from .bounds import bounds_sql
from .projection import projected

_LONGEST_FILE_LIST = 100_000
"""Characters: a longer list of files is left out, the bounds alone then hold."""

_MOST_BROADCAST_ROWS = 64 * 4_000_000
"""Up to this many rows, which are as many bits, the rows that went are sent whole to every executor."""

_DELETED = "_deleted = true"
_LINEAGE = "_last_updated_sequence_number"
_ROW_ID = "_row_id"


@dataclass(frozen=True)
class Part:
    """Rows that are in one end of a range and not, or not as often, in the other.

    ``sign``: an expression that is 1 for a row of the end, and -1 for one of the start. ``join``: what follows the rows
    in the FROM clause to leave some of them out, with its ``hint``; ``keys``: the expressions that it needs, by name.
    ``has_unchanged``: there may be rows of files that do not differ. ``is_log``: also rows that came and went between.
    """

    rows: Rows
    sign: str
    join: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    has_unchanged: bool = False
    is_log: bool = False

    def select(self, names: Sequence[str], count: str) -> str:
        """The SELECT of some columns, by their names at the range's end, and of the sign as ``count``."""
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
    """The parts of a range whose start has not expired. ``exact``: None where no files can be read by themselves.

    ``apart``: rows that were only moved must be in none of them, as far as ``net`` can tell.
    """
    ranges = net.segments or (net,)
    return [part for place, each in enumerate(ranges) for part in _cheapest(each, exact, place, apart=apart)[1]()]


def readings_of(net: NetRange, exact: ExactScans | None) -> list[Reading]:
    """What the parts of a range are read by, each way once."""
    if net.start_id is None:
        return [_touched_rows(net, exact)[0]]
    return list(dict.fromkeys(_cheapest(each, exact, 0)[0] for each in net.segments or (net,)))


def _cheapest(
    net: NetRange, exact: ExactScans | None, place: int, *, apart: bool = False
) -> tuple[Reading, Callable[[], list[Part]]]:
    """What gives the parts of one of the ranges, by its place, that a statement reads together.

    By the way that reads least.
    """
    files = net.changed.files
    if files is not None:
        found = None if exact is None else _of_exact_files(net, files, exact)
        if found is not None:
            return Reading.EXACT_FILES, lambda: found
        if net.has_log and not (net.untouched_since is not None and (apart or net.changes_most_files)):
            return Reading.CHANGELOG_SCAN, lambda: [_logged(net, place)]
        if _length(files.all) <= _LONGEST_FILE_LIST:
            return Reading.FILE_NAMES, lambda: _of_named_files(net, files)
    return Reading.ENDS, lambda: _of_ends(net)


def touched_rows(net: NetRange, exact: ExactScans | None) -> Rows:
    """The rows of the end that were touched since a start that has expired, each as often as it is there.

    They are in files that came since; by row lineage, they are all that have a later sequence number.
    """
    return _touched_rows(net, exact)[1]


def _touched_rows(net: NetRange, exact: ExactScans | None) -> tuple[Reading, Rows]:
    at_end = _ends_at(net, net.end_id, net.changed.end)
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
    """The parts, each of its own files; None where the connection cannot read them so."""
    end_id, start_id = _ids(net)
    before = files.with_other_deletes if net.changed.start_has_deletes else ()
    came, kept, went = files.at_end, files.with_other_deletes, files.at_start
    if net.by_ends:
        came, kept, went, before = files.all, (), files.all, ()
    found: list[Rows | None] = []
    for snapshot_id, its_files, deleted in (
        (end_id, came, False),
        (end_id, kept, True),
        (start_id, went, False),
        (start_id, before, True),
    ):
        rows = None
        if its_files:
            rows = exact.rows(net.table, snapshot_id, _paths(its_files), columns_of=_columns_of(net), deleted=deleted)
            if rows is None:
                return None
        found.append(rows)
    return _signed(net, *found)


def _signed(net: NetRange, came: Rows | None, kept: Rows | None, went: Rows | None, before: Rows | None) -> list[Part]:
    """The parts, from the rows of the files that came, that stayed with other deletes, and that went.

    ``before``: those of the files that stayed, as they were at the start, where they may have had deletes.
    """
    parts = []
    if came is not None:
        parts.append(Part(came.where(_touched(net)), "1"))
    if kept is not None:
        parts.append(_without(net, Part(kept.where(_DELETED), "-1"), before))
    if went is not None:
        parts.append(_gone(net, went, came))
    return parts


def _of_named_files(net: NetRange, files: FileDifference) -> list[Part]:
    """The parts by scans of the whole table at either end, which the names of files and bounds cut down.

    Names prune no file from a scan, so one scan of the end shows the rows that came and those that were deleted in
    place at once.
    """
    at_end, at_start = _ends(net)
    if net.by_ends:
        bounds = bounds_sql(net.changed, files.all) if net.has_same_columns else None
        named = [each.where(_is_in(files.all), bounds) for each in (at_end, at_start)]
        return [Part(rows, sign) for rows, sign in zip(named, ("1", "-1"), strict=True)]
    came = at_end.where(_is_in(files.at_end), _bounds(net, files.at_end)) if files.at_end else None
    went = at_start.where(_is_in(files.at_start)) if files.at_start else None
    if went is not None and net.has_same_columns:
        went = went.where(_bounds(net, files.at_start))
    if not files.with_other_deletes or came is None:
        kept = _some(at_end, net, files.with_other_deletes) if files.with_other_deletes else None
        return _signed(net, came, kept, went, at_start if net.changed.start_has_deletes else None)
    is_new = _is_in(files.at_end)
    shown = f"_deleted <> ({is_new})"
    if net.untouched_since is not None:
        shown = f"case when _deleted then not ({is_new}) else {is_new} and {_touched(net)} end"
    rows = _some(at_end, net, (*files.at_end, *files.with_other_deletes)).where(shown)
    both = Part(rows, "if(_deleted, -1, 1)")
    parts = [_without(net, both, at_start if net.changed.start_has_deletes else None)]
    return parts if went is None else [*parts, _gone(net, went, came)]


def _of_ends(net: NetRange) -> list[Part]:
    """The parts by scans of the whole table at both ends, which bounds cut down where the files are known."""
    files = net.changed.files
    bounds = bounds_sql(net.changed, files.all) if files is not None and net.has_same_columns else None
    at_end, at_start = (each.where(bounds) for each in _ends(net))
    if net.untouched_since is None:
        return [Part(at_end, "1", has_unchanged=True), Part(at_start, "-1", has_unchanged=True)]
    return [Part(at_end.where(_touched(net)), "1"), _gone(net, at_start, at_end)]


def _some(at_end: Rows, net: NetRange, files: Sequence[DataFile]) -> Rows:
    """A scan of the end that shows the deleted rows of some files; those of others may be there too.

    A file whose deletes stayed has the same deleted rows at both ends.
    """
    bounds = _bounds(net, files)
    return at_end if bounds is None else at_end.where(_is_in(files), bounds)


def changelog_name(number: int) -> str:
    """A name of Iceberg's changelog table, each in another case, which Iceberg takes; see ``relations`` for why.

    Additions count from 0 upwards, the ranges of net changes from the last name downwards.
    """
    assert number < CHANGELOG_NAMES
    return "".join(letter.upper() if number >> bit & 1 else letter for bit, letter in enumerate("changes"))


def _logged(net: NetRange, place: int) -> Part:
    """The rows of all files that came and went, as Iceberg's changelog scan shows them."""
    scan = f"{net.table.sql}.`{changelog_name(CHANGELOG_NAMES - 1 - place)}`"
    rows = Rows(f"{scan} WITH (`start-snapshot-id` = '{net.start_id}', `end-snapshot-id` = '{net.end_id}')")
    return Part(rows, "if(_change_type = 'INSERT', 1, -1)", is_log=True)


def _without(net: NetRange, part: Part, before: Rows | None) -> Part:
    """Rows that are deleted at the end, without those that were at the start, which ``before`` is a scan of."""
    if before is None:
        return part
    names = names_of(net)
    keys = {unused("_ip_file", names): "_file", unused("_ip_pos", names): "_pos"}
    others = before.where(_DELETED).select((), *(f"{column} as {name}" for name, column in keys.items()))
    same = " and ".join(f"{_ROWS}.{name} = {_OTHERS}.{name}" for name in keys)
    return replace(part, join=f"left anti join ({others}) as {_OTHERS} on {same}", keys=keys)


def _gone(net: NetRange, at_start: Rows, at_end: Rows | None) -> Part:
    """The rows of the start, by row lineage without those that ``at_end`` still holds as they were.

    Rows of both are told apart by bits, one a row id in blocks of 64: a join of the two by their ids would shuffle
    both. The blocks in which an id is missing are few and small, and are broadcast.
    """
    if net.untouched_since is None or at_end is None:
        return Part(at_start, "-1")
    block, bit = f"shiftright({_ROW_ID}, 6)", f"shiftleft(1L, int({_ROW_ID} & 63))"
    before = f"select {block} as block, {bit} as before, 0L as kept {at_start.clauses}"
    same = at_end.where(f"{_LINEAGE} <= {net.untouched_since}")
    kept = f"select {block}, 0L, {bit} {same.clauses}"
    missing = "bit_or(before) & ~bit_or(kept)"
    blocks = (
        f"(select block, {missing} as missing from ({before} union all {kept}) group by block having {missing} <> 0)"
    )
    row_id = unused("_ip_row_id", names_of(net))
    hint = f"/*+ broadcast({_OTHERS}) */ " if _records(net) <= _MOST_BROADCAST_ROWS else ""
    condition = (
        f"{_OTHERS}.block = shiftright({_ROWS}.{row_id}, 6)"
        f" and shiftright({_OTHERS}.missing, int({_ROWS}.{row_id} & 63)) & 1L = 1L"
    )
    return Part(at_start, "-1", f"left semi join {blocks} as {_OTHERS} on {condition}", {row_id: _ROW_ID}, hint)


def _touched(net: NetRange) -> str | None:
    """The condition that a row was touched since the start; None where row lineage is not asked."""
    return None if net.untouched_since is None else f"{_LINEAGE} > {net.untouched_since}"


def _records(net: NetRange) -> int:
    files = net.changed.files
    return _MOST_BROADCAST_ROWS if files is None else sum(file.records for file in files.at_start)


def _ends(net: NetRange) -> tuple[Rows, Rows]:
    """The whole table at the end and at the start."""
    end_id, start_id = _ids(net)
    return _ends_at(net, end_id, net.changed.end), _ends_at(net, start_id, net.changed.start)


def _ends_at(net: NetRange, snapshot_id: int, columns: Sequence[TableColumn]) -> Rows:
    """The whole table at a snapshot, which has these columns, in those in which the rows are shown."""
    whole = Rows(f"{net.table.sql} VERSION AS OF {snapshot_id}")
    if columns == net.columns:
        return whole
    return replace(whole, columns=dict(zip(names_of(net), projected(columns, net.columns), strict=True)))


def _columns_of(net: NetRange) -> int:
    """The snapshot in whose columns the rows are shown."""
    return net.end_id if net.shown_as is None else net.shown_as.snapshot_id


def _ids(net: NetRange) -> tuple[int, int]:
    """The snapshots of the end and of the start, which has not expired."""
    assert net.start_id is not None
    return net.end_id, net.start_id


def names_of(net: NetRange) -> list[str]:
    """The columns in which the rows of a range are shown."""
    return [column.name for column in net.columns]


def _bounds(net: NetRange, files: Sequence[DataFile]) -> str | None:
    """The bounds of some files, where a scan of the end is likely to be spared others by them."""
    return None if net.changes_most_files else bounds_sql(net.changed, files)


def _paths(files: Iterable[DataFile]) -> list[str]:
    return [file.path for file in files]


def _length(files: Iterable[DataFile]) -> int:
    return sum(len(file.path) for file in files)


def _is_in(files: Sequence[DataFile]) -> str:
    if not files:
        return "1 = 0"
    return f"_file in ({', '.join(map(sql_string, dict.fromkeys(_paths(files))))})"
