"""Stars in the arguments of functions, as in ``to_json(struct(*))``, which sqlglot does not expand."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.optimizer.resolver import Resolver
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.schema import ensure_schema

from .dialect import PlainSpark
from .refusal import refused


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
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() == "struct":  # its fields keep their names if later steps rename the columns
            for value in [each for each in call.expressions if isinstance(each, exp.Column)]:
                value.replace(exp.alias_(value.copy(), value.name, quoted=True))


def _counts_rows(node: exp.Expr) -> bool:
    call = node.parent
    return isinstance(node, exp.Star) and isinstance(call, exp.Anonymous) and call.name.lower() == "count"
