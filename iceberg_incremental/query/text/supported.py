"""The supported constructs of queries that are updated incrementally. All others are refused by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator

from sqlglot import exp

from . import functions
from .dialect import PlainSpark
from .refusal import NotAFunction, Refusal, not_a_function, refused

_ALLOWED: tuple[type[exp.Expr], ...] = (
    # clauses
    exp.Select, exp.From, exp.Join, exp.Table, exp.TableAlias, exp.Alias, exp.CTE, exp.With, exp.Subquery,
    exp.SetOperation, exp.Where, exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Having, exp.Qualify,
    exp.Distinct, exp.Order, exp.Ordered, exp.Lateral, exp.Window, exp.WindowSpec, exp.Filter, exp.IgnoreNulls,
    exp.RespectNulls, exp.WithinGroup, exp.Values,
    # names and values
    exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.DataType, exp.DataTypeParam,
    exp.HexString, exp.RawString, exp.Interval, exp.IntervalSpan, exp.Tuple, exp.ColumnDef,
    # operators and functions
    exp.Anonymous, exp.Paren, exp.Not, exp.And, exp.Or, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Between, exp.In,
    exp.Exists, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod,
    exp.Neg, exp.DPipe, exp.Concat, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.Extract,
    exp.Bracket, exp.Dot, exp.Lambda, exp.Trim, exp.Substring, exp.StrPosition, exp.Overlay, exp.Any, exp.All,
    exp.BitwiseLeftShift, exp.BitwiseRightShift,
)  # fmt: skip

_JOINS = frozenset({"", "LEFT", "RIGHT", "FULL"})
_KINDS = frozenset({"", "INNER", "OUTER", "CROSS", "SEMI", "ANTI"})
_CLAUSES = frozenset(
    ("with_", "expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify", "distinct", "windows",
     "order", "sort", "cluster", "distribute", "hint", "kind", "operation_modifiers", "limit", "offset")
)  # fmt: skip
_VARIABLE = re.compile(r"\$\{\S+?\}")
"""A variable, which Spark replaces by the value of a setting in the whole text of a statement, also within literals."""

_SAMPLED = {"sample": "TABLESAMPLE", "version": "time travel", "when": "time travel"}


def require_function(tree: exp.Query, declared: Collection[str] = ()) -> None:
    """Raise NotAFunction for the first construct whose result is not a function of the rows of its relations.

    ``declared``: the names of functions of the user's that are deterministic, in lower case.
    """
    for node in tree.walk(bfs=False):
        found = _refusal_of(node, declared)
        if isinstance(found, NotAFunction):
            raise found


def require_supported(nodes: Iterable[exp.Expr], declared: Collection[str] = ()) -> None:
    """Raise Refusal for the first construct whose affected rows are not known. ``declared``: see require_function."""
    for node in nodes:
        found = _refusal_of(node, declared)
        if found is not None:
            raise found


def own_nodes(query: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of a query without those of its CTEs and of the queries in it."""
    yield query
    for key, value in query.args.items():
        for child in value if isinstance(value, list) else [value]:
            if key != "with_" and isinstance(child, exp.Expr):
                yield from _outside_queries(child)


def _outside_queries(node: exp.Expr) -> Iterator[exp.Expr]:
    is_query = isinstance(node, exp.Query) and not is_nested(node)
    if is_query and not isinstance(node, exp.Subquery):
        return
    yield node
    for key, value in node.args.items():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr) and not (is_query and key == "this"):
                yield from _outside_queries(child)


def _refusal_of(node: exp.Expr, declared: Collection[str]) -> Refusal | None:
    if isinstance(node, exp.Anonymous):
        return _function(node, declared)
    check = _CHECKS.get(type(node))
    if check is not None:
        return check(node)
    if isinstance(node, (exp.Any, exp.All)) and not isinstance(node.parent, (exp.Like, exp.ILike)):
        return refused(node.key.upper(), node, "write bool_or(…), or IN")
    if isinstance(node, exp.With) and node.args.get("recursive"):
        return refused("WITH RECURSIVE", node)
    if not isinstance(node, (*_ALLOWED, exp.Limit, exp.Offset)):
        return refused(_named(node), node)
    return None


_NAMES: dict[type[exp.Expr], str] = {exp.Pivot: "PIVOT", exp.Fetch: "FETCH"}


def _named(node: exp.Expr) -> str:
    if isinstance(node, exp.Pivot) and node.args.get("unpivot"):
        return "UNPIVOT"
    return _NAMES.get(type(node)) or f"the expression {node.sql(PlainSpark)[:60]}"


def called(tree: exp.Expr, declared: Collection[str]) -> set[str]:
    """Those of some functions that SQL calls, in lower case."""
    return {_full_name(each) for each in tree.find_all(exp.Anonymous)} & {name.lower() for name in declared}


def _full_name(node: exp.Anonymous) -> str:
    """The name of a called function with its catalog and schema, as far as the text has them, in lower case."""
    above = node.parent
    if not (isinstance(above, exp.Dot) and node.arg_key == "expression"):
        return node.name.lower()
    return ".".join([*(part.name for part in above.this.find_all(exp.Identifier)), node.name]).lower()


def _function(node: exp.Anonymous, declared: Collection[str]) -> Refusal | None:
    name = node.name.lower()
    if name in functions.VOLATILE | functions.NOT_DETERMINISTIC or (name == "unix_timestamp" and not node.expressions):
        return not_a_function(
            f"{name}(), whose value does not depend only on the sources' rows",
            node,
            "compute it in a query that reads this model, or take it from a source",
        )
    full_name = _full_name(node)
    if full_name == name in functions.UNSUPPORTED or full_name in declared:
        return refused(f"the function {full_name}()", node)
    if full_name != name or name not in _KNOWN:
        return not_a_function(
            f"{full_name}(), which is not a built-in function of Spark",
            node,
            "use built-in functions, or list it in deterministic_functions if its value depends on its arguments alone",
        )
    return None


_KNOWN = (
    functions.SCALARS
    | functions.CLOCK_MARKS
    | functions.AGGREGATES
    | functions.GENERATORS
    | functions.EXACT_IN_WINDOWS
    | functions.INEXACT_IN_WINDOWS
)


def _text(node: exp.Literal | exp.RawString) -> Refusal | None:
    if (found := _VARIABLE.search(node.name)) is None:
        return None
    advice = "insert its value with Jinja, and refer to groups of a pattern by number"
    return not_a_function(f"the variable {found[0]} of Spark", node, advice)


def _several_names(node: exp.Aliases) -> Refusal | None:
    return None if is_generator(node.this) else refused(f"AS with several names: {node.sql(PlainSpark)[:60]}", node)


_METADATA = ("_metadata", "_file", "_pos", "_spec_id", "_partition", "_deleted")


def _column(node: exp.Column) -> Refusal | None:
    found = next((part.name for part in node.parts if part.name.lower() in _METADATA), None)
    if found is not None:
        return not_a_function(f"the metadata column {found}", node)
    return None


def require_columns(tree: exp.Query, columns: Collection[str] = ()) -> None:
    """Raise NotAFunction for a name such as ``user`` that is a call of a function, unless a column has this name.

    ``columns``: the names of the columns that the query reads, in lower case.
    """
    known = {*columns, *(each.alias.lower() for each in tree.find_all(exp.Alias))}
    for node in tree.find_all(exp.Column):
        name = node.name.lower()
        if not node.table and name in functions.WITHOUT_PARENTHESES - known:
            raise not_a_function(f"{name}, whose value does not depend only on the sources' rows", node)


def _join(node: exp.Join) -> Refusal | None:
    side, kind = node.side.upper(), node.kind.upper()
    if (node.method or "").upper() not in ("", "NATURAL") or side not in _JOINS or kind not in _KINDS:
        return refused(f"{node.method or side or kind} JOIN", node)
    if isinstance(node.this, exp.Lateral) and (side not in ("", "LEFT") or kind in ("SEMI", "ANTI")):
        return refused(f"{side or kind} JOIN LATERAL", node, "use LEFT JOIN LATERAL, or EXISTS")
    if not isinstance(node.this, (exp.Table, exp.Subquery, exp.Values, exp.Lateral)):
        return refused(f"JOIN {node.this.key.upper()}", node)
    return None


def _select(node: exp.Select) -> Refusal | None:
    other = [key for key, value in node.args.items() if value and key not in _CLAUSES]
    if other:
        return refused(other[0].upper(), node)
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        return refused("DISTINCT ON", node, "use row_number() and QUALIFY")
    return None


def _relation(node: exp.Expr) -> Refusal | None:
    for key, name in _SAMPLED.items():
        if node.args.get(key):
            return not_a_function(name, node)
    if is_nested(node) and node.alias:
        return refused("a join in parentheses with an alias", node, "join the tables one after another, or write a CTE")
    return None


COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
"""The operators that compare two values."""


def _collate(node: exp.Collate) -> Refusal | None:
    """A collation decides what a comparison returns. Elsewhere, it would be that of a column."""
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    if isinstance(above, (*COMPARISONS, exp.Like, exp.ILike, exp.Between)) or (
        isinstance(above, exp.In) and not above.args.get("query")
    ):
        return None
    return refused("COLLATE outside of a comparison", node, "use lower() or upper(), to ignore case")


_CHECKS: dict[type[exp.Expr], Callable[..., Refusal | None]] = {
    exp.Aliases: _several_names,
    exp.Literal: _text,
    exp.RawString: _text,
    exp.Collate: _collate,
    exp.Column: _column,
    exp.Join: _join,
    exp.Select: _select,
    exp.Table: _relation,
    exp.Subquery: _relation,
}


def is_nested(relation: exp.Expr) -> bool:
    """Whether a relation of a FROM clause is a join or a table in parentheses."""
    if not isinstance(relation, exp.Subquery):
        return False
    inner = relation.this
    return not isinstance(inner, exp.Query) or (
        isinstance(inner, exp.Subquery) and (bool(inner.args.get("joins")) or is_nested(inner))
    )


def is_in_expression(query: exp.Expr) -> bool:
    """Whether a query is in an expression, as opposed to FROM and WITH."""
    above = query.parent
    while isinstance(above, (exp.Subquery, exp.SetOperation)):
        above = above.parent
    return above is not None and not isinstance(above, (exp.From, exp.Join, exp.CTE))


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node computes one value from several rows of a group. Window functions do not."""
    known = functions.AGGREGATES | functions.UNSUPPORTED_AGGREGATES
    return isinstance(node, exp.Anonymous) and node.name.lower() in known and window_of(node) is None


_AROUND = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
"""The clauses of an aggregate or a window function."""


def window_of(node: exp.Expr) -> exp.Window | None:
    """The window of a window function. None for parts of its PARTITION BY or ORDER BY, and for other nodes."""
    above: exp.Expr | None = node.parent
    below: exp.Expr = node
    while isinstance(above, _AROUND) and above.this is below:
        below = above
        above = below.parent
    return above if isinstance(above, exp.Window) and above.this is below else None


def call_of(value: exp.Expr) -> exp.Expr:
    """The call of an aggregate or a window function, without the clauses around it."""
    while isinstance(value, (*_AROUND, exp.Window)):
        value = value.this
    return value


def name_of(value: exp.Expr) -> str:
    """The name of an aggregate or a window function in lower case. Empty for other expressions."""
    call = call_of(value)
    return call.name.lower() if isinstance(call, exp.Anonymous) else ""


def is_generator(node: exp.Expr) -> bool:
    """Whether a node returns several rows for one row."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in functions.GENERATORS


def is_of_row(value: exp.Expr) -> bool:
    """Whether a value is computed from one row of FROM alone."""
    return not any(
        is_aggregate(node)
        or is_generator(node)
        or isinstance(node, (exp.Window, exp.Query))
        or (isinstance(node, exp.Column) and node.table == "ip_sub")
        for node in value.walk()
    )
