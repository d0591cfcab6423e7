"""Models that select all columns of a source that is altered, and the columns of their tables.

Rows of such a table are pairs of column names and values, sorted by name.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from .kinds import Kind, Row, Rows

Columns = tuple[tuple[str, str], ...]
"""Names and types of columns."""


def named(values: dict[str, Any], columns: Columns) -> Row:
    """A row by its columns' names. Missing values are NULL."""
    return tuple(sorted((name, values.get(name)) for name, _ in columns))


def altered(columns: Columns, now: Columns, policy: str) -> Columns | None:
    """The columns of a table after rows with other columns were written. None if the policy is to fail."""
    theirs, ours = dict(now), dict(columns)
    new = tuple(each for each in now if each[0] not in ours)
    if policy == "ignore":
        return columns if theirs.keys() >= ours.keys() else None
    if policy == "fail":
        return columns if theirs == ours else None
    if policy == "append_new_columns":
        return columns + new
    return tuple((name, theirs[name]) for name, _ in columns if name in theirs) + new


def written(before: Rows, columns: Columns, rows: Rows, now: Columns, kind: Kind) -> tuple[Rows, Columns] | None:
    """The table after the kind has written these rows of the source. None if it must fail."""
    result = altered(columns, now, kind.config["on_schema_change"])
    if result is None:
        return None
    old = [dict(row) for row in before.elements()]
    new = [dict(zip((name for name, _ in now), row, strict=False)) for row in rows.elements()]
    if kind.config["incremental_strategy"] == "merge":
        held = {row["id"]: row for row in old}
        for row in new:  # columns that the rows lack keep their values
            held[row["id"]] = {**held.get(row["id"], {}), **row}
        return Counter(named(row, result) for row in held.values()), result
    return Counter(named(row, result) for row in (*old, *new)), result


def _never(*_: object) -> Rows:
    raise AssertionError("the oracle folds such tables with their columns")


def _star(policy: str, **config: object) -> Kind:
    config = {"on_schema_change": policy, **config}
    sql = "select * from {{ ip_changes(SOURCE) }} as c"
    return Kind(
        f"star_{policy}", sql, _never, config, source=("changes",), policies=("fail", "full_refresh", "upserts"),
        needs_key=config["incremental_strategy"] == "merge", is_exact=False, is_star=True,
    )  # fmt: skip


STAR_KINDS = (
    _star("ignore", incremental_strategy="append"),
    _star("append_new_columns", incremental_strategy="merge", unique_key="id"),
    _star("sync_all_columns", incremental_strategy="merge", unique_key="id"),
    _star("fail", incremental_strategy="append"),
    _star("ignore", incremental_strategy="merge", unique_key="id"),
)
