"""A complete query: with orders for LIMIT and for windows, and with marks in the places of texts that mean a time.

Rows that are equal in an incomplete order can be in any order. Of the results that the SQL allows, a complete query has
always the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import TokenType, exp

from ..table.history import TableName
from .algebra import nodes as op
from .algebra.build import build
from .algebra.nodes import all_nodes, column, expressions_of
from .algebra.tree import Tree, sort_keys
from .rules.determined import Determined
from .rules.steady import counts_rows
from .text.clauses import with_complete_orders
from .text.clock import DAYS, text_mark
from .text.dialect import PlainSpark, may_be_moment
from .text.parsing import Columns, parsed, spark_text
from .text.refusal import Refusal
from .text.supported import COMPARISONS, is_generator, name_of, require_columns, require_supported
from .text.tokens import edited
from .text.types import tells_apart


def complete_text(sql: str, columns: Mapping[TableName, Columns], catalog: str) -> str:
    """The text of a query that Spark executes: without QUALIFY, and with complete orders for LIMIT. Raises Refusal."""
    return with_complete_orders(spark_text(sql), lambda text: build(parsed(text), columns, catalog).limits)


def supported(sql: str, columns: Mapping[TableName, Columns]) -> exp.Query:
    """The parsed text of a query. Raises Refusal for a construct whose affected rows are not known."""
    tree = parsed(sql)
    require_supported(tree.walk(bfs=False))
    require_columns(tree, {name.lower() for found in columns.values() for name in found})
    return tree


def with_marks_of_texts(sql: str, columns: Mapping[TableName, Columns], catalog: str) -> str:
    """The text with marks in the places of texts such as ``'today'``, if Spark certainly casts all of them to times.

    ``columns``: those of each relation. ``catalog``: the default catalog.
    """
    tokens = PlainSpark().tokenize(sql)
    places = [at for at, each in enumerate(tokens) if each.token_type is TokenType.STRING and may_be_moment(each.text)]
    words = {at: tokens[at].text.strip().lower() for at in places}
    if not places or not set(words.values()) <= {*DAYS, "now"}:
        return sql
    try:
        tree = build(supported(sql, columns), columns, catalog)
    except Refusal:
        return sql
    parts = [part for node in all_nodes(tree.root, tree.subqueries) for part in expressions_of(node)]
    parts += [value for each in tree.subqueries.values() for value in each.values]
    texts = [each for part in parts for each in part.find_all(exp.Literal) if may_be_moment(each.name)]
    if not all(_is_cast(each, tree.types.of) for each in texts if each.is_string):
        return sql
    edits = []
    for at in places:
        start, mark = tokens[at].start, text_mark(words[at])
        before = tokens[at - 1] if at else None
        if before is not None and before.text.lower() in _TYPES:  # date 'today'
            start, mark = before.start, f"cast({mark} as {before.text})"
        edits.append((start, tokens[at].end + 1, mark))
    return edited(sql, edits)


_TYPES = ("date", "timestamp", "timestamp_ntz", "timestamp_ltz")
_CASTS = (*_TYPES, "to_date", "to_timestamp", "try_to_date", "try_to_timestamp")
_COMPARED = (*COMPARISONS, exp.Between, exp.In)


def _is_cast(text: exp.Literal, type_of: Callable[[exp.Expr], str | None]) -> bool:
    """Whether Spark casts a text to a time."""
    above = text.parent
    if isinstance(above, (exp.Cast, exp.TryCast)):
        return str(above.to.sql(PlainSpark)).lower().startswith(_TYPES)
    if isinstance(above, exp.Anonymous):
        return above.name.lower() in _CASTS and len(above.expressions) == 1
    if not isinstance(above, _COMPARED):
        return False
    others = [each for each in above.iter_expressions() if not isinstance(each, exp.Literal)]
    return bool(others) and all((type_of(each) or "").startswith(_TYPES) for each in others)


_NUMBERING = ("row_number", "ntile", "lag", "lead")
"""The functions that depend on the order of rows that are equal in ORDER BY. With a frame of rows, all functions do."""


def with_complete_windows(tree: Tree) -> Tree:
    """The tree with complete orders of windows: by all columns that their SELECT reads. The same one if all are.

    An order stays incomplete if one of the columns cannot be compared exactly. Also if a SELECT has windows of several
    orders, because equal rows could then have different places in them. The peers of ``rank()`` and of RANGE are equal
    in the order as it is written.
    """
    found = _Completed(tree)
    inner = {name: replace(each, query=found.of(each.query)) for name, each in tree.subqueries.items()}
    root = found.of(tree.root)
    same = root is tree.root and all(each.query is tree.subqueries[name].query for name, each in inner.items())
    return tree if same else replace(tree, root=root, subqueries=inner)


class _Completed:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._determined = Determined(tree)
        self._sorted = sort_keys(tree)
        self._known: dict[op.Node, op.Node] = {}

    def of(self, node: op.Result) -> op.Result:
        """A result with complete orders of windows."""
        return self._node(node)  # type: ignore[return-value] # a result

    def _node(self, node: op.Node) -> op.Node:
        if node not in self._known:
            if isinstance(node, op.Project):
                rows = self._rows(node.child, [*op.expressions_of(node), *self._sorted.get(node, ())])
                self._known[node] = node if rows is node.child else replace(node, child=rows)
            else:
                self._known[node] = op.with_children(node, self._node)
        return self._known[node]

    def _rows(self, node: op.Rows, above: Sequence[exp.Expr]) -> op.Rows:
        """Rows of a SELECT. ``above``: the expressions that read them."""
        match node:
            case op.Filter():
                child = self._rows(node.child, [*above, node.condition])
                return node if child is node.child else replace(node, child=child)
            case op.Window():
                child = self._rows(node.child, [*above, *node.functions])
                found = self._window(node, [*above, *node.functions])
                return found if child is node.child else replace(found, child=child)
            case _:
                return self._node(node)  # type: ignore[return-value] # of rows

    def _window(self, node: op.Window, parts: Sequence[exp.Expr]) -> op.Window:
        """``parts``: the expressions that read the rows, including the window functions."""
        numbering = [each for each in node.functions if name_of(each) in _NUMBERING or counts_rows(each)]
        group = op.above_groups(node.child)
        if isinstance(group, op.Group):
            places_agree = group.sets is None  # no two groups are equal
        else:
            places_agree = all(_order(each) == _order(numbering[0]) for each in numbering)
        if not numbering or not places_agree or any(is_generator(each) for part in parts for each in part.walk()):
            return node
        new = {id(each): self._completed(each, node.child, parts) for each in numbering}
        if not all(new.values()) or all(found is each for each, found in zip(numbering, new.values(), strict=True)):
            return node
        return replace(node, functions=tuple(new.get(id(each)) or each for each in node.functions))

    def _completed(self, window: exp.Window, rows: op.Rows, parts: Sequence[exp.Expr]) -> exp.Window | None:
        """A window function with a complete order. None if that is impossible, and the same one if it is complete."""
        order, columns, types = window.args.get("order"), op.columns_of(rows), self._tree.types
        if order is None:
            return None
        listed = [*(window.args.get("partition_by") or ()), *(each.this for each in order.expressions)]
        given = {(each.table, each.name) for each in listed if isinstance(each, exp.Column)}
        given = {each for each in given if tells_apart(types.columns.get(each))}
        group = op.above_groups(rows)
        if isinstance(group, op.Group):
            read = [(group.alias, f"g{at}") for at, key in enumerate(group.keys) if key.find(exp.Column) is not None]
        else:
            found = {each for part in parts for each in op.read_columns(part, self._tree.subqueries)}
            read = [each for each in columns if each in found]
        added: list[op.Column] = []
        known = self._determined.of_rows(rows, given)
        for each in read:
            if each not in known and tells_apart(types.columns.get(each)):
                added.append(each)
                known = self._determined.of_rows(rows, {*given, *added})
        if not known.issuperset(read):
            return None
        if not added:
            return window
        complete = window.copy()
        complete.args["order"].set("expressions", [*complete.args["order"].expressions, *map(_ordered, added)])
        return complete


def _order(window: exp.Window) -> tuple[object, object]:
    return window.args.get("partition_by"), window.args.get("order")


def _ordered(found: op.Column) -> exp.Ordered:
    return exp.Ordered(this=column(found), nulls_first=True)
