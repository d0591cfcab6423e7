"""A planned range as SQL text: a relation that stands after FROM or JOIN, with or without an alias.

The forms were seen to work in Spark 4.0 and 4.1: ``t VERSION AS OF n`` and ``t.snapshot_id_n`` pin the whole table;
``t.branch_main WITH (options)`` is Iceberg's incremental append scan, start exclusive and end inclusive, and
``t.changes WITH (options)`` its changelog scan.

Within one statement Spark resolves a name once, whatever options follow it: of ``t`` and ``t WITH (…)``, in a model
that reads a table both ways or through a view, the second would silently read what the first does. So every range
stands under a name that nothing else in the statement has.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...sql import sql_name
from ..plan.changes import Kind, Range
from ..table.changed_files import CHANGELOG_COLUMNS
from ..table.history import Snapshot, TableName
from . import net
from .event_window import inside_sql

MAX_ADDITIONS = 2 ** len(net.CHANGELOG) - 1
"""How many separate ranges of additions one statement can name; the last name is for net changes."""
_NO_ROWS = "TABLESAMPLE (0 ROWS)"


def changes_sql(planned: Range) -> str:
    """The rows that a range newly brings."""
    if planned.end is None:
        return empty_sql(planned.table)
    if planned.kind is Kind.FULL:
        return _pinned(planned.table, planned.end)
    if planned.window is not None:
        inside = inside_sql(planned.window.window, planned.window.column)
        return f"(select * from {_pinned(planned.table, planned.end)} where {inside})"
    if planned.kind is Kind.EMPTY:
        return no_rows_sql(planned)
    if planned.net is not None:
        return net.upserts_sql(planned.net)
    assert planned.start is not None
    assert planned.start.snapshot_id is not None
    scans = []
    if planned.append_scan:
        scans.append(
            f"{planned.table.sql}.`branch_main` {_between(planned.start.snapshot_id, planned.end.snapshot_id)}"
        )
    if not planned.additions:
        return scans[0]
    selects = [f"select * from {scan}" for scan in scans]
    for number, (start, end) in enumerate(planned.additions):
        logged = f"{planned.table.sql}.`{_changes(number)}` {_between(start, end)}"
        netted = planned.netted.get(start)
        selects.append(
            f"select * except ({', '.join(CHANGELOG_COLUMNS)}) from {logged}"
            if netted is None
            else f"select * from {net.upserts_sql(netted)}"
        )
    return "(" + " union all ".join(selects) + ")"


def changelog_sql(planned: Range, unique_key: Sequence[str] = ()) -> str:
    """What a range did to the table's rows, each with its ``_change_type``."""
    if planned.net is not None:
        return net.changelog_sql(planned.net, unique_key)
    return inserted_sql(changes_sql(planned))


def inserted_sql(relation: str) -> str:
    """The rows of a relation as the changelog of a table that had none of them."""
    return f"(select *, 'INSERT' as {net.CHANGE_TYPE} from {relation})"


def as_of_sql(planned: Range) -> str:
    """The whole table at the end of a range."""
    if planned.end is None:
        return empty_sql(planned.table)
    return f"{planned.table.sql} VERSION AS OF {planned.end.snapshot_id}"


def no_rows_sql(planned: Range) -> str:
    """No rows, with the columns that the table has at the end of a range."""
    return empty_sql(planned.table) if planned.end is None else f"{_pinned(planned.table, planned.end)} {_NO_ROWS}"


def _pinned(table: TableName, end: Snapshot) -> str:
    # Not VERSION AS OF: under a table's own name a column could be qualified by it, until the next run has a range.
    return f"{table.sql}.{sql_name(f'snapshot_id_{end.snapshot_id}')}"


def empty_sql(table: TableName) -> str:
    """No rows, with the table's columns; Spark plans it as an empty local relation."""
    return f"{table.sql} {_NO_ROWS}"


def _changes(number: int) -> str:
    """The name of the changelog table, each time in another case, which Iceberg takes; see above for why."""
    assert number < MAX_ADDITIONS
    return "".join(letter.upper() if number >> bit & 1 else letter for bit, letter in enumerate("changes"))


def _between(start: int, end: int) -> str:
    return f"WITH (`start-snapshot-id` = '{start}', `end-snapshot-id` = '{end}')"
