"""Random SELECT blocks: plain, DISTINCT, grouped, or with windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .aggregates import group_by
from .expressions import Expressions, Leaf
from .joins import From, from_clause
from .qualify import qualify
from .scopes import Scope, name_of, quoted
from .subqueries import Subqueries
from .values import ORDERED, SCALARS, Column, Kind
from .windows import windowed

if TYPE_CHECKING:
    from .queries import Writer

_NAMES = ("k", "v", "n", "total", "name", "x", "Day", "id", "a", "key", "cnt", "order id", "grp", "value", "info")


@dataclass
class Items:
    """The items of a SELECT list that is being written."""

    writer: Writer
    texts: list[str] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)

    def add(self, text: str, kind: Kind, name: str | None = None, *, aliased: float = 0.4) -> str:
        """Add an item; returns its name. A column may keep its own ``name``."""
        taken = {column.name.lower() for column in self.columns}
        own = name if name is not None and name.lower() not in taken else None
        if own is None or self.writer.chance(aliased):
            own = self._free(taken)
            text = f"{text} {self.writer.rng.choice(('as ', 'as ', ''))}{quoted(self.writer.rng, own)}"
        self.texts.append(text)
        self.columns.append(Column(own, kind))
        return own

    def _free(self, taken: set[str]) -> str:
        free = [name for name in _NAMES if name.lower() not in taken]
        return self.writer.rng.choice(free) if free else f"c{len(taken)}"

    @property
    def sql(self) -> str:
        return ", ".join(self.texts)


def block(
    writer: Writer, depth: int, kinds: Sequence[Kind] | None, outer: Scope | None
) -> tuple[str, tuple[Column, ...], int]:
    """A SELECT: its text, its columns, and its approximate number of rows."""
    rng = writer.rng
    found = from_clause(writer, depth, outer)
    leaves = found.scope.leaves(rng)
    subqueries = Subqueries(writer, depth, found.scope, leaves)
    predicate = subqueries.predicate if depth > 0 else None
    where = ""
    if rng.random() < 0.42:
        where = f" where {Expressions(rng, leaves, predicate).condition()}"
    (form,) = rng.choices(("plain", "distinct", "grouped", "windowed"), (42, 8, 34, 16))
    items = Items(writer)
    if form == "grouped":
        rest, rows = group_by(writer, items, found, leaves, kinds, depth)
        return f"select {items.sql} from {found.sql}{where}{rest}", tuple(items.columns), rows
    if form == "windowed":
        rest = windowed(writer, items, found, leaves, kinds)
        sql = f"select {items.sql} from {found.sql}{where}{rest}"
        if items.columns[-1].kind is Kind.INT and rng.random() < 0.45:
            return *_kept(writer, sql, items.columns, found.scope, depth), found.rows
        return sql, tuple(items.columns), found.rows
    scalar = subqueries.scalar if depth > 0 and rng.random() < 0.3 and form == "plain" else None
    plain(writer, items, found, leaves, kinds, Expressions(rng, leaves, scalar=scalar))
    verb = "select"
    if form == "distinct" and all(column.kind in ORDERED for column in items.columns):
        verb = "select distinct"
    return f"{verb} {items.sql} from {found.sql}{where}", tuple(items.columns), found.rows


def _kept(
    writer: Writer, sql: str, columns: Sequence[Column], scope: Scope, depth: int
) -> tuple[str, tuple[Column, ...]]:
    """The rows of a block with windows that pass a condition on its last column, by QUALIFY or by WHERE."""
    rng = writer.rng
    test = f"{quoted(rng, columns[-1].name)} {rng.choice(('= 1', '<= 2', '> 1'))}"
    hidden = scope.names() | (scope.outer.names() if scope.outer else set())
    own = [column for column in columns if column.name.lower() not in hidden]
    if columns[-1] in own and rng.random() < 0.5:
        if depth > 0 and rng.random() < 0.5:
            leaves = [Leaf((quoted(rng, column.name),), column.kind) for column in own]
            subqueries = Subqueries(writer, depth, scope, leaves, is_correlated=False)
            test = f"{test} {rng.choice(('and', 'and not', 'or'))} {subqueries.predicate()}"
        return qualify(sql, test), tuple(columns)
    listed = ", ".join(quoted(rng, column.name) for column in columns)
    return f"select {rng.choice(('*', listed))} from ({sql}) q where {test}", tuple(columns)


def plain(
    writer: Writer,
    items: Items,
    found: From,
    leaves: list[Leaf],
    kinds: Sequence[Kind] | None,
    expressions: Expressions,
) -> None:
    """Columns, expressions, stars, and aliases that later items use."""
    rng = writer.rng
    if kinds is not None:
        for kind in kinds:
            items.add(expressions.of(kind), kind)
        return
    if rng.random() < 0.2 and _star(writer, items, found):
        if rng.random() < 0.3:
            items.add(expressions.of(Kind.INT), Kind.INT)
        return
    for _ in range(rng.choice((1, 2, 3, 4, 5))):
        if leaves and rng.random() < 0.6:
            column(items, rng.choice(leaves))
        else:
            kind = rng.choice((*SCALARS, Kind.RATIO, Kind.INT))
            items.add(expressions.of(kind), kind)
    if rng.random() < 0.06:
        _field_of_all(items, found)
    if rng.random() < 0.12:
        _lateral_alias(writer, items, found, expressions)


def column(items: Items, leaf: Leaf) -> None:
    """Add a column, under its own name or another one."""
    text = items.writer.rng.choice(leaf.spellings)
    items.add(text, leaf.kind, name_of(text) if "(" not in text else None)


def _star(writer: Writer, items: Items, found: From) -> bool:
    """Add ``*``, ``t.*`` or ``* except (…)``, unless names would repeat."""
    rng, scope = writer.rng, found.scope
    star = list(scope.star)
    one = rng.choice(scope.visible)
    if rng.random() < 0.35:
        star, text = list(one.columns), f"{quoted(rng, one.alias)}.*"
    elif rng.random() < 0.3 and len(star) > 1:
        dropped = rng.choice(star)
        star = [each for each in star if each is not dropped]
        text = f"* except ({quoted(rng, dropped.name)})"
        if [each.name.lower() for each in scope.star].count(dropped.name.lower()) > 1 or scope.merged:
            return False
    else:
        text = "*"
    names = [each.name.lower() for each in star]
    if len({*names}) < len(names):
        return False
    items.texts.append(text)
    items.columns += star
    return True


def _field_of_all(items: Items, found: From) -> None:
    """Add a column by a star in the arguments of a function."""
    names = [each.name.lower() for each in found.scope.star]
    fitting = [each for each in found.scope.star if each.kind is Kind.INT and names.count(each.name.lower()) == 1]
    if fitting:
        items.add(f"struct(*).{quoted(items.writer.rng, items.writer.rng.choice(fitting).name)}", Kind.INT, aliased=1)


def _lateral_alias(writer: Writer, items: Items, found: From, expressions: Expressions) -> None:
    """Add an item that uses an earlier one, or a column that an alias seems to hide."""
    rng = writer.rng
    names = found.scope.names()
    outer = found.scope.outer
    hidden = outer.names() if outer is not None else set()
    alias = rng.choice(("lca", "w", "n2"))
    if alias in names or alias in hidden or any(each.name.lower() == alias for each in items.columns):
        return
    items.texts.append(f"{expressions.of(Kind.INT)} as {alias}")
    items.columns.append(Column(alias, Kind.INT))
    items.add(f"{alias.upper()} % 3 + {expressions.of(Kind.INT, 1)}", Kind.INT)
