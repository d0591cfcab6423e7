"""Unique names for the relations of a query, which differ from all other relations and columns.

Later steps move text between parts of the query, where a name must keep its meaning: an alias of a subquery may also be
used in the outer query, and Spark reads ``a.b`` as a field if there is a column ``a``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from .relations import is_nested, relations


@dataclass(frozen=True)
class _Named:
    """The new name and the columns of a named relation."""

    name: str
    columns: Sequence[str]


@dataclass(frozen=True)
class _Source:
    """A relation of a FROM clause: its new alias, and its columns by their names in the query.

    ``hides``: the relation of an outer query that has the same alias.
    """

    alias: str
    columns: Mapping[str, str]
    hides: _Source | None

    def of(self, column: str) -> _Source:
        """The relation that has a column, which may be one that this relation hides."""
        found = self
        while column not in found.columns and found.hides is not None:
            found = found.hides
        return found


def with_own_names(tree: exp.Query, tables: Mapping[str, Sequence[str]]) -> None:
    """Give each CTE and alias of a query a unique name, after its columns have been qualified.

    ``tables``: the columns of its base tables.
    """
    _Renaming().query(tree, {}, {name: _Named(name, columns) for name, columns in tables.items()})


class _Renaming:
    def __init__(self) -> None:
        self._numbers = count()

    def query(self, node: exp.Expr, outer: Mapping[str, _Source], known: Mapping[str, _Named]) -> None:
        """Rename a query's relations. ``outer``: those of outer queries, by alias. ``known``: the names for FROM."""
        clause = node.args.get("with_")
        for cte in [] if clause is None else clause.expressions:
            self.query(cte.this, outer, known)
            found = _Named(f"ip_cte{next(self._numbers)}", cte.alias_column_names or cte.this.named_selects)
            known = {**known, cte.alias: found}
            cte.args["alias"].set("this", _quoted(found.name))
        if isinstance(node, exp.Subquery):
            self.query(node.this, outer, known)
        elif isinstance(node, exp.SetOperation):
            self.query(node.this, outer, known)
            self.query(node.expression, outer, known)
        elif isinstance(node, exp.Select):
            self._select(node, outer, known)

    def _select(self, select: exp.Select, outer: Mapping[str, _Source], known: Mapping[str, _Named]) -> None:
        read = relations(select)
        sources = dict(outer)
        for relation in (*read, *(select.args.get("laterals") or ())):
            alias = relation.alias_or_name
            if isinstance(relation, exp.Subquery):
                self.query(relation.this, outer, known)
            sources[alias] = self._renamed(relation, known, outer.get(alias))

        def is_outside(node: exp.Expr) -> bool:
            return isinstance(node, (exp.Query, exp.With)) and node is not select and not is_nested(node)

        inside = list(select.walk(prune=is_outside))
        for relation in read:  # a derived table at the start of a join in parentheses
            inside += [node for join in relation.args.get("joins") or () for node in join.walk(prune=is_outside)]
        for node in inside:
            if isinstance(node, exp.Column) and node.table in sources:
                source = sources[node.table].of(node.name)
                node.set("table", _quoted(source.alias))
                node.set("this", _quoted(source.columns.get(node.name, node.name)))
            elif isinstance(node, exp.Query) and is_outside(node) and not any(node is each for each in read):
                self.query(node, sources, known)

    def _renamed(self, relation: exp.Expr, known: Mapping[str, _Named], hides: _Source | None) -> _Source:
        alias = relation.args.get("alias") or exp.TableAlias()
        name = f"ip_t{next(self._numbers)}"
        if isinstance(relation, exp.Table):
            found = known[relation.name]
            columns = dict(zip(relation.alias_column_names or found.columns, found.columns, strict=True))
            alias.set("columns", None)
            relation.set("this", _quoted(found.name))
        else:
            named = [each.name for each in alias.columns] or getattr(relation.this, "named_selects", [])
            columns = {each: each for each in named}
        alias.set("this", _quoted(name))
        relation.set("alias", alias)
        return _Source(name, columns, hides)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
