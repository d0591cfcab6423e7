"""Values that can differ between computations although no source has changed.

``row_number()`` chooses among rows that are equal in its ORDER BY, ``first()`` chooses among all rows of a group, and a
sum of floating-point numbers depends on the order of addition. If such a value is computed again, it may differ from
the value in the table. This is harmless if everything that depends on it is replaced at once. The key by which a query
is updated must therefore be determined by the group or partition from which the value is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from . import functions, normal
from .blocks import ROOT, Block
from .equal_values import Shown, one_of_equal, shown
from .limits import is_limited
from .reading import own_nodes
from .refusal import Refusal, refused
from .restricted import Relations, held_by_source, within
from .supported import is_generator, window_of
from .together import aggregates_of
from .types import Types, tells_apart

_EXACT = ("tinyint", "smallint", "int", "decimal", "date", "boolean")
"""Types whose sums are exact. The average of bigints is computed with doubles."""


@dataclass(frozen=True)
class Unstable:
    """An expression of a block whose value can differ between computations.

    ``chooses``: whether it chooses among equal rows, as opposed to rounding. ``is_equal``: whether its values are equal
    in comparisons.
    """

    block: str
    node: exp.Expr
    chooses: bool
    is_equal: bool = False


def inexact(select: exp.Select, types: Types) -> Iterator[tuple[exp.Expr, bool]]:
    """The nodes of a SELECT whose value can differ between computations, and whether they choose among rows."""
    calls = [node for node in _own_nodes(select) if isinstance(node, exp.Anonymous)]
    by_order = {id(node): window for node in calls if (window := window_of(node)) is not None and _reads_order(node)}
    if is_decided(select, list(by_order.values()), types):
        calls = [node for node in calls if id(node) not in by_order]
    for node in calls:
        name = node.name.lower()
        if id(node) in by_order:
            yield node, name not in functions.ROUNDING or _counts_rows(by_order[id(node)])
        elif name in functions.INEXACT_AGGREGATES:
            yield node, name not in functions.ROUNDING
        elif name in functions.SUMS and not _is_exact(node, types):
            yield node, False


def is_decided(select: exp.Select, windows: Sequence[exp.Window], types: Types) -> bool:
    """Whether rows that are equal in the order of some windows are also equal in all columns that the SELECT reads.

    Their order then does not matter. With windows of different orders, equal rows could have different positions.
    """
    distinguishing = [
        [*(each.args.get("partition_by") or ()), *(by.this for by in each.args["order"].expressions)]
        for each in windows
        if each.args.get("order") is not None
    ]
    if len(distinguishing) < len(windows) or any(map(is_generator, _own_nodes(select))):
        return False  # the rows that a generator returns for one row have the same values of all columns
    groups = normal.grouped_by(select)
    if groups is not None or aggregates_of(select):  # no two groups are equal
        return all(group in each or isinstance(group, exp.Literal) for each in distinguishing for group in groups or ())
    orders = [(each.args.get("partition_by"), each.args["order"]) for each in windows]
    columns = [column for part in normal.parts(select) for column in part.find_all(exp.Column)]
    return all(each == orders[0] for each in orders) and all(
        column in each and tells_apart(types.of(column)) for each in distinguishing for column in columns
    )


def _own_nodes(select: exp.Select) -> list[exp.Expr]:
    """The nodes of the expressions that a SELECT itself computes."""
    return [node for part in normal.parts(select) for node in own_nodes(part)]


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
    return f"add all other columns that its SELECT reads to the window's ORDER BY; or {stored}"


def _reads_order(node: exp.Anonymous) -> bool:
    """Whether the value of a window function depends on the order of rows that are equal in its ORDER BY."""
    name, window = node.name.lower(), window_of(node)
    if name in functions.INEXACT_IN_WINDOWS or name in functions.INEXACT_AGGREGATES:
        return True
    return window is not None and name in functions.AGGREGATES and _counts_rows(window)


def _is_exact(node: exp.Anonymous, types: Types) -> bool:
    """Whether the values that a sum adds are exact."""
    type_ = types.of(node.expressions[0]) if node.expressions else None
    exact = _EXACT if node.name.lower() not in ("sum", "try_sum") else (*_EXACT, "bigint")
    return type_ is not None and type_.startswith(exact)


def _counts_rows(window: exp.Window) -> bool:
    """Whether the frame of a window is a number of rows, so that the order of equal rows matters."""
    spec = window.args.get("spec")
    if spec is None or str(spec.args.get("kind") or "").upper() != "ROWS":
        return False
    ends = (spec.args.get("start"), spec.args.get("end"))
    return not all(str(each).upper() == "UNBOUNDED" for each in ends)


def _clause_of(inner: exp.Expr, select: exp.Select) -> str | None:
    """The clause of a SELECT that contains a node."""
    while inner.parent is not None and inner.parent is not select:
        inner = inner.parent
    return inner.arg_key


class Stability:
    """Finds the unstable expressions in the blocks of a query, and checks whether a key covers them."""

    def __init__(self, blocks: Sequence[Block], relations: Relations, types: Types) -> None:
        self._types = types
        self._blocks = {block.name: block for block in blocks}
        self._relations = relations
        self._columns: dict[str, dict[str, list[Unstable]]] = {}
        self._deciding: list[Unstable] = []
        for block in blocks:
            self._columns[block.name] = self._of(block)

    @property
    def chooses(self) -> bool:
        """Whether an unstable expression determines which rows exist, or chooses among rows."""
        return bool(self._deciding)

    def columns(self, name: str) -> set[str]:
        """The columns of a block whose values can differ between computations, in lower case."""
        return {column for column, found in self._columns[name].items() if found}

    def refusal(self, key: Sequence[str]) -> Refusal | None:
        """Why a query cannot be updated incrementally by these columns of its result. None if it can."""
        for unstable in self._deciding:
            if not self._is_covered(unstable.block, key):
                return refused(
                    f"{_varying(unstable.node)} each time, in a part of the query whose groups are not kept together "
                    "in the rest of the query",
                    unstable.node,
                    _instead_of(unstable.node),
                )
        return None

    @property
    def choosing(self) -> frozenset[str]:
        """The blocks with an unstable expression as in ``chooses``, except for the query itself."""
        return frozenset(each.block for each in self._deciding) - {ROOT}

    def covered(self, columns: Sequence[str]) -> list[str]:
        """The columns of the result that the groups or partitions of all unstable blocks determine."""
        kept = set(columns)
        for name in {each.block for each in self._deciding}:
            for mapped in self._mapped(ROOT, {column: column for column in columns}, name):
                kept &= mapped
        return [column for column in columns if column in kept]

    def _of(self, block: Block) -> dict[str, list[Unstable]]:
        """The unstable expressions in each column of a block. Also records those that determine which rows exist."""
        if isinstance(block.query, exp.SetOperation):
            found: dict[str, list[Unstable]] = {}
            for side in block.selects:
                for name, each in zip(block.columns, side.expressions, strict=True):
                    found.setdefault(name.lower(), []).extend(self._in(each, side, {}))
            if not isinstance(block.query, exp.Union):  # its rows are compared
                self._deciding += [each for listed in found.values() for each in listed if not each.is_equal]
            return found
        select = block.query
        equal = [node for inner in select.find_all(exp.Select) for node in one_of_equal(inner, self._types)]
        own = {id(node): Unstable(block.name, node, False, is_equal=True) for node in equal}
        own |= {id(node): Unstable(block.name, node, chooses) for node, chooses in inexact(select, self._types)}
        own |= {id(node): Unstable(block.name, node, False) for node in self._rounded_in_subqueries(select)}
        outputs = {each.alias_or_name.lower(): self._in(each, select, own) for each in select.expressions}
        for each in self._deciders(select):
            self._deciding += [found for found in self._in(each, select, own) if not found.is_equal]
        # a choice in a part of the query must be the same in all places that read it
        self._deciding += [each for each in own.values() if each.chooses]
        if select.args.get("distinct") is not None or is_limited(select):
            self._deciding += [each for found in outputs.values() for each in found if not each.is_equal]
        return outputs

    def _rounded_in_subqueries(self, select: exp.Select) -> Iterator[exp.Expr]:
        """The values in subqueries of expressions that may be rounded or written differently.

        Raises Refusal if a subquery chooses among rows, or if such a sum determines which rows FROM and WHERE return.
        """
        for inner in list(select.find_all(exp.Select))[1:]:
            equal = [each for each in one_of_equal(inner, self._types) if shown(each, select) is Shown.DIFFERENCE]
            for node, chooses in (*inexact(inner, self._types), *((each, False) for each in equal)):
                if chooses:
                    raise refused(f"{node.name.lower()}() in a subquery of an expression", node, "compute it in a CTE")
                if _clause_of(inner, select) in ("where", "joins", "laterals"):
                    raise refused(f"{_varying(node)} each time, in a subquery of a condition", node, _instead_of(node))
                yield node

    def _deciders(self, select: exp.Select) -> Iterator[exp.Expr]:
        """The parts of a SELECT that determine which rows it returns, and which of them are grouped."""
        for key in ("where", "having", "group"):
            if select.args.get(key) is not None:
                yield select.args[key]
        for _, _, join in normal.clauses(select):
            if join is not None and join.args.get("on") is not None:
                yield join.args["on"]
        yield from (select.args.get("laterals") or ())
        if is_limited(select) and select.args.get("order") is not None:
            yield select.args["order"]
        for window in select.find_all(exp.Window):
            yield from window.args.get("partition_by") or ()
            if window.args.get("order") is not None:
                yield window.args["order"]

    def _in(self, part: exp.Expr, select: exp.Select, own: Mapping[int, Unstable]) -> list[Unstable]:
        """The unstable expressions in an expression: its own functions, and those in the columns that it reads."""
        sources = {alias: relation.name for alias, relation, _ in normal.clauses(select)}
        for inner in part.find_all(exp.Select):
            sources = {**{alias: relation.name for alias, relation, _ in normal.clauses(inner)}, **sources}
        found = [(node, own[id(node)]) for node in part.walk() if id(node) in own]
        for column in part.find_all(exp.Column):
            read = self._columns.get(sources.get(column.table, ""), {}).get(column.name.lower(), [])
            found += [(column, each) for each in read]
        return [
            replace(each, is_equal=each.is_equal and seen is Shown.EQUAL)
            for node, each in found
            if not each.is_equal or (seen := shown(node, part)) is not Shown.NOTHING
        ]

    def _is_covered(self, name: str, key: Sequence[str]) -> bool:
        """Whether a block's groups or partitions determine a key of the result in all places that read it."""
        return all(mapped == set(key) for mapped in self._mapped(ROOT, {column: column for column in key}, name))

    def _mapped(self, at: str, columns: Mapping[str, str], wanted: str) -> Iterator[set[str]]:
        """The key columns that a block's groups or partitions determine, for each place that reads the block."""
        block = self._blocks[at]
        if at == wanted:
            (_, inner), *_ = within(block, columns, self._relations)
            yield {key for _, key in inner}
        for select, inner in within(block, columns, self._relations):
            for table, held in held_by_source(select, inner, self._relations):
                if table.name in self._blocks:
                    yield from self._mapped(table.name, held.exact, wanted)
