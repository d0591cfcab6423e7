"""Net changes as SQL text: the rows that differ between the two ends of a range.

A row of the end counts 1 and a row of the start -1. The sums by all columns are the multiset difference. Values are
compared as in Spark's GROUP BY (NULL equals NULL, NaN equals NaN), except that 0.0 and -0.0 differ. Only rows that may
differ are read and compared (see ``parts``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..plan.ranges import CHANGE_SIGN, CHANGE_TYPE, NetRange
from ..spark.port import ExactScans
from ..sql import sql_name, sql_names, unused
from ..table.files import TableColumn
from ..table.types import has_floats
from .one_task import net_in_one_task
from .parts import Part, names_of, parts_of, touched_rows
from .projection import sortable


def upserts_sql(net: NetRange, exact: ExactScans | None) -> str:
    """The new and changed rows of the end, each as often as it was added."""
    if net.start_id is None:
        return f"({touched_rows(net, exact).select(names_of(net))})"
    names = names_of(net)
    count, item = unused("_ip_n", names), unused("_ip_i", names)
    return (
        f"(select {sql_names(names)} from ({_difference(net, count, exact)} having sum({count}) > 0)"
        f" lateral view explode(sequence(1L, {count})) {item} as {item})"
    )


def changelog_sql(net: NetRange, unique_key: Sequence[str], exact: ExactScans | None) -> str:
    """The added and removed rows, with ``_change_type``.

    A removed and an added row with the same key are the row before and after an update.
    """
    names = names_of(net)
    if net.start_id is None:
        inserted = f"'INSERT' as {CHANGE_TYPE}"
        return f"({touched_rows(net, exact).select(names, inserted)})"
    count, kind = (unused(name, names) for name in ("_ip_n", "_ip_kind"))
    both = counted_rows_sql(f"{_difference(net, count, exact)} having sum({count}) <> 0", names, count, kind)
    change = change_type_sql(kind, unique_key) if unique_key else kind
    return f"(select {sql_names(names)}, {change} as {CHANGE_TYPE} from ({both}))"


def counted_rows_sql(difference: str, names: Sequence[str], count: str, kind: str, *more: str) -> str:
    """The query for the added and removed rows, each as often as it was added or removed, with ``kind``.

    ``kind``: the name of the column that contains INSERT or DELETE. ``difference``: the query for the distinct rows.
    Its column ``count`` is the number of times that a row was added, or negative if it was removed. ``more``: further
    columns of ``difference``.
    """
    item = unused("_ip_i", names)
    return (
        f"select {', '.join([sql_names(names), *more])}, if({count} > 0, 'INSERT', 'DELETE') as {kind}"
        f" from ({difference}) lateral view explode(sequence(1L, abs({count}))) {item} as {item}"
    )


def change_type_sql(kind: str, unique_key: Sequence[str]) -> str:
    """The type of a row's change. If a key has rows of both kinds, they are the rows before and after an update."""
    window = f"over (partition by {sql_names(unique_key)})"
    return (
        f"case when not min({kind}) {window} <> max({kind}) {window} then {kind}"
        f" when {kind} = 'INSERT' then 'UPDATE_AFTER' else 'UPDATE_BEFORE' end"
    )


def signed_sql(net: NetRange, exact: ExactScans | None) -> str:
    """The added and removed rows, each with its sign.

    Rows are not compared, so the result may contain pairs that cancel out. Spark reads only the columns that the caller
    uses.
    """
    names = names_of(net)
    if net.start_id is None:
        return f"({touched_rows(net, exact).select(names, f'1 as {CHANGE_SIGN}')})"
    return f"({' union all '.join(part.select(names, CHANGE_SIGN) for part in parts_of(net, exact))})"


def uncompared_sql(net: NetRange, exact: ExactScans | None, *, at_ends: bool) -> str | None:
    """The added and removed rows, each with its sign, without a comparison of their values.

    A row whose update changed no value is both removed and added. ``at_ends``: excludes rows that existed only within
    the range, so that each added row is in the table at the end. None if rows have to be compared.
    """
    if net.start_id is None:
        return signed_sql(net, exact)
    parts = _parts_without_moved(net, exact)
    if parts is None or (at_ends and (net.segments or any(part.is_log for part in parts))):
        return None
    return _all_of(net, parts, names_of(net), CHANGE_SIGN)


def keys_sql(net: NetRange, keys: Sequence[str], exact: ExactScans | None) -> str:
    """The values of some columns in all added and removed rows. The same values may occur more than once.

    If the added and removed rows are known without a comparison, only these columns are read. A row whose update
    changed no value is then included.
    """
    parts = None if net.start_id is None else _parts_without_moved(net, exact)
    if parts is None:
        return changelog_sql(net, (), exact)
    names = [column.name for key in keys if (column := net.changed.column(key)) is not None]
    count = unused("_ip_n", names)
    return _all_of(net, parts, names, count)


def _parts_without_moved(net: NetRange, exact: ExactScans | None) -> list[Part] | None:
    """The parts of a range, without rows that were only moved. None if only a comparison identifies these rows."""
    if net.may_have_moved_rows:
        return None
    parts = parts_of(net, exact, apart=True)
    return None if any(part.has_unchanged for part in parts) else parts


def _all_of(net: NetRange, parts: Sequence[Part], names: Sequence[str], count: str) -> str:
    """The rows of all parts of a range. If they are few, one task processes them."""
    rows = " union all ".join(part.select(names, count) for part in parts)
    hint = "" if any(part.has_unchanged for part in parts) else net_in_one_task(net)
    return f"(select {hint}* from ({rows}))" if hint else f"({rows})"


def _difference(net: NetRange, count: str, exact: ExactScans | None) -> str:
    """The query for each distinct row with ``count``: how many more of it the end has than the start.

    The caller adds the HAVING clause.
    """
    shown, keys = grouped(net.columns)
    rows = _all_of(net, parts_of(net, exact), names_of(net), count)
    return f"select {', '.join(shown)}, sum({count}) as {count} from {rows} group by {', '.join(keys)}"


def grouped(columns: Sequence[TableColumn]) -> tuple[list[str], list[str]]:
    """The SELECT list and the GROUP BY list of a query that groups rows by all of these columns."""
    shown, keys = [], []
    for column in columns:
        name = sql_name(column.name)
        key = sortable(name, column.type)
        keys.append(key)
        if has_floats(column.type):
            # GROUP BY treats -0.0 as 0.0, also in its result. As text, they differ.
            keys.append(f"string({key})")
        shown.append(name if keys[-1] == name else f"any_value({name}) as {name}")
    return shown, keys
