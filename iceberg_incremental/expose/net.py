"""Net changes: the rows by which a table differs between the two ends of a range, as SQL text.

The rows of the end count +1 and those of the start -1; grouped by all columns, what is left is the multiset difference.
Values are compared as Spark's GROUP BY compares them (NULL equals NULL, NaN equals NaN), but 0.0 and -0.0 differ.
Only rows of the parts that may differ are read and compared: see ``parts``.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..plan.ranges import CHANGE_SIGN, CHANGE_TYPE, NetRange
from ..spark.scans import ExactScans
from ..sql import sql_name, sql_names, unused
from ..table.changed_files import TableColumn
from ..table.types import has_floats
from .one_task import net_in_one_task
from .parts import Part, names_of, parts_of, touched_rows
from .projection import sortable


def upserts_sql(net: NetRange, exact: ExactScans | None) -> str:
    """The rows of the end that are new or have changed, as often as they are."""
    if net.start_id is None:
        return f"({touched_rows(net, exact).select(names_of(net))})"
    names = names_of(net)
    count, item = unused("_ip_n", names), unused("_ip_i", names)
    return (
        f"(select {sql_names(names)} from ({_difference(net, count, exact)} having sum({count}) > 0)"
        f" lateral view explode(sequence(1L, {count})) {item} as {item})"
    )


def changelog_sql(net: NetRange, unique_key: Sequence[str], exact: ExactScans | None) -> str:
    """The rows that came and went, with ``_change_type``; those that share a key are its before and its after."""
    names = names_of(net)
    if net.start_id is None:
        inserted = f"'INSERT' as {CHANGE_TYPE}"
        return f"({touched_rows(net, exact).select(names, inserted)})"
    count, kind = (unused(name, names) for name in ("_ip_n", "_ip_kind"))
    both = counted_rows_sql(f"{_difference(net, count, exact)} having sum({count}) <> 0", names, count, kind)
    change = change_type_sql(kind, unique_key) if unique_key else kind
    return f"(select {sql_names(names)}, {change} as {CHANGE_TYPE} from ({both}))"


def counted_rows_sql(difference: str, names: Sequence[str], count: str, kind: str, *more: str) -> str:
    """The query for the rows that came and went, as often as they did, with ``kind``: INSERT or DELETE.

    ``difference``: the query for each distinct row, with how often it came as ``count``, negative if it went.
    ``more``: further columns of it.
    """
    item = unused("_ip_i", names)
    return (
        f"select {', '.join([sql_names(names), *more])}, if({count} > 0, 'INSERT', 'DELETE') as {kind}"
        f" from ({difference}) lateral view explode(sequence(1L, abs({count}))) {item} as {item}"
    )


def change_type_sql(kind: str, unique_key: Sequence[str]) -> str:
    """What happened to a row: of a key with rows of both kinds, one is as it was before an update, one as after it."""
    window = f"over (partition by {sql_names(unique_key)})"
    return (
        f"case when not min({kind}) {window} <> max({kind}) {window} then {kind}"
        f" when {kind} = 'INSERT' then 'UPDATE_AFTER' else 'UPDATE_BEFORE' end"
    )


def signed_sql(net: NetRange, exact: ExactScans | None) -> str:
    """The rows that came and went, each with its sign: those that cancel out too, where that takes no comparison.

    Spark reads only the columns that the caller uses.
    """
    names = names_of(net)
    if net.start_id is None:
        return f"({touched_rows(net, exact).select(names, f'1 as {CHANGE_SIGN}')})"
    return f"({' union all '.join(part.select(names, CHANGE_SIGN) for part in parts_of(net, exact))})"


def uncompared_sql(net: NetRange, exact: ExactScans | None, *, at_ends: bool) -> str | None:
    """The rows that came and went, each with its sign, without a comparison of their values.

    A row that was set to what it was is one that came and went then. ``at_ends``: without rows that were there only in
    between, so that each row that came is one of the end. None where rows have to be compared.
    """
    if net.start_id is None:
        return signed_sql(net, exact)
    parts = _parts_apart(net, exact)
    if parts is None or (at_ends and (net.segments or any(part.is_log for part in parts))):
        return None
    return _all_of(net, parts, names_of(net), CHANGE_SIGN)


def keys_sql(net: NetRange, keys: Sequence[str], exact: ExactScans | None) -> str:
    """The values of some columns in all rows that came or went, each maybe more than once.

    Where rows need not be compared to know that they are others, only these columns are read. A row that was set to
    what it was is one that came and went then.
    """
    parts = None if net.start_id is None else _parts_apart(net, exact)
    if parts is None:
        return changelog_sql(net, (), exact)
    names = [column.name for key in keys if (column := net.changed.column(key)) is not None]
    count = unused("_ip_n", names)
    return _all_of(net, parts, names, count)


def _parts_apart(net: NetRange, exact: ExactScans | None) -> list[Part] | None:
    """The parts of a range, if none has rows that were only moved; None where only a comparison shows those."""
    if not net.tells_rows_apart:
        return None
    parts = parts_of(net, exact, apart=True)
    return None if any(part.has_unchanged for part in parts) else parts


def _all_of(net: NetRange, parts: Sequence[Part], names: Sequence[str], count: str) -> str:
    """The rows of all parts of a range, in one task where they are few."""
    rows = " union all ".join(part.select(names, count) for part in parts)
    hint = "" if any(part.has_unchanged for part in parts) else net_in_one_task(net)
    return f"(select {hint}* from ({rows}))" if hint else f"({rows})"


def _difference(net: NetRange, count: str, exact: ExactScans | None) -> str:
    """Each distinct row with how often the end has it more than the start; the HAVING clause is the caller's."""
    shown, keys = grouped(net.columns)
    rows = _all_of(net, parts_of(net, exact), names_of(net), count)
    return f"select {', '.join(shown)}, sum({count}) as {count} from {rows} group by {', '.join(keys)}"


def grouped(columns: Sequence[TableColumn]) -> tuple[list[str], list[str]]:
    """What a SELECT lists of rows that it groups by all of these columns, and what it groups by."""
    shown, keys = [], []
    for column in columns:
        name = sql_name(column.name)
        key = sortable(name, column.type)
        keys.append(key)
        if has_floats(column.type):
            # GROUP BY takes 0.0 for -0.0, also in what it gives back; as text they differ
            keys.append(f"string({key})")
        shown.append(name if keys[-1] == name else f"any_value({name}) as {name}")
    return shown, keys
