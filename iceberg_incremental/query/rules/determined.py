"""The columns whose values other columns determine: functional dependencies through a tree.

Rows with equal values in some columns also have equal values in all columns that these determine: GROUP BY determines
the aggregates of a group, ``row_number()`` and its PARTITION BY determine a row, and a join determines the columns that
it equates. Equal values of the given columns must be identical, unlike 0.0 and -0.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeGuard

from sqlglot import exp

from ..algebra import nodes as op
from ..algebra.tree import Tree
from ..text.supported import is_of_row, name_of
from ..text.types import have_one_type, tells_apart


class Determined:
    """The dependencies between the columns of a tree. Each of them holds in every state of the sources."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[tuple[op.Result, frozenset[str]], frozenset[str]] = {}

    def fewest(self, node: op.Result, names: Sequence[str]) -> list[str]:
        """Some columns of a result that determine all of ``names``. The first ones are kept."""
        kept = list(names)
        for name in reversed(names):
            others = [each for each in kept if each != name]
            if others and name.lower() in self.of_result(node, others):
                kept = others
        return kept

    def of_result(self, node: op.Result, names: Collection[str]) -> frozenset[str]:
        """The columns of a result that some of its columns determine, in lower case."""
        key = node, frozenset(name.lower() for name in names)
        if key not in self._known:
            self._known[key] = key[1] | self._of_select(*key)
        return self._known[key]

    def _of_select(self, node: op.Result, names: frozenset[str]) -> frozenset[str]:
        match node:
            case op.Project():
                outputs = [(name.lower(), each) for name, each in node.outputs]
                given = {(each.table, each.name) for name, each in outputs if name in names and _is_column(each)}
                found = self.of_rows(node.child, given)
                return frozenset(name for name, each in outputs if self._depends_on(each, found))
            case op.Distinct() | op.Sort() | op.Limit():
                return self.of_result(node.child, names)
            case _:
                return names

    def of_rows(self, node: op.Rows, columns: Collection[op.Column]) -> set[op.Column]:
        """The columns of rows that some of their columns determine."""
        found = set(columns)
        while new := set(self._next(node, found)) - found:
            found |= new
        return found

    def _next(self, node: op.Rows, known: set[op.Column]) -> Iterator[op.Column]:  # noqa: C901 (one case per operator)
        """Columns that known columns determine. Those that are determined by way of others may be missing."""
        match node:
            case op.Alias():
                inner = self.of_result(node.child, [name for alias, name in known if alias == node.alias])
                yield from ((node.alias, name) for name in node.names if name.lower() in inner)
            case op.Filter():
                yield from self._next(node.child, known)
                yield from self._equated(op.conjuncts(node.condition), known)
            case op.Join(kind="inner"):
                yield from self._next(node.left, known)
                yield from self._next(node.right, known)
                yield from self._equated(op.conjuncts(node.on), known)
            case op.Join(kind="left"):
                yield from self._of_outer_join(node.left, node.right, op.conjuncts(node.on), known)
            case op.Join(kind="right"):
                yield from self._of_outer_join(node.right, node.left, op.conjuncts(node.on), known)
            case op.Join(kind="semi" | "anti"):
                yield from self._next(node.left, known)
            case op.Generate() | op.Keyed():
                yield from self._next(node.child, known)
            case op.Group() if node.sets is None:
                yield from self._of_group(node, known)
            case op.Window():
                yield from self._next(node.child, known)
                for at, each in enumerate(node.functions):
                    is_number = name_of(each) == "row_number" and (node.alias, f"w{at}") in known
                    if is_number and all(self._depends_on(e, known) for e in each.args.get("partition_by") or ()):
                        yield from op.columns_of(node)
            case _:
                return

    def _of_outer_join(
        self, preserved: op.Rows, optional: op.Rows, on: Sequence[exp.Expr], known: set[op.Column]
    ) -> Iterator[op.Column]:
        """The columns of the preserved side, and those that are equal in all rows of the other side that a row meets.

        Whether it meets any depends on its columns in ON.
        """
        yield from self._next(preserved, known)
        mine = set(op.columns_of(preserved))
        read = self._read(on) & mine
        if read <= known and not any(map(op.subqueries_in, on)):
            met = set(self._equated(on, read)) - mine
            yield from self.of_rows(optional, met)

    def _of_group(self, node: op.Group, known: set[op.Column]) -> Iterator[op.Column]:
        """The keys of groups that other keys determine. If these are all keys, all columns."""
        keys = {(node.alias, f"g{at}"): each for at, each in enumerate(node.keys)}
        given = {(each.table, each.name) for key, each in keys.items() if key in known and self._is_exact(each)}
        inner = self.of_rows(node.child, given)
        found = known | {key for key, each in keys.items() if self._depends_on(each, inner)}
        yield from op.columns_of(node) if keys.keys() <= found else found

    def _equated(self, conditions: Sequence[exp.Expr], known: set[op.Column]) -> Iterator[op.Column]:
        """The columns that conditions equate with an expression of known columns, or with a constant."""
        for each in conditions:
            if not isinstance(each, exp.EQ):
                continue
            for one, other in ((each.this, each.expression), (each.expression, each.this)):
                is_same = have_one_type(self._tree.types.of(one), self._tree.types.of(other))
                if is_same and self._is_exact(one) and self._depends_on(other, known):
                    yield one.table, one.name

    def _depends_on(self, value: exp.Expr, columns: set[op.Column]) -> bool:
        """Whether an expression reads nothing but some columns of a row."""
        return is_of_row(value) and self._read([value]) <= columns

    def _read(self, values: Sequence[exp.Expr]) -> set[op.Column]:
        return set().union(*(op.read_columns(each, self._tree.subqueries) for each in values))

    def _is_exact(self, value: exp.Expr) -> TypeGuard[exp.Column]:
        """Whether equal values of a column are identical."""
        return _is_column(value) and tells_apart(self._tree.types.of(value))


def _is_column(value: exp.Expr) -> TypeGuard[exp.Column]:
    return isinstance(value, exp.Column) and value.table != op.SUBQUERY
