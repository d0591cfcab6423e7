"""The operators of a query. Scalar expressions are sqlglot's, with resolved names.

An operator for rows has columns with an alias, which is unique in the query: those of a FROM clause. An operator for
results, such as a SELECT, has named columns. ``Alias`` reads a result as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from ..states import Keys, State
from ..text.refusal import Refusal
from ..text.types import Types, common_type

Column: TypeAlias = tuple[str, str]
"""The alias and the name of a column of rows."""

SUBQUERY = "ip_sub"
"""The alias of columns that stand for subqueries in expressions."""

READ = "ip_read_"
"""The start of the names in an opaque part that stand for the results that it reads."""

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True, eq=False)
class One:
    """A single row without columns: a SELECT without FROM."""


@dataclass(frozen=True, eq=False)
class Scan:
    """A base table. ``table``: its name in the query."""

    table: str
    alias: str
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Values:
    """Constant rows."""

    rows: exp.Values
    alias: str
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Alias:
    """A result as rows: a derived table or a CTE."""

    child: Result
    alias: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return names_of(self.child)


@dataclass(frozen=True, eq=False)
class Filter:
    """The rows for which a condition is true: WHERE, or HAVING above a group."""

    child: Rows
    condition: exp.Expr


@dataclass(frozen=True, eq=False)
class Join:
    """A join. ``on``: None for all pairs of rows."""

    kind: JoinKind
    left: Rows
    right: Rows
    on: exp.Expr | None = None


@dataclass(frozen=True, eq=False)
class Generate:
    """Several rows for each row: LATERAL VIEW, or JOIN LATERAL if ``call`` is a subquery.

    ``outer``: whether a row without any is kept. ``on``: the condition of LEFT JOIN LATERAL; None if always true.
    """

    child: Rows
    call: exp.Expr
    alias: str
    names: tuple[str, ...]
    outer: bool = False
    on: exp.Expr | None = None


@dataclass(frozen=True, eq=False)
class Group:
    """One row for each group. ``keys`` are its columns ``g0``, ``g1`` and so on, ``measures`` are ``m0`` and so on.

    ``sets``: the grouping sets, as positions of keys. None for one set of all keys.
    """

    child: Rows
    alias: str
    keys: tuple[exp.Expr, ...]
    measures: tuple[exp.Expr, ...]
    sets: tuple[tuple[int, ...], ...] | None = None

    @property
    def common(self) -> list[int]:
        """The positions of the keys that are in all grouping sets."""
        places = range(len(self.keys))
        return [place for place in places if self.sets is None or all(place in each for each in self.sets)]


@dataclass(frozen=True, eq=False)
class Window:
    """The rows with the values of window functions, as its columns ``w0``, ``w1`` and so on."""

    child: Rows
    alias: str
    functions: tuple[exp.Window, ...]


@dataclass(frozen=True, eq=False)
class View:
    """A view of keys of a run."""

    name: str
    alias: str
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Keyed:
    """The rows with some keys. ``pairs``: columns of the view with the expressions whose values they hold."""

    child: Rows
    keys: Keys
    pairs: tuple[tuple[str, exp.Expr], ...]


@dataclass(frozen=True, eq=False)
class Delta:
    """The changed rows of a base table."""

    scan: Scan
    state: State


@dataclass(frozen=True, eq=False)
class Project:
    """A SELECT list. ``outputs``: its expressions, by name. ``hint``: the hint of the SELECT."""

    child: Rows
    outputs: tuple[tuple[str, exp.Expr], ...]
    hint: str = ""


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct rows."""

    child: Result


@dataclass(frozen=True, eq=False)
class Union:
    """All rows of several results, with the names of the first one."""

    children: tuple[Result, ...]


@dataclass(frozen=True, eq=False)
class SetOperation:
    """INTERSECT or EXCEPT, with the names of the left side."""

    kind: Literal["intersect", "except"]
    left: Result
    right: Result
    all: bool = False


@dataclass(frozen=True, eq=False)
class Sort:
    """A result in an order. ``by``: clauses with their expressions, which may also read the rows below a SELECT."""

    child: Result
    by: tuple[tuple[str, tuple[exp.Expr, ...]], ...]


@dataclass(frozen=True, eq=False)
class Limit:
    """The first rows of a result."""

    child: Result
    count: exp.Expr | None
    offset: exp.Expr | None


@dataclass(frozen=True, eq=False)
class Opaque:
    """The result of a part of the query that no rule knows, such as PIVOT. It is computed as a whole.

    ``query``: the part, in which the names ``ip_read_0`` and so on stand for ``children``. ``types``: those of its
    columns, as far as they are known. ``because``: the construct.
    """

    query: exp.Query
    children: tuple[Result, ...]
    names: tuple[str, ...]
    types: tuple[str | None, ...]
    because: Refusal


@dataclass(frozen=True, eq=False)
class Differing:
    """The values of which a result has more rows in one state than in the other. ``state``: REMOVED, ADDED or BOTH."""

    child: Result
    state: State


@dataclass(frozen=True, eq=False)
class InState:
    """A result whose tables and clock are in a state."""

    child: Result
    state: State


@dataclass(frozen=True, eq=False)
class RowsInState:
    """Rows whose tables and clock are in a state."""

    child: Rows
    state: State


Rows: TypeAlias = (
    One | Scan | Values | Alias | Filter | Join | Generate | Group | Window | View | Keyed | Delta | RowsInState
)
Result: TypeAlias = Project | Distinct | Union | SetOperation | Sort | Limit | Opaque | Differing | InState
Node: TypeAlias = Rows | Result


@dataclass(frozen=True)
class Subquery:
    """A subquery in an expression, or that of JOIN LATERAL. ``values``: those that IN compares with its rows.

    ``outer``: the columns of the query around it that it reads, without those of ``values``.
    """

    kind: Literal["exists", "in", "scalar", "rows"]
    values: tuple[exp.Expr, ...]
    query: Result
    outer: frozenset[Column] = field(default_factory=frozenset)


def names_of(node: Result) -> tuple[str, ...]:
    """The names of the columns of a result."""
    while not isinstance(node, (Project, Opaque)):
        node = children_of(node)[0]  # type: ignore[assignment] # a result
    return node.names if isinstance(node, Opaque) else tuple(name for name, _ in node.outputs)


def columns_of(node: Rows) -> list[Column]:
    """The columns of rows."""
    match node:
        case One():
            return []
        case Scan() | Values() | Alias() | View():
            return [(node.alias, name) for name in node.names]
        case Delta():
            return columns_of(node.scan)
        case Filter() | Keyed() | RowsInState():
            return columns_of(node.child)
        case Join():
            right = [] if node.kind in ("semi", "anti") else columns_of(node.right)
            return [*columns_of(node.left), *right]
        case Generate():
            return [*columns_of(node.child), *((node.alias, name) for name in node.names)]
        case Group():
            groups = [(node.alias, f"g{place}") for place in range(len(node.keys))]
            return [*groups, *((node.alias, f"m{place}") for place in range(len(node.measures)))]
        case Window():
            return [*columns_of(node.child), *((node.alias, f"w{place}") for place in range(len(node.functions)))]


def children_of(node: Node) -> tuple[Node, ...]:
    """The operators that an operator reads, without those in subqueries of its expressions."""
    match node:
        case Join() | SetOperation():
            return (node.left, node.right)
        case Union() | Opaque():
            return node.children
        case One() | Scan() | Values() | View() | Delta():
            return ()
        case _:
            return (node.child,)


def expressions_of(node: Node) -> list[exp.Expr]:
    """The expressions of an operator."""
    match node:
        case Filter():
            return [node.condition]
        case Join():
            return [] if node.on is None else [node.on]
        case Generate():
            return [node.call, *([] if node.on is None else [node.on])]
        case Group():
            return [*node.keys, *node.measures]
        case Window():
            return list(node.functions)
        case Keyed():
            return [each for _, each in node.pairs]
        case Project():
            return [each for _, each in node.outputs]
        case Sort():
            return [each for _, listed in node.by for each in listed]
        case Values():
            return [node.rows]
        case _:
            return []


def with_children(node: Node, change: Callable[[Node], Node]) -> Node:
    """The operator with other operators in the place of those that it reads."""
    changed = dict(zip(children_of(node), map(change, children_of(node)), strict=True))
    if all(each is other for each, other in changed.items()):
        return node
    found = copy(node)
    for name, value in vars(node).items():
        if isinstance(node, (Union, Opaque)) and name == "children":
            object.__setattr__(found, name, tuple(changed[each] for each in node.children))
        elif name in ("child", "left", "right"):
            object.__setattr__(found, name, changed[value])
    return found


def read_columns(node: exp.Expr, subqueries: Mapping[str, Subquery]) -> set[Column]:
    """The columns that an expression reads, including those that its subqueries read from the query around them."""
    found: set[Column] = set()
    for column in node.find_all(exp.Column):
        if column.table == SUBQUERY:
            inner = subqueries[column.name]
            found |= inner.outer.union(*(read_columns(each, subqueries) for each in inner.values))
        elif column.table:
            found.add((column.table, column.name))
    return found


def subqueries_in(node: exp.Expr) -> list[str]:
    """The names of the subqueries in an expression."""
    return [column.name for column in node.find_all(exp.Column) if column.table == SUBQUERY]


def subqueries_of(node: Node) -> list[str]:
    """The names of the subqueries in the expressions of an operator."""
    return [name for each in expressions_of(node) for name in subqueries_in(each)]


def all_nodes(node: Node, subqueries: Mapping[str, Subquery]) -> list[Node]:
    """An operator and all below it, each once and after those that it reads, including those in subqueries."""
    found: dict[Node, None] = {}

    def visit(each: Node) -> None:
        if each in found:
            return
        for child in children_of(each):
            visit(child)
        for name in subqueries_of(each):
            visit(subqueries[name].query)
        found[each] = None

    visit(node)
    return list(found)


def column(found: Column) -> exp.Column:
    """A column as an expression."""
    return exp.column(found[1], found[0], quoted=True)


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that a condition combines with AND."""
    if condition is None:
        return []
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        return [*conjuncts(inner.this), *conjuncts(inner.expression)]
    return [inner]


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    """The condition that all of some conditions are true. None without conditions."""
    return exp.and_(*(each.copy() for each in conditions)) if conditions else None


def filtered(node: Rows, *conditions: exp.Expr) -> Rows:
    """The rows for which some conditions are true."""
    condition = all_of(conditions)
    return node if condition is None else Filter(node, condition)


def with_expressions(node: Node, change: Callable[[exp.Expr], exp.Expr]) -> Node:
    """The operator with other expressions in the place of its own. The same operator if none differs."""
    old = expressions_of(node)
    new = list(map(change, old))
    if all(each is other for each, other in zip(old, new, strict=True)):
        return node
    given = iter(new)
    match node:
        case Filter():
            return replace(node, condition=next(given))
        case Join():
            return replace(node, on=next(given))
        case Generate():
            return replace(node, call=next(given), on=next(given, None))
        case Group():
            keys = tuple(next(given) for _ in node.keys)
            return replace(node, keys=keys, measures=tuple(given))
        case Window():
            return replace(node, functions=tuple(given))  # type: ignore[arg-type] # windows
        case Keyed():
            return replace(node, pairs=tuple((key, next(given)) for key, _ in node.pairs))
        case Project():
            return replace(node, outputs=tuple((name, next(given)) for name, _ in node.outputs))
        case Sort():
            return replace(node, by=tuple((clause, tuple(next(given) for _ in each)) for clause, each in node.by))
        case _:
            return node


def rewritten(node: Node, change: Callable[[exp.Expr], exp.Expr]) -> Node:
    """The tree with other expressions in the place of its own, in all of its operators."""
    return with_expressions(with_children(node, lambda each: rewritten(each, change)), change)


def outer_aliases(node: Node, subqueries: Mapping[str, Subquery]) -> frozenset[Column]:
    """The columns of queries around it that a tree reads."""
    own: set[str] = set()
    read: set[Column] = set()
    for each in all_nodes(node, subqueries):
        own.add(getattr(each, "alias", ""))
        for part in expressions_of(each):
            read |= read_columns(part, subqueries)
    return frozenset(found for found in read if found[0] not in own)


def above_groups(node: Rows) -> Rows:
    """The rows without the filters on top, such as HAVING."""
    while isinstance(node, Filter):
        node = node.child
    return node


def is_numbered(node: exp.Expr) -> bool:
    """Whether an expression is the number of a grouping set: ``grouping()`` or ``grouping_id()``."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in ("grouping", "grouping_id")


ANY = "void"
"""The type of NULL, which takes any type."""


class ColumnTypes(Types):
    """The types of expressions over the columns of a tree."""

    def of_result(self, node: Result) -> list[str | None]:
        """The types of the columns of a result."""
        return [None if each == ANY else each for each in self.of_branch(node)]

    def of_branch(self, node: Result) -> list[str | None]:
        """The types as in ``of_result``, with ``ANY`` for columns of NULLs."""
        match node:
            case Project():
                values = [each for _, each in node.outputs]
                return [ANY if isinstance(each.unnest(), exp.Null) else self.of(each) for each in values]
            case Union() | SetOperation():
                sides = node.children if isinstance(node, Union) else (node.left, node.right)
                listed = zip(*map(self.of_branch, sides), strict=True)
                return [self._together([each for each in types if each != ANY]) for types in listed]
            case Opaque():
                return list(node.types)
            case Distinct() | Sort() | Limit() | Differing() | InState():
                return self.of_branch(node.child)

    def _together(self, types: list[str | None]) -> str | None:
        return common_type(types) if types else ANY
