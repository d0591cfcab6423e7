"""The versions that the ordered events of a key form, as SQL. The events come from a table or from a log.

An event is a row of its key, or the deletion of this row. Adjacent events without a tracked change form one version,
and so do adjacent deletions. A version ends when the next version of its key begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...sql import sql_names
from .versioned import VersionedRows, compared

IS_ROW, STARTS, TRACKED = "DBT_INTERNAL_IS_ROW", "DBT_INTERNAL_STARTS", "DBT_INTERNAL_TRACKED"
"""Whether an event is a row, whether it starts a version, and the values whose changes start one."""
VERSION = "DBT_INTERNAL_VERSION"
"""The number of a version within its key."""
ID, UPDATED, BEGIN, END = (f"DBT_INTERNAL_{each}" for each in ("ID", "UPDATED", "BEGIN", "END"))
"""A version's id, the time of its values, its begin, and its end, which is NULL for the last version of its key."""
_VALUES, _WAS_VALUES, _WAS_ROW = (f"DBT_INTERNAL_{each}" for each in ("VALUES", "WAS_VALUES", "WAS_ROW"))


def placed_sql(line: str, rows: VersionedRows, *, differs: str = "", marks: Mapping[str, str] | None = None) -> str:
    """The events with the number of their version.

    ``line``: a relation, or a query in parentheses, of events with ``IS_ROW``. ``differs``: the condition for tracked
    values that differ from the previous event; by default, all tracked values are compared. ``marks``: more columns.
    """
    was_row = rows.before(IS_ROW)
    starts = (
        f"case when {was_row} is null or {was_row} <> {IS_ROW} then true when not {IS_ROW} then false"
        f" else {differs or rows.differs(TRACKED)} end"
    )
    judged = f"select *, struct({compared(rows.tracked)}) as {TRACKED} from {line}"
    started = f"select *, {_listed({STARTS: starts, **(marks or {})})} from ({judged})"
    return f"select *, count_if({STARTS}) {rows.in_order} as {VERSION} from ({started})"


def versions_sql(
    placed: str,
    rows: VersionedRows,
    aggregates: Mapping[str, str],
    *,
    is_known: str = "false",
    more: Sequence[str] = (),
    cases: Sequence[str] = (),
) -> str:
    """The versions of the events of ``placed_sql``, with the columns of the table.

    ``aggregates``: ``ID``, ``UPDATED``, ``BEGIN`` and other values of a version, as aggregates of its events.
    ``is_known``: the condition for a version of the table, which keeps its values even if it marks a deletion.
    ``more``: more columns. ``cases``: WHEN clauses that omit a version or let the query fail.
    """
    keys = sql_names(rows.keys)
    values = {IS_ROW: f"max({IS_ROW})", _VALUES: f"max_by(struct({sql_names(rows.names)}), {rows.order})", **aggregates}
    grouped = f"select {keys}, {VERSION}, {_listed(values)} from ({placed}) group by {keys}, {VERSION}"
    over = f"over (partition by {keys} order by {VERSION})"
    around = {END: f"lead({BEGIN}) {over}", _WAS_ROW: f"lag({IS_ROW}) {over}", _WAS_VALUES: f"lag({_VALUES}) {over}"}
    own, condition = _VALUES, IS_ROW
    if rows.has_deleted:  # a version that marks a deletion has the values of the deleted row
        own = f"if({IS_ROW} or {is_known}, {_VALUES}, {_WAS_VALUES})"
        condition = f"({IS_ROW} or {is_known} or {_WAS_ROW})"
    condition = f"case {' '.join(cases)} else {condition} end" if cases else condition
    end, is_deleted = f"coalesce({END}, {rows.current_end})", f"if({IS_ROW}, 'False', 'True')"
    columns = ", ".join([rows.listed(f"{own}.", ID, UPDATED, BEGIN, end, is_deleted), *more])
    return f"select {columns} from (select *, {_listed(around)} from ({grouped})) where {condition}"


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{value} as {name}" for name, value in columns.items())
