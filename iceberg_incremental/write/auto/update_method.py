"""How a query is updated incrementally, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...plan.rebuild_cost import cost_of_scans
from ...query.plan import IncrementalQuery
from ...query.rules.operators import Operator
from ...query.rules.sources import Restriction, SourceRows
from ...query.text.refusal import Refusal
from ...table.history import TableName

_MOST_LENGTH = 2_000


@dataclass(frozen=True)
class ReadRows:
    """The rows of a source that a run reads to recompute the affected rows. Without ``by``, all rows.

    ``by``: the columns whose values must be those of an affected key.
    """

    source: str
    by: Sequence[Restriction] = ()


@dataclass(frozen=True)
class NotIncremental:
    """The construct that prevents incremental updates of a model. ``line``: its line in the compiled SQL, from 1.

    ``instead``: an alternative; empty if there is none.
    """

    construct: str
    line: int | None = None
    instead: str = ""


@dataclass(frozen=True)
class OperatorTree:
    """An operator of a query, and how a run finds its changed rows.

    ``how``: ``incremental`` (from changed rows), ``grouped`` (the groups, partitions or values with a changed row),
    ``compared`` (all rows, in both states) or ``opaque`` (all rows count as changed). ``sources``: the tables that it
    reads. ``rows``: the number of their rows. ``seconds``: the estimated CPU time to read whole tables in order to find
    its changed rows, if all of its sources have changed. ``inputs``: the operators that it reads.
    """

    operator: str
    text: str
    how: str
    sources: Sequence[str]
    rows: int | None
    seconds: float | None
    inputs: Sequence[OperatorTree]


@dataclass(frozen=True)
class UpdateMethod:
    """How a model's table is updated incrementally.

    ``key``: the columns by which rows are replaced; if empty, each change affects all rows. ``key_of``: the rows whose
    key values are affected: ``read rows`` (changed rows of the sources) or ``result rows`` (changed rows of the
    result). ``reads``: the rows that are read to recompute affected rows. ``updated``: the sums, counts and extremes
    that are updated from the changed rows alone, if possible. ``operators``: those of the query.
    """

    key: Sequence[str]
    key_of: str
    reads: Sequence[ReadRows]
    updated: Sequence[str] = ()
    whole: NotIncremental | None = None
    operators: Sequence[OperatorTree] = ()


def update_method(kept: IncrementalQuery, rows: Mapping[TableName, int] | None = None) -> UpdateMethod:
    """How a query is updated incrementally. ``rows``: the numbers of rows of its tables; None without operators."""
    found = () if rows is None else kept.operators()
    listed = [_operator_tree(each, kept.reading.tables, rows or {}) for each in found]
    reads = [ReadRows(str(each.table), each.by) for each in _merged(kept.source_rows())]
    updated = () if kept.summary is None else tuple(each.column for each in kept.summary.measures)
    whole = None if kept.whole is None else not_incremental(kept.whole)
    return UpdateMethod(kept.key, "read rows" if kept.of_rows else "result rows", reads, updated, whole, listed)


def _operator_tree(found: Operator, tables: Mapping[str, TableName], rows: Mapping[TableName, int]) -> OperatorTree:
    read = [tables[name] for name in found.tables]
    known = all(table in rows for table in read)
    scanned = sum(times * rows.get(tables[name], 0) for name, times in found.scans.items())
    return OperatorTree(
        found.name,
        found.text,
        found.how,
        [str(table) for table in read],
        sum(rows[table] for table in read) if known else None,
        round(cost_of_scans(sum(found.scans.values()), scanned), 2) if known else None,
        [_operator_tree(each, tables, rows) for each in found.inputs],
    )


def _merged(found: Sequence[SourceRows]) -> list[SourceRows]:
    """The reads, without restricted reads of sources that are also read as a whole."""
    whole = {each.table for each in found if not each.by}
    return [each for each in found if not each.by or each.table not in whole]


def not_incremental(refusal: Refusal) -> NotIncremental:
    """The reason why a query is not updated incrementally."""
    return NotIncremental(refusal.construct, refusal.line, refusal.instead)


def update_method_text(kept: IncrementalQuery) -> str:
    """How a query is updated incrementally, in one line."""
    how = update_method(kept)
    whole = [
        each
        for tree in kept.operators(counts_scans=False)
        for each in tree.walk()
        if each.how in ("compared", "opaque")
    ]
    parts = [f"{each.how}: {each.name} {each.text}".strip() for each in whole]
    text = "; ".join([key_text(how), *(rows_read_text(each) for each in how.reads), *parts])
    return text if len(text) <= _MOST_LENGTH else f"{text[:_MOST_LENGTH]}..."


def because_text(why: NotIncremental) -> str:
    """The construct that prevents incremental updates, and what to write instead."""
    place = "" if why.line is None else f" (line {why.line})"
    return f"because of {why.construct}{place}" + (f"; {why.instead}" if why.instead else "")


def key_text(how: UpdateMethod) -> str:
    """The columns by which rows are replaced, and what is updated without replacing rows."""
    updated = f"{', '.join(how.updated)} updated from changed rows alone, where possible" if how.updated else ""
    if how.whole is not None:
        return f"as a whole, {because_text(how.whole)}: each change affects all rows"
    if not how.key:
        return f"as a whole: {updated or 'each change affects all rows'}"
    rows = "rows that it reads" if how.key_of == "read rows" else "rows of its result"
    return f"by {', '.join(how.key)} (values of changed {rows})" + (f"; {updated}" if updated else "")


def rows_read_text(found: ReadRows) -> str:
    """Which rows of a source are read."""
    if not found.by:
        return f"{found.source}: read as a whole"
    conditions = [
        f"{each.column} is an affected {each.key}" + (f" (by {each.through})" if each.through else "")
        for each in found.by
    ]
    return f"{found.source}: read where {' and '.join(conditions)}"
