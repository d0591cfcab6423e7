"""Stars and names in the arguments of functions, as in ``to_json(struct(*))``.

sqlglot does not expand these stars. Later steps rename columns, but the fields of a struct keep their names.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.optimizer.resolver import Resolver
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.schema import ensure_schema

from .dialect import PlainSpark
from .refusal import refused

_COMPARED = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In, exp.Values,
    exp.All, exp.Any, exp.Rollup, exp.Cube, exp.GroupingSets,
)  # fmt: skip
"""The nodes that compare or list tuples, so that the names of their fields do not matter."""


def without_stars(tree: exp.Expr, schema: Mapping[str, object]) -> None:
    """Replace stars in arguments by the columns of the relations in FROM, because later steps change these relations.

    ``tree``: with qualified columns. ``schema``: the columns of its base tables. Raises Refusal.
    """
    known = ensure_schema(dict(schema), dialect=PlainSpark)
    for scope in traverse_scope(tree):
        for star in list(scope.find_all(exp.Star)):
            node = star.parent if isinstance(star.parent, exp.Column) else star
            if isinstance(node.parent, exp.Select) or _counts_rows(node):
                continue
            if any(star.args.values()):
                raise refused("* EXCEPT as an argument of a function", star, "list the columns")
            resolver = Resolver(scope, known)
            names = [node.table] if isinstance(node, exp.Column) else list(scope.selected_sources)
            columns = [(name, column) for name in names for column in resolver.get_source_columns(name)]
            node.replace([exp.column(column, name, quoted=True) for name, column in columns])


def with_field_names(tree: exp.Expr) -> None:
    """Write the names of the fields of ``struct(a, b)`` and ``(a, b)``, which are those of the columns."""
    for found in [node for node in tree.find_all(exp.Anonymous, exp.Tuple) if _is_struct(node)]:
        for value in [each for each in found.expressions if isinstance(each.unnest(), exp.Column)]:
            value.replace(exp.alias_(value.unnest().copy(), value.unnest().name, quoted=True))


def require_no_field_names(column: exp.Column) -> None:
    """Raise Refusal for a column whose name is that of a field of ``arrays_zip()``, before the column is renamed."""
    call = column.parent
    while isinstance(call, exp.Paren):
        call = call.parent
    if isinstance(call, exp.Anonymous) and call.name.lower() == "arrays_zip":
        raise refused("arrays_zip() in a SELECT whose columns are renamed", column, "compute it in a CTE")


def _is_struct(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() == "struct"
    above = node.parent
    while isinstance(above, (exp.Tuple, exp.Paren)):
        above = above.parent
    return not isinstance(above, _COMPARED)


def _counts_rows(node: exp.Expr) -> bool:
    call = node.parent
    return isinstance(node, exp.Star) and isinstance(call, exp.Anonymous) and call.name.lower() == "count"
