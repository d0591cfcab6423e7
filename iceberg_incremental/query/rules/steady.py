"""Values that can differ between computations although no source has changed.

``row_number()`` chooses among rows that are equal in its ORDER BY, ``first()`` chooses among all rows of a group, and a
sum of floating-point numbers depends on the order of addition. If such a value is computed again, it may differ from
the value in the table. This is harmless if everything that depends on it is replaced at once. The key by which a query
is updated must therefore be determined by the group or partition from which the value is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from sqlglot import exp

from ...table.types import Trait, traits
from ..algebra import nodes as op
from ..algebra.nodes import SUBQUERY, column
from ..algebra.tree import Tree, sort_keys
from ..text import functions
from ..text.refusal import Refusal, refused
from ..text.supported import is_generator, window_of
from ..text.types import Types, tells_apart
from .determined import Determined
from .restrict import below, selects, sources

_BINARY = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is)
_CLAUSES = (
    exp.Where, exp.Group, exp.Having, exp.Join, exp.Order, exp.Ordered, exp.Window, exp.Filter, exp.Distinct, exp.Alias,
    exp.Select, exp.Subquery, exp.Paren, exp.Tuple, exp.Case, exp.If, exp.WithinGroup, exp.IgnoreNulls,
    exp.RespectNulls,
)  # fmt: skip
_OPERATORS = (exp.And, exp.Or, exp.Not, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg)


class Shown(Enum):
    """What an expression shows of the difference between equal values that it contains."""

    NOTHING = 0
    EQUAL = 1
    """Its value is one of several equal values."""

    DIFFERENCE = 2


def _shown_of(node: exp.Expr, top: exp.Expr) -> Shown:
    """What an expression shows of a value within it. ``top``: the expression, or a clause."""
    while node is not top:
        above = node.parent
        assert above is not None
        if not isinstance(above, _BINARY) and _is_text(above):
            return Shown.DIFFERENCE
        if isinstance(above, (*_BINARY, exp.Between, exp.In, exp.Exists)):
            return Shown.NOTHING
        if not _keeps_equal(above):
            return Shown.DIFFERENCE
        node = above
    return Shown.EQUAL


def _is_text(node: exp.Expr) -> bool:
    """Whether an expression of numbers and text, such as ``coalesce(x, 'none')`` or IN, may convert numbers to text."""
    return any(isinstance(each, exp.Literal) and each.is_string for each in node.iter_expressions())


def _keeps_equal(node: exp.Expr) -> bool:
    """Whether an expression of equal values returns equal values."""
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return Trait.NUMBER in traits(str(node.to.this.value).lower())
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in functions.EQUAL_OF_EQUAL
    return isinstance(node, (*_CLAUSES, *_OPERATORS))


def _may_differ(value: exp.Expr, types: Types) -> bool:
    """Whether equal values of an expression may differ, as far as its type or those of its columns are known."""
    type_ = types.of(value)
    if type_ is not None:
        return not tells_apart(type_)
    columns = map(types.of, value.find_all(exp.Column))
    return any(each is not None and not tells_apart(each) for each in columns)


@dataclass(frozen=True)
class Unstable:
    """An expression of a SELECT whose value can differ between computations.

    ``chooses``: whether it chooses among equal rows, as opposed to rounding. ``is_equal``: whether its values are equal
    in comparisons.
    """

    block: op.Project
    node: exp.Expr
    chooses: bool
    is_equal: bool = False


class Stability:
    """Finds the unstable expressions of a query, and checks whether a key covers them. Raises Refusal.

    ``determined``: the dependencies between the query's columns.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._types = tree.types
        self.determined = Determined(tree)
        self._columns: dict[op.Column, list[Unstable]] = {}
        self._results: dict[op.Result, list[list[Unstable]]] = {}
        self._deciding: list[Unstable] = []
        self._sorted = sort_keys(tree)
        names = op.names_of(tree.root)
        self._root = dict(zip((name.lower() for name in names), self._of_result(tree.root), strict=True))

    @property
    def chooses(self) -> bool:
        """Whether an unstable expression determines which rows exist, or chooses among rows."""
        return bool(self._deciding)

    @property
    def columns(self) -> set[str]:
        """The columns of the result whose values can differ between computations, in lower case."""
        return {name for name, found in self._root.items() if found}

    @property
    def choosing(self) -> frozenset[op.Project]:
        """The SELECTs with an unstable expression as in ``chooses``, except for the query itself."""
        mine = {each for each, _ in selects(self._tree.root, self._tree, {})}
        return frozenset(each.block for each in self._deciding if each.block not in mine or len(mine) > 1)

    def refusal(self, key: Sequence[str]) -> Refusal | None:
        """Why a query cannot be updated incrementally by these columns of its result. None if it can."""
        for each in self._deciding:
            mapped = self._mapped(self._tree.root, {name: name for name in key}, each.block)
            if not all(found == set(key) for found in mapped):
                return refused(
                    f"{_varying(each.node)} each time, in a part of the query whose groups are not kept together "
                    "in the rest of the query",
                    each.node,
                    _instead_of(each.node),
                )
        return None

    def covered(self, columns: Sequence[str]) -> list[str]:
        """The columns of the result that the groups or partitions of all unstable SELECTs determine."""
        kept = set(columns)
        for block in {each.block for each in self._deciding}:
            for mapped in self._mapped(self._tree.root, {name: name for name in columns}, block):
                kept &= mapped
        return [name for name in columns if name in kept]

    def _mapped(self, node: op.Result, columns: Mapping[str, str], wanted: op.Project) -> Iterator[set[str]]:
        """The key columns that a SELECT's groups or partitions determine, for each place that reads it."""
        for select, values in selects(node, self._tree, columns):
            if select is wanted:
                yield {key for _, key in below(select.child, values)[1]}
            for leaf, held in sources(select, values, self._tree):
                if isinstance(leaf, op.Alias):
                    yield from self._mapped(leaf.child, held.exact, wanted)

    # Unstable values

    def _of_result(self, node: op.Result) -> list[list[Unstable]]:
        """The unstable expressions in each column of a result. Also records those that determine which rows exist."""
        if node not in self._results:
            self._results[node] = self._found(node)
        return self._results[node]

    def _found(self, node: op.Result) -> list[list[Unstable]]:
        match node:
            case op.Project():
                self._rows(node.child, node)
                return [self._in(each, node) for _, each in node.outputs]
            case op.Union() | op.SetOperation():
                sides = [self._of_result(each) for each in op.children_of(node)]  # type: ignore[arg-type] # results
                outputs = [[each for side in listed for each in side] for listed in zip(*sides, strict=True)]
                if isinstance(node, op.SetOperation):  # its rows are compared
                    self._decide(outputs)
                return outputs
            case op.Opaque():
                for child in node.children:
                    self._decide(self._of_result(child))
                self._require_steady(node)
                return [[] for _ in node.names]
            case op.Distinct() | op.Limit():
                outputs = self._of_result(node.child)
                self._decide(outputs)
                if isinstance(node, op.Limit) and isinstance(node.child, op.Sort):
                    inner = node.child.child
                    block = inner if isinstance(inner, op.Project) else None
                    if block is not None:
                        self._decide(self._in(each, block) for each in op.expressions_of(node.child))
                return outputs
            case _:
                return self._of_result(node.child)

    def _require_steady(self, node: op.Opaque) -> None:
        """Raise Refusal if the values of an opaque part can differ between computations.

        This may be so for all columns whose equal values may differ, for windows, and for sums of anything but columns.
        """
        listed: dict[str, set[str | None]] = {}
        for name, type_ in self._read_columns(node):
            listed.setdefault(name.lower(), set()).add(type_)
        for each in node.query.walk():
            if isinstance(each, exp.Window):
                raise node.because
            if isinstance(each, exp.Column) and not all(map(tells_apart, listed.get(each.name.lower(), ()))):
                raise node.because
            if not isinstance(each, exp.Anonymous):
                continue
            name = each.name.lower()
            added = each.expressions[0].unnest() if each.expressions else None
            types = listed.get(added.name.lower(), {None}) if isinstance(added, exp.Column) else {None}
            is_exact = all(_adds_exactly(name, type_) for type_ in types)
            if name in functions.INEXACT_AGGREGATES or (name in functions.SUMS and not is_exact):
                raise node.because

    def _read_columns(self, node: op.Opaque) -> Iterator[tuple[str, str | None]]:
        """The columns of the children of an opaque part, with their types. Raises Refusal for * over other columns."""
        for child in node.children:
            yield from zip(op.names_of(child), self._types.of_result(child), strict=True)
        for star in node.query.find_all(exp.Star):
            select = star.find_ancestor(exp.Select)
            if isinstance(star.parent, exp.Anonymous) or select is None:
                continue  # count(*)
            source = select.args.get("from_")
            tables = [] if source is None else [source.this, *(each.this for each in select.args.get("joins") or ())]
            for table in tables:
                if isinstance(table, exp.Table) and table.name.startswith(op.READ):
                    types = self._types.of_result(node.children[int(table.name.removeprefix(op.READ))])
                    if not all(map(tells_apart, types)):
                        raise node.because

    def _decide(self, found: Iterable[Iterable[Unstable]]) -> None:
        self._deciding += [each for listed in found for each in listed if not each.is_equal]

    def _rows(self, node: op.Rows, block: op.Project) -> None:  # noqa: C901 (one case per operator)
        match node:
            case op.Alias():
                for name, found in zip(node.names, self._of_result(node.child), strict=True):
                    self._columns[node.alias, name] = found
                return
            case op.Group():
                self._rows(node.child, block)
                for at, each in enumerate(node.keys):
                    self._columns[node.alias, f"g{at}"] = self._in(each, block)
                self._decide(self._in(each, block) for each in node.keys)
                for at, each in enumerate(node.measures):
                    self._columns[node.alias, f"m{at}"] = self._own(each, self._inexact([each]), block)
            case op.Window():
                self._rows(node.child, block)
                for each in node.functions:
                    order = each.args.get("order")
                    parts = [*(each.args.get("partition_by") or ()), *([] if order is None else [order])]
                    self._decide(self._in(part, block) for part in parts)
                inexact = self._inexact_windows(node, block)
                for at, each in enumerate(node.functions):
                    self._columns[node.alias, f"w{at}"] = self._own(each, inexact, block)
            case op.Filter() | op.Join() | op.Generate():
                for child in op.children_of(node):
                    self._rows(child, block)  # type: ignore[arg-type] # of rows
                is_of_groups = isinstance(node, op.Filter) and isinstance(op.above_groups(node), op.Group)
                self._decide(self._in(each, block, decides=not is_of_groups) for each in op.expressions_of(node))
                if isinstance(node, op.Generate):
                    self._note_generated(node, block)
            case _:
                return

    def _note_generated(self, node: op.Generate, block: op.Project) -> None:
        """Note the unstable columns of JOIN LATERAL."""
        for name in op.subqueries_in(node.call):
            listed = self._of_result(self._tree.subqueries[name].query)
            for each, found in zip(node.names, listed, strict=True):
                self._columns[node.alias, each] = [replace(one, block=block) for one in found]

    def _own(self, part: exp.Expr, inexact: Mapping[int, tuple[exp.Expr, bool]], block: op.Project) -> list[Unstable]:
        """The unstable expressions in an aggregate or window function: its own functions, and those that it reads."""
        own = {id(node): Unstable(block, node, False, is_equal=True) for node in one_of_equal(part, self._types)}
        mine = {id(node) for node in part.walk()}
        own |= {at: Unstable(block, node, chooses) for at, (node, chooses) in inexact.items() if at in mine}
        # a choice in a part of the query must be the same in all places that read it
        self._deciding += [each for each in own.values() if each.chooses]
        nodes = [(node, own[id(node)]) for node in part.walk() if id(node) in own]
        return [*_shown(nodes, part), *self._in(part, block)]

    def _in(self, part: exp.Expr, block: op.Project, *, decides: bool = False) -> list[Unstable]:
        """The unstable expressions in the columns and subqueries that an expression reads.

        ``decides``: whether the expression determines which rows FROM and WHERE return.
        """
        found: list[tuple[exp.Expr, Unstable]] = []
        for each in part.find_all(exp.Column):
            if each.table == SUBQUERY:
                found += [(each, one) for one in self._of_subquery(each.name, block, decides=decides)]
            else:
                found += [(each, one) for one in self._columns.get((each.table, each.name), [])]
        return _shown(found, part)

    def _of_subquery(self, name: str, block: op.Project, *, decides: bool) -> list[Unstable]:
        """The values in a subquery that may be rounded or written differently.

        Raises Refusal if it chooses among rows, or if such a value determines which rows FROM and WHERE return.
        """
        query = self._tree.subqueries[name]
        before, self._deciding = self._deciding, []
        outputs = [each for listed in self._of_result(query.query) for each in listed]
        inside, self._deciding = self._deciding, before
        own = {each for each, _ in selects(query.query, self._tree, {})}
        found: list[Unstable] = []
        values = [each for value in query.values for each in self._in(value, block)]
        for each in dict.fromkeys([*outputs, *inside, *values]):
            if each.block not in own:
                if each.chooses and each not in self._deciding:
                    self._deciding.append(each)
                found.append(each)
                continue
            if each.chooses:
                construct = f"{each.node.name.lower()}() in a subquery of an expression"
                raise refused(construct, each.node, "compute it in a CTE")
            if decides and not each.is_equal:
                construct = f"{_varying(each.node)} each time, in a subquery of a condition"
                raise refused(construct, each.node, _instead_of(each.node))
            found.append(replace(each, block=block))
        return found if query.kind == "scalar" else [each for each in found if not each.is_equal]

    def _inexact(self, parts: Sequence[exp.Expr]) -> dict[int, tuple[exp.Expr, bool]]:
        """The aggregates whose value can differ between computations, and whether they choose among rows."""
        found: dict[int, tuple[exp.Expr, bool]] = {}
        for node in [node for part in parts for node in part.walk() if isinstance(node, exp.Anonymous)]:
            name = node.name.lower()
            if name in functions.INEXACT_AGGREGATES:
                found[id(node)] = node, name not in functions.ROUNDING
            elif name in functions.SUMS and not self._is_exact(node):
                found[id(node)] = node, False
        return found

    def _inexact_windows(self, node: op.Window, block: op.Project) -> dict[int, tuple[exp.Expr, bool]]:
        calls = [each for part in node.functions for each in part.walk() if isinstance(each, exp.Anonymous)]
        by_order = {id(each): each for each in calls if window_of(each) is not None and _reads_order(each)}
        windows = [window for each in by_order.values() if (window := window_of(each)) is not None]
        found = self._inexact([each for each in calls if id(each) not in by_order and window_of(each) is not None])
        if not self._is_decided(node, windows, block):
            for at, each in by_order.items():
                window = window_of(each)
                assert window is not None
                found[at] = each, each.name.lower() not in functions.ROUNDING or counts_rows(window)
        return {at: each for at, each in found.items() if window_of(each[0]) is not None}

    def _is_decided(self, node: op.Window, windows: Sequence[exp.Window], block: op.Project) -> bool:
        """Whether rows that are equal in the order of some windows are also equal in all columns that the SELECT reads.

        Their order then does not matter. With windows of different orders, equal rows could have different positions.
        """
        listed = [
            [*(each.args.get("partition_by") or ()), *(by.this for by in each.args["order"].expressions)]
            for each in windows
            if each.args.get("order") is not None
        ]
        parts = [*op.expressions_of(block), *self._sorted.get(block, ())]
        above = block.child
        while above is not node and isinstance(above, (op.Filter, op.Window)):
            parts += op.expressions_of(above)
            above = above.child
        parts += node.functions
        if len(listed) < len(windows) or any(is_generator(each) for part in parts for each in part.walk()):
            return False  # the rows that a generator returns for one row have the same values of all columns
        group = op.above_groups(node.child)
        if isinstance(group, op.Group):  # no two groups are equal
            keys = [at for at, each in enumerate(group.keys) if each.find(exp.Column) is not None]
            return group.sets is None and all(column((group.alias, f"g{at}")) in e for e in listed for at in keys)
        orders = [(each.args.get("partition_by"), each.args["order"]) for each in windows]
        read = {each for part in parts for each in op.read_columns(part, self._tree.subqueries)}
        columns = {each for each in read if each[0] != node.alias}
        given = {(each.table, each.name) for names in listed[:1] for each in names if isinstance(each, exp.Column)}
        exact = {each for each in given if tells_apart(self._types.columns.get(each))}
        return all(each == orders[0] for each in orders) and columns <= self.determined.of_rows(node.child, exact)

    def _is_exact(self, node: exp.Anonymous) -> bool:
        """Whether the values that a sum adds are exact."""
        return _adds_exactly(node.name.lower(), self._types.of(node.expressions[0]) if node.expressions else None)


def _adds_exactly(function: str, type_: str | None) -> bool:
    """Whether an aggregate adds values of a type exactly."""
    if type_ == "bigint" and function not in ("sum", "try_sum"):
        return False  # the average of bigints is computed with doubles
    return type_ is not None and Trait.SUMMED in traits(type_)


def one_of_equal(part: exp.Expr, types: Types) -> Iterator[exp.Expr]:
    """The aggregates and window functions in an expression that return one of several equal values."""
    for node in part.walk():
        if isinstance(node, exp.Anonymous) and node.name.lower() in functions.OF_EQUAL and node.expressions:
            ordered = node.parent.find_all(exp.Ordered) if isinstance(node.parent, exp.WithinGroup) else ()
            values = [*node.expressions, *(each.this for each in ordered)]
            if any(_may_differ(each, types) for each in values):
                yield node


def _shown(found: Sequence[tuple[exp.Expr, Unstable]], part: exp.Expr) -> list[Unstable]:
    """What an expression shows of unstable values within it."""
    return [
        replace(each, is_equal=each.is_equal and seen is Shown.EQUAL)
        for node, each in found
        if not each.is_equal or (seen := _shown_of(node, part)) is not Shown.NOTHING
    ]


def _varying(node: exp.Expr) -> str:
    """The description of a value that can differ, followed by "each time" in the message."""
    name = node.name.lower()
    if name in functions.OF_EQUAL:
        return f"{name}(), which may return another of equal values, such as 0.0 or -0.0"
    if name in functions.SUMS | functions.ROUNDING:
        return f"{name}() of floating-point numbers, which may be rounded differently"
    return f"{name}(), which may choose another of equal rows"


def _instead_of(node: exp.Expr) -> str:
    """What to write instead of a value that can differ between computations."""
    stored = "compute it in a model of its own, which stores the choice"
    if node.name.lower() in functions.OF_EQUAL:
        return "cast its argument to decimal; or compute it in a model of its own"
    if node.name.lower() in functions.SUMS:
        return "cast what it adds up to decimal; or compute it in a model of its own"
    if window_of(node) is None:
        return stored
    return f"cast floating-point columns to decimal, and use one PARTITION BY and ORDER BY in its SELECT; or {stored}"


def _reads_order(node: exp.Anonymous) -> bool:
    """Whether the value of a window function depends on the order of rows that are equal in its ORDER BY."""
    name, window = node.name.lower(), window_of(node)
    if name in functions.INEXACT_IN_WINDOWS or name in functions.INEXACT_AGGREGATES:
        return True
    return window is not None and name in functions.AGGREGATES and counts_rows(window)


def counts_rows(window: exp.Window) -> bool:
    """Whether the frame of a window is a number of rows, so that the order of equal rows matters."""
    spec = window.args.get("spec")
    if spec is None or str(spec.args.get("kind") or "").upper() != "ROWS":
        return False
    ends = (spec.args.get("start"), spec.args.get("end"))
    return not all(str(each).upper() == "UNBOUNDED" for each in ends)
