"""Any query as a tree, with all that is not known about it left open: to follow its columns, not to compute rows.

A relation whose columns are not known has the column ``*``, which stands for all of them. A name that several such
relations may have refers to a call ``ip_either`` of these columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ..table.history import TableName
from .algebra import nodes as op
from .algebra.build import Builder
from .algebra.names import OPEN, Ctes, Frame, Scope, either
from .algebra.nodes import column
from .algebra.opaque import MISREAD
from .algebra.tree import Tree
from .text.dialect import PlainSpark
from .text.parsing import Columns, query_in
from .text.refusal import OtherRelation, Refusal

TEXT = "ip_text"
"""The mark of calls and windows with their SQL in the query."""

_UNKNOWN = Scope(Frame((), ((OPEN, column(("ip_unknown", OPEN))),)), None, {})
"""Where names are resolved that no relation has, such as ``current_date``."""


def any_tree(sql: str, columns: Mapping[TableName, Columns]) -> Tree | None:
    """The tree of any SELECT. None for other statements, and for those that cannot be read.

    ``columns``: those of the tables that are known. Raises SqlglotError for a text that cannot be parsed.
    """
    parsed = query_in(sql)
    if parsed is None:
        return None
    for some in list(parsed.find_all(exp.Any)):
        if not isinstance(some.parent, exp.Binary):  # the aggregate, not = any (subquery)
            some.replace(exp.Anonymous(this="any", expressions=[some.this.unnest()]))
    for each in parsed.find_all(exp.Anonymous, exp.Window):
        each.meta[TEXT] = each.sql(PlainSpark, normalize_functions="lower")
    builder = _AnyBuilder(columns, "")
    try:
        root = builder.query(parsed, {}, _UNKNOWN)
    except MISREAD:
        return None
    return Tree(root, builder.tables, {}, builder.types, builder.subqueries, builder.limits)


class _AnyBuilder(Builder):
    def _aliased(self, found: op.Result, alias: str) -> op.Alias:
        return op.Alias(found, alias)

    def _plain_relation(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> tuple[op.Rows, Frame]:
        try:
            return super()._plain_relation(node, ctes, outer)
        except Refusal:
            rows = op.Values(exp.Values(expressions=[]), self._alias(), (OPEN,))
            return rows, Frame.of((node.alias.lower(),), rows, node.alias_column_names or rows.names)

    def _table(self, node: exp.Table, alias: tuple[str, ...], names: Sequence[str]) -> tuple[op.Rows, Frame]:
        try:
            return super()._table(node, alias, names)
        except OtherRelation:
            parts = tuple(each.name.lower() for each in node.parts)
            scan = op.Scan(".".join(parts), self._alias(), (OPEN,))
            return scan, Frame.of(alias or parts, scan, names or scan.names)

    def _outputs(self, node: exp.Expr, scope: Scope, number: int) -> list[tuple[str, exp.Expr]]:
        try:
            found = super()._outputs(node, scope, number)
        except Refusal:  # the fields of a column, or * with other clauses
            return [(OPEN, either([value for _, value in scope.frame.visible]))]
        star = node.find(exp.Star)
        left_out = [] if star is None or (OPEN not in dict(found)) else star.args.get("except_") or []
        return [*found, *((each.name, exp.null()) for each in left_out)]

    def _with_generators(
        self, select: exp.Select, rows: op.Rows, frame: Frame, ctes: Ctes, outer: Scope | None
    ) -> tuple[op.Rows, Frame, list[exp.Expr]]:
        try:
            return super()._with_generators(select, rows, frame, ctes, outer)
        except Refusal:  # a generator of groups
            return rows, frame, select.expressions

    def _require_groups(self, rows: op.Rows, values: Sequence[exp.Expr]) -> None:
        """Leave that to Spark."""
