"""A planned range as SQL text: a relation that stands after FROM or JOIN, with or without an alias.

The forms were seen to work in Spark 4.0 and 4.1: ``t VERSION AS OF n`` pins the whole table; ``t WITH (options)`` is
Iceberg's incremental append scan, start exclusive and end inclusive; ``t.changes WITH (options)`` its changelog scan.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import net
from .history import TableName
from .plan import Kind, Range

_CHANGELOG_COLUMNS = "_change_type, _change_ordinal, _commit_snapshot_id"


def changes_sql(planned: Range) -> str:
    """The rows that a range newly brings."""
    if planned.kind is Kind.FULL:
        return as_of_sql(planned)
    if planned.kind is Kind.EMPTY:
        return empty_sql(planned.table, None if planned.end is None else planned.end.snapshot_id)
    if planned.net is not None:
        return net.upserts_sql(planned.net)
    assert planned.start is not None
    assert planned.start.snapshot_id is not None
    assert planned.end is not None
    scans = []
    if planned.append_scan:
        scans.append(f"{planned.table.sql} {_between(planned.start.snapshot_id, planned.end.snapshot_id)}")
    if not planned.additions:
        return scans[0]
    selects = [f"select * from {scan}" for scan in scans]
    selects += [
        f"select * except ({_CHANGELOG_COLUMNS}) from {planned.table.sql}.changes {_between(start, end)}"
        for start, end in planned.additions
    ]
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
        return empty_sql(planned.table, None)
    return f"{planned.table.sql} VERSION AS OF {planned.end.snapshot_id}"


def empty_sql(table: TableName, snapshot_id: int | None) -> str:
    """No rows, with the table's columns, under the table's name; Spark plans it as an empty local relation."""
    version = "" if snapshot_id is None else f" VERSION AS OF {snapshot_id}"
    return f"{table.sql}{version} TABLESAMPLE (0 ROWS)"


def _between(start: int, end: int) -> str:
    return f"WITH (`start-snapshot-id` = '{start}', `end-snapshot-id` = '{end}')"
