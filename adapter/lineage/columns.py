"""The input columns of each column of a query's result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from iceberg_incremental.query.algebra import nodes as op
from iceberg_incremental.query.algebra.flow import Flow
from iceberg_incremental.query.algebra.tree import Tree
from iceberg_incremental.query.any_sql import any_tree
from iceberg_incremental.query.text import functions
from iceberg_incremental.table.history import TableName


@dataclass(frozen=True, order=True)
class Origin:
    """A column from which another one is computed.

    ``subtype``: OpenLineage's ``IDENTITY``, ``TRANSFORMATION`` or ``AGGREGATION``.
    """

    table: TableName
    column: str
    subtype: str


def column_lineage(
    sql: str, inputs: Mapping[TableName, Mapping[str, str]], output: Collection[str]
) -> dict[str, tuple[Origin, ...]]:
    """The origins of the columns in ``output``. Columns without origins are omitted.

    ``inputs``: the columns of each table with their types. Raises SqlglotError for SQL that cannot be parsed.
    """
    tree = any_tree(sql, inputs)
    if tree is None:
        return {}
    origins, written = _Origins(tree), {name.lower(): name for name in output}
    listed = [name for name in op.names_of(tree.root) if name.lower() in written]
    found = {written[name.lower()]: origins.of(origins.flow.outputs(tree.root, name)) for name in listed}
    return {name: tuple(sorted(each)) for name, each in found.items() if each}


_SUBTYPES = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_OF_ROWS = (functions.AGGREGATES | functions.EXACT_IN_WINDOWS | functions.INEXACT_IN_WINDOWS) - {"row_number"}


def _subtype(value: exp.Expr) -> str:
    """How an expression uses the columns in it."""
    if any(each.name.lower() in _OF_ROWS for each in value.find_all(exp.Anonymous)):
        return "AGGREGATION"
    is_column = isinstance(value, exp.Column) and value.table != op.SUBQUERY
    return "IDENTITY" if is_column else "TRANSFORMATION"


class _Origins:
    def __init__(self, tree: Tree) -> None:
        self.flow = Flow(tree)
        self._tables = tree.tables
        self._known: dict[op.Column, frozenset[Origin]] = {}

    def of(self, values: Iterable[tuple[op.Node, exp.Expr]]) -> frozenset[Origin]:
        """The origins of some expressions."""
        return frozenset(
            replace(origin, subtype=max(origin.subtype, _subtype(value), key=_SUBTYPES.index))
            for _, value in values
            for column in value.find_all(exp.Column)
            for origin in self._of_column(column)
        )

    def _of_column(self, column: exp.Column) -> frozenset[Origin]:
        name = (column.table, column.name)
        if name not in self._known:
            owner = self.flow.owner(column)
            if isinstance(owner, op.Scan) and owner.table in self._tables:
                self._known[name] = frozenset((Origin(self._tables[owner.table], column.name, "IDENTITY"),))
            else:
                self._known[name] = self.of(self.flow.inputs(column))
        return self._known[name]
