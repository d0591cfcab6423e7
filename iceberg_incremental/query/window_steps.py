"""Splitting a SELECT whose windows have no common PARTITION BY into two, each with some of the windows."""

from __future__ import annotations

from itertools import count

from sqlglot import exp

from . import normal
from .reading import own_nodes
from .stars import require_no_field_names
from .supported import is_generator
from .together import aggregates_of, windows_of


def without_mixed_windows(select: exp.Select, numbers: count[int]) -> None:
    """Compute the windows that share a PARTITION BY with the first one in a derived table, if others do not.

    The rows of the derived table are those of FROM and WHERE, so the other windows see the same rows.
    """
    windows = windows_of(select)
    partitions = [window.args.get("partition_by") or [] for window in windows]
    if normal.grouped_by(select) is not None or aggregates_of(select) or not all(partitions):
        return
    if any(is_generator(node) for each in select.expressions for node in own_nodes(each)):
        return  # Spark computes windows over the rows that a generator returns
    common: list[exp.Expr] = list(partitions[0]) if partitions else []
    first: list[exp.Window] = []
    for window, partition in zip(windows, partitions, strict=True):
        shared = [each for each in common if each in partition]
        if shared:
            common, first = shared, [*first, window]
    if len(first) == len(windows):
        return
    derived = exp.TableAlias(this=exp.to_identifier(f"ip_windows_{next(numbers)}", quoted=True))
    names: dict[exp.Expr, str] = {}
    inner = select.copy()
    for key in ("distinct", "hint"):
        inner.set(key, None)
    for window in first:
        name = names.setdefault(window.copy(), f"c{len(names)}")
        window.replace(exp.column(name, derived.name, quoted=True))
    for column in _own_columns(select):
        require_no_field_names(column)
        name = names.setdefault(column.copy(), f"c{len(names)}")
        column.replace(exp.column(name, derived.name, quoted=True))
    inner.set("expressions", [exp.alias_(each, name, quoted=True) for each, name in names.items()])
    for key in ("joins", "laterals", "where"):
        select.set(key, None)
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=derived)))


def _own_columns(select: exp.Select) -> list[exp.Column]:
    """The columns of the relations in FROM that the SELECT list reads, including its subqueries."""
    laterals = [each.alias_or_name for each in select.args.get("laterals") or ()]
    aliases = {*laterals, *(alias for alias, _, _ in normal.clauses(select))}
    return [column for each in select.expressions for column in each.find_all(exp.Column) if column.table in aliases]
