"""The input columns of each column of a query's result, as determined by sqlglot."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iceberg_incremental.table.history import TableName

if TYPE_CHECKING:
    from sqlglot.lineage import Node as LineageNode

_DIALECT = "spark"


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
    from sqlglot import exp, parse_one
    from sqlglot.lineage import lineage
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope
    from sqlglot.schema import MappingSchema

    schema = MappingSchema(_nested(inputs), dialect=_DIALECT)
    query = qualify(
        parse_one(sql, dialect=_DIALECT),
        dialect=_DIALECT,
        schema=schema,
        validate_qualify_columns=False,
        identify=False,
    )
    scope = build_scope(query)
    if scope is None or not isinstance(query, exp.Query):
        return {}
    tables = {_key(table): table for table in inputs}
    written = {name.lower(): name for name in output}
    found: dict[str, tuple[Origin, ...]] = {}
    for selected in query.named_selects:
        name = written.get(selected.lower())
        if name is not None:
            node = lineage(selected, query, schema=schema, dialect=_DIALECT, scope=scope, copy=False)
            origins = set(_origins(node, tables, inputs, "IDENTITY"))
            if origins:
                found[name] = tuple(sorted(origins))
    return found


def _origins(
    node: LineageNode,
    tables: Mapping[tuple[str, ...], TableName],
    inputs: Mapping[TableName, Mapping[str, str]],
    subtype: str,
) -> Iterator[Origin]:
    """The columns of tables at the ends of a column's lineage."""
    from sqlglot import exp

    if node.downstream:
        subtype = max(subtype, _subtype(node.expression), key=_SUBTYPES.index)
        for each in node.downstream:
            yield from _origins(each, tables, inputs, subtype)
    elif isinstance(node.expression, exp.Table):
        source = node.expression
        table = tables.get((source.catalog.lower(), source.db.lower(), source.name.lower()))
        if table is not None:
            read = exp.to_column(node.name).name.lower()
            yield from (Origin(table, name, subtype) for name in inputs[table] if name.lower() == read)


_SUBTYPES = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


def _subtype(expression: Any) -> str:
    """How an expression in a SELECT uses the columns in it."""
    from sqlglot import exp

    if isinstance(expression, exp.Query):
        return "IDENTITY"  # a query of a set operation: the nodes of its expressions follow
    if expression.find(exp.AggFunc) is not None:
        return "AGGREGATION"
    return "IDENTITY" if isinstance(expression.unalias(), exp.Column) else "TRANSFORMATION"


def _key(table: TableName) -> tuple[str, ...]:
    return table.catalog.lower(), table.namespace.lower(), table.name.lower()


def _nested(inputs: Mapping[TableName, Mapping[str, str]]) -> dict[str, Any]:
    """The columns of tables as nested mappings for sqlglot: by catalog, namespace and name."""
    nested: dict[str, Any] = {}
    for table, columns in inputs.items():
        nested.setdefault(table.catalog, {}).setdefault(table.namespace, {})[table.name] = dict(columns)
    return nested
