"""Values that may be different each time they are computed, although no source has changed.

``row_number()`` chooses among rows that its ORDER BY does not tell apart, ``first()`` among all rows of a group, and a
sum of floating-point numbers depends on the order in which they are added. Computed again, such a value may say
something else than what is in the table. That is harmless if all that depends on it is replaced at once. So the key by
which a query is kept up must be decided by the group or partition that the value is computed from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from . import functions, normal
from .blocks import ROOT, Block
from .dialect import PlainSpark
from .reading import own_nodes
from .refusal import Refusal, refused
from .restricted import Relations, held_by_source, within
from .supported import is_aggregate, window_of
from .together import kept_together

_EXACT = ("tinyint", "smallint", "int", "decimal", "date", "boolean")
"""Types whose sums are exact. The average of bigints is computed with doubles."""


@dataclass(frozen=True)
class Unstable:
    """An expression of a block that may return another value each time.

    ``chooses``: among rows that are equal to it, instead of rounding.
    """

    block: str
    node: exp.Expr
    chooses: bool


def inexact(select: exp.Select, exact: Mapping[int, bool] | None = None) -> Iterator[tuple[exp.Expr, bool]]:
    """The nodes of a SELECT that may return another value each time, and whether they choose among rows."""
    for part in [*normal.parts(select)]:
        for node in own_nodes(part):
            if not isinstance(node, exp.Anonymous):
                continue
            name = node.name.lower()
            window = window_of(node)
            if window is not None and (
                name in functions.INEXACT_IN_WINDOWS or (name in functions.AGGREGATES and _counts_rows(window))
            ):
                yield node, True
            elif name in functions.INEXACT_AGGREGATES:
                yield node, name not in functions.ROUNDING
            elif name in functions.SUMS and not (exact or {}).get(id(node), False):
                yield node, False


def _counts_rows(window: exp.Window) -> bool:
    """Whether the frame of a window is a number of rows, so that the order of equal ones matters."""
    spec = window.args.get("spec")
    if spec is None or str(spec.args.get("kind") or "").upper() != "ROWS":
        return False
    ends = (spec.args.get("start"), spec.args.get("end"))
    return not all(str(each).upper() == "UNBOUNDED" for each in ends)


class Stability:
    """Finds what is unstable in the blocks of a query, and whether a key covers it."""

    def __init__(self, blocks: Sequence[Block], relations: Relations) -> None:
        self._blocks = {block.name: block for block in blocks}
        self._relations = relations
        self._columns: dict[str, dict[str, list[Unstable]]] = {}
        self._deciding: list[Unstable] = []
        for block in blocks:
            self._columns[block.name] = self._of(block)

    def columns(self, name: str) -> set[str]:
        """The columns of a block whose values may be others each time, in lower case."""
        return {column for column, found in self._columns[name].items() if found}

    def refusal(self, key: Sequence[str]) -> Refusal | None:
        """Why a query cannot be kept up by some columns of its result; None where it can."""
        for unstable in self._deciding:
            if not self._is_covered(unstable.block, key):
                return refused(
                    f"{unstable.node.name.lower()}(), which may choose another of equal rows each time, in a "
                    "part of the query whose groups the rest of it does not keep together",
                    unstable.node,
                    "compute it in a model of its own, which stores the choice",
                )
        return None

    def covered(self, columns: Sequence[str]) -> list[str]:
        """Those of some columns of the result that all unstable parts of the query decide together."""
        kept = set(columns)
        for name in {each.block for each in self._deciding}:
            for mapped in self._mapped(ROOT, {column: column for column in columns}, name):
                kept &= mapped
        return [column for column in columns if column in kept]

    def _of(self, block: Block) -> dict[str, list[Unstable]]:
        """What is unstable in each column of a block; notes what decides which rows there are."""
        if isinstance(block.query, exp.Union):
            sides = [side for side in (block.query.this, block.query.expression) if isinstance(side, exp.Select)]
            found: dict[str, list[Unstable]] = {}
            for side in sides:
                for name, each in zip(block.columns, side.expressions, strict=True):
                    found.setdefault(name.lower(), []).extend(self._in(each, side, {}))
            return found
        select = block.query
        own = {id(node): Unstable(block.name, node, chooses) for node, chooses in inexact(select, self._exact(select))}
        outputs = {each.alias_or_name.lower(): self._in(each, select, own) for each in select.expressions}
        for each in self._deciders(select):
            self._deciding += self._in(each, select, own)
        # a choice in a part of the query must be the same wherever it is read
        self._deciding += [each for each in own.values() if each.chooses]
        for inner in select.find_all(exp.Select):
            for node, chooses in inexact(inner) if inner is not select else ():
                if chooses:
                    raise refused(f"{node.name.lower()}() in a subquery of an expression", node, "compute it in a CTE")
        if select.args.get("distinct") is not None:
            self._deciding += [each for found in outputs.values() for each in found]
        return outputs

    def _deciders(self, select: exp.Select) -> Iterator[exp.Expr]:
        """The parts of a SELECT that decide which rows it returns, and which of them belong together."""
        for key in ("where", "having", "group"):
            if select.args.get(key) is not None:
                yield select.args[key]
        for _, _, join in normal.clauses(select):
            if join is not None and join.args.get("on") is not None:
                yield join.args["on"]
        yield from (select.args.get("laterals") or ())
        for window in select.find_all(exp.Window):
            yield from window.args.get("partition_by") or ()
            if window.args.get("order") is not None:
                yield window.args["order"]

    def _in(self, part: exp.Expr, select: exp.Select, own: Mapping[int, Unstable]) -> list[Unstable]:
        """What is unstable in an expression, by its own functions and by the columns that it reads."""
        sources = {alias: relation.name for alias, relation, _ in normal.clauses(select)}
        for inner in part.find_all(exp.Select):
            sources = {**{alias: relation.name for alias, relation, _ in normal.clauses(inner)}, **sources}
        found = [own[id(node)] for node in part.walk() if id(node) in own]
        for column in part.find_all(exp.Column):
            found += self._columns.get(sources.get(column.table, ""), {}).get(column.name.lower(), [])
        return found

    def _exact(self, select: exp.Select) -> dict[int, bool]:
        """By the identity of each sum of a SELECT: whether what it adds up is exact."""
        sources = {alias: relation for alias, relation, _ in normal.clauses(select)}
        return {
            id(node): bool(node.expressions) and self._is_exact(node.expressions[0], sources, node.name.lower())
            for part in normal.parts(select)
            for node in own_nodes(part)
            if isinstance(node, exp.Anonymous) and node.name.lower() in functions.SUMS
        }

    def _is_exact(self, node: exp.Expr, sources: Mapping[str, exp.Expr], aggregate: str) -> bool:
        if isinstance(node, exp.Column):
            source = sources.get(node.table)
            type_ = self._relations.type_of(source.name, node.name) if isinstance(source, exp.Table) else None
            exact = _EXACT if "avg" in aggregate or aggregate == "mean" else (*_EXACT, "bigint")
            return type_ is not None and type_.startswith(exact)
        if isinstance(node, exp.Literal):
            return not node.is_string and "e" not in node.name.lower()
        if isinstance(node, exp.Null):
            return True
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
            return all(self._is_exact(each, sources, aggregate) for each in (node.this, node.expression))
        if isinstance(node, (exp.Paren, exp.Neg, exp.Distinct)):
            inner = node.expressions[0] if isinstance(node, exp.Distinct) else node.this
            return self._is_exact(inner, sources, aggregate)
        if isinstance(node, (exp.Cast, exp.TryCast)):
            return node.to.sql(PlainSpark).lower().startswith(_EXACT)
        if isinstance(node, exp.Case):
            values = [each.args["true"] for each in node.args.get("ifs") or ()]
            values += [node.args["default"]] if node.args.get("default") is not None else []
            return all(self._is_exact(each, sources, aggregate) for each in values)
        if isinstance(node, exp.Anonymous) and node.name.lower() in ("coalesce", "nvl", "ifnull", "if"):
            values = node.expressions[1:] if node.name.lower() == "if" else node.expressions
            return all(self._is_exact(each, sources, aggregate) for each in values)
        return isinstance(node, exp.Anonymous) and is_aggregate(node) and node.name.lower() in ("count", "count_if")

    def _is_covered(self, name: str, key: Sequence[str]) -> bool:
        """Whether the groups or partitions of a block decide a key of the result, wherever it is read."""
        return all(mapped == set(key) for mapped in self._mapped(ROOT, {column: column for column in key}, name))

    def _mapped(self, at: str, columns: Mapping[str, str], wanted: str) -> Iterator[set[str]]:
        """For each place where the query reads a block: the key columns that its groups or partitions decide."""
        block = self._blocks[at]
        if at == wanted:
            (_, inner), *_ = within(block, columns)
            together = kept_together(block.query) if isinstance(block.query, exp.Select) else None
            if together is None:  # each row by itself, where nothing can be chosen
                yield set(columns.values())
            else:
                yield {key for _, key in inner}
        for select, inner in within(block, columns):
            held = held_by_source(select, inner, self._relations)
            for table in select.find_all(exp.Table):
                if table.name in self._blocks:
                    yield from self._mapped(table.name, held.get(id(table), {}), wanted)
