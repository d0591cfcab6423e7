"""A planned range as SQL text: a relation for use after FROM or JOIN, with or without an alias.

These forms were tested with Spark 4.0 and 4.1. ``t VERSION AS OF n`` and ``t.snapshot_id_n`` pin the whole table.
``t.branch_main WITH (options)`` is Iceberg's incremental append scan (start exclusive, end inclusive), and
``t.changes WITH (options)`` is its changelog scan.

Within one statement, Spark resolves a name once, regardless of the options that follow it. If a model reads both ``t``
and ``t WITH (…)``, possibly through a view, the second of them would silently return the rows of the first. Each range
therefore uses a name that nothing else in the statement uses.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..plan.ranges import (
    CHANGE_SIGN,
    CHANGE_TYPE,
    COMMIT_ORDER,
    COMMIT_SNAPSHOT,
    COMMIT_TIME,
    Addition,
    Appends,
    NetChanges,
    Nothing,
    PerCommit,
    Range,
    Whole,
    Windowed,
)
from ..spark.port import ExactScans
from ..table.files import CHANGELOG_COLUMNS
from ..table.history import Snapshot, TableName
from . import net, per_commit
from .event_window import inside_sql
from .parts import changelog_name

_NO_ROWS = "TABLESAMPLE (0 ROWS)"


def changes_sql(planned: Range, exact: ExactScans | None = None) -> str:
    """The rows that a range adds. ``exact``: the reader of individual data files; None without one."""
    match planned:
        case Nothing():
            return no_rows_sql(planned)
        case Whole():
            return _pinned(planned.table, planned.end)
        case Windowed():
            inside = inside_sql(planned.window.window, planned.window.column)
            return f"(select * from {_pinned(planned.table, planned.end)} where {inside})"
        case NetChanges():
            return net.upserts_sql(planned.net, exact)
        case PerCommit():
            raise AssertionError("ip_changes reads no changes commit by commit")
        case Appends():
            return _appended_sql(planned, exact)


def _appended_sql(planned: Appends, exact: ExactScans | None) -> str:
    assert planned.start.snapshot_id is not None
    scan = f"{planned.table.sql}.`branch_main` {_between(planned.start.snapshot_id, planned.end.snapshot_id)}"
    if not planned.additions:
        return f"({scan})"  # dbt would insert ephemeral models at a WITH outside of parentheses
    selects = [f"select * from {scan}"] if planned.append_scan else []
    selects += [_addition_sql(planned.table, number, each, exact) for number, each in enumerate(planned.additions)]
    return "(" + " union all ".join(selects) + ")"


def _addition_sql(table: TableName, number: int, addition: Addition, exact: ExactScans | None) -> str:
    if addition.net is not None:
        return f"select * from {net.upserts_sql(addition.net, exact)}"
    logged = f"{table.sql}.`{changelog_name(number)}` {_between(addition.start_id, addition.end_id)}"
    return f"select * except ({', '.join(CHANGELOG_COLUMNS)}) from {logged}"


def changelog_sql(planned: Range, unique_key: Sequence[str] = (), exact: ExactScans | None = None) -> str:
    """The changes of a range to the table's rows, each with its ``_change_type``."""
    if isinstance(planned, NetChanges):
        return net.changelog_sql(planned.net, unique_key, exact)
    return inserted_sql(changes_sql(planned, exact))


def per_commit_sql(planned: Range, unique_key: Sequence[str] = (), exact: ExactScans | None = None) -> str:
    """The changes of each commit of a range to the table's rows, each with its ``_change_type`` and its commit.

    If the range is the whole table, all rows have the commit at its end.
    """
    if isinstance(planned, PerCommit):
        return per_commit.changelog_sql(planned, unique_key, exact)
    return with_commit_sql(changelog_sql(planned, unique_key, exact), planned.end)


def with_commit_sql(relation: str, commit: Snapshot | None) -> str:
    """The rows of a relation with the columns of one commit. Without a commit, its id and time are NULL."""
    snapshot, time = ("null", "null") if commit is None else (f"{commit.snapshot_id}L", f"{commit.timestamp_ms}L")
    return (
        f"(select *, cast({snapshot} as bigint) as {COMMIT_SNAPSHOT}, timestamp_millis({time}) as {COMMIT_TIME},"
        f" 0 as {COMMIT_ORDER} from {relation})"
    )


def changed_keys_sql(planned: Range, keys: Sequence[str], exact: ExactScans | None = None) -> str:
    """A relation with the values of some columns in all rows that a range added, removed or changed.

    It may contain other columns, the same values more than once, and the values of a few unchanged rows.
    """
    return net.keys_sql(planned.net, keys, exact) if isinstance(planned, NetChanges) else changes_sql(planned, exact)


def signed_sql(planned: Range, exact: ExactScans | None = None) -> str:
    """The rows that a range added and removed, with their sign. Rows that were only moved may have both signs."""
    if isinstance(planned, NetChanges):
        return net.signed_sql(planned.net, exact)
    return added_sql(changes_sql(planned, exact))


def uncompared_sql(planned: Range, exact: ExactScans | None = None, *, at_ends: bool) -> str | None:
    """The rows that a range added and removed, with their sign. None if rows have to be compared to find them.

    ``at_ends``: as in ``net.uncompared_sql``.
    """
    if isinstance(planned, NetChanges):
        return net.uncompared_sql(planned.net, exact, at_ends=at_ends)
    return added_sql(changes_sql(planned, exact))


def added_sql(relation: str) -> str:
    """The rows of a relation, each with the sign of an added row."""
    return f"(select *, 1 as {CHANGE_SIGN} from {relation})"


def inserted_sql(relation: str) -> str:
    """The rows of a relation as a changelog in which every row is inserted."""
    return f"(select *, 'INSERT' as {CHANGE_TYPE} from {relation})"


def as_of_sql(planned: Range) -> str:
    """The whole table at the end of a range."""
    if planned.end is None:
        return empty_sql(planned.table)
    return planned.table.at_sql(planned.end.snapshot_id, has_other_names=planned.end.has_other_names)


def no_rows_sql(planned: Range) -> str:
    """No rows, with the columns of the table at the end of a range."""
    if planned.end is None:
        return empty_sql(planned.table)
    return f"{planned.table.at_sql(planned.end.snapshot_id, has_other_names=False, as_name=True)} {_NO_ROWS}"


def _pinned(table: TableName, end: Snapshot) -> str:
    # With VERSION AS OF, SQL could qualify columns by the table's own name, and would fail in a run that reads a range.
    return table.at_sql(end.snapshot_id, has_other_names=end.has_other_names, as_name=True)


def empty_sql(table: TableName) -> str:
    """No rows, with the table's columns. Spark plans it as an empty local relation."""
    return f"{table.sql} {_NO_ROWS}"


def _between(start: int, end: int) -> str:
    return f"WITH (`start-snapshot-id` = '{start}', `end-snapshot-id` = '{end}')"
