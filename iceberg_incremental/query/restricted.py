"""A query whose sources are restricted to the rows that some keys need.

A column of a source holds the values of a key column if the query selects it unchanged, and groups or partitions by it
if it has groups or windows, or if a join equates it with such a column. A result row with a key depends only on the
source's rows with the key's value in this column.

Restricting the sources is an optimization. The rows of the result are compared with the keys as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from ..names import sql_name
from . import normal
from .blocks import Block
from .dialect import PlainSpark
from .limits import is_limited
from .states import State
from .together import kept_together, windows_of
from .types import Types, have_one_type

Column = tuple[str, str]
"""A column of a source in a FROM clause: the alias of the source, and the column's name."""

Held = dict[Column, tuple[str, bool]]
"""The key column whose values a source's column holds, and whether it has the key's type, by this column."""

TypeOf = Callable[[Column], str | None]


@dataclass(frozen=True)
class HeldKeys:
    """The key columns whose values a source's columns hold, by the names of these columns.

    ``exact``: without columns that have another type than the key. Their values may differ from the equal values of the
    key, for example if they are text.
    """

    all: Mapping[str, str] = field(default_factory=dict)
    exact: Mapping[str, str] = field(default_factory=dict)

    @property
    def converted(self) -> set[str]:
        """The key columns whose values a column holds in another type."""
        return {key for column, key in self.all.items() if column not in self.exact}


@dataclass(frozen=True)
class Keys:
    """A view of keys. ``columns``: the names of its columns, each with the expression whose values it holds.

    ``nulls``: whether a key may be NULL. ``bound``: returns a condition on a column of a source by which Iceberg can
    skip files, or None, given the key column, the source's name and the column. ``hint``: the hint for the join.
    """

    view: str
    columns: tuple[tuple[str, exp.Expr], ...]
    nulls: bool = True
    bound: Callable[[str, str, str], str | None] = lambda key, source, column: None
    hint: str = ""

    def exists_sql(self, pairs: Sequence[tuple[str, str]]) -> str:
        """The condition that some values are those of a key. ``pairs``: the key columns with the SQL of the values."""
        sign = "<=>" if self.nulls else "="
        same = " and ".join(f"ip_keys.{sql_name(key)} {sign} {value}" for key, value in pairs)
        return f"exists (select {self.hint}1 from {self.view} as ip_keys{f' where {same}' if same else ''})"


class Relations(Protocol):
    """The relations that a query reads. ``value_types``: the types of the values in their blocks."""

    value_types: Types

    def at(self, node: exp.Expr, state: State) -> exp.Expr:
        """A copy of an expression or query that reads the clock in a state."""
        ...

    def sql(self, name: str, state: State) -> str | None:
        """A relation in a state, as a relation for FROM. None if it has no such rows."""
        ...

    def block(self, name: str) -> Block | None:
        """The block with a name. None for a base table."""
        ...

    def type_of(self, name: str, column: str) -> str | None:
        """The type of a column that is read unchanged from a base table, possibly through blocks. None otherwise."""
        ...


def restricted_sql(query: exp.Select, keys: Keys, relations: Relations, state: State) -> str:
    """A SELECT with its sources in a state, which returns only the groups, partitions or rows with the keys."""
    wanted = [(each, key) for key, each in keys.columns]
    select = _restricted(query, wanted, keys, relations, state)
    condition = keys.exists_sql([(key, f"({relations.at(each, state).sql(PlainSpark)})") for key, each in keys.columns])
    sql = select.where(exp.Var(this=condition)).sql(PlainSpark)
    return f"select * from ({sql}) as ip_rows" if is_limited(select) else sql


def restricted_block_sql(
    block: Block,
    columns: Mapping[str, str],
    keys: Keys,
    relations: Relations,
    state: State,
    converted: Collection[str] = (),
) -> str:
    """A block's query whose sources are restricted. Its result may also contain rows with other keys.

    ``columns``: the key columns, by the names of the block's columns that hold their values. ``converted``: as in
    ``held_by_source``.
    """
    found = [
        _restricted(select, wanted, keys, relations, state, converted)
        for select, wanted in within(block, columns, relations)
    ]
    if not isinstance(block.query, exp.SetOperation):
        return str(found[0].sql(PlainSpark))
    query = block.query.copy()
    query.set("this", found[0])
    query.set("expression", found[1])
    return query.sql(PlainSpark)


Wanted = Sequence[tuple[exp.Expr, str]]
"""Expressions of a SELECT, each with the key column whose values it has."""


def within(block: Block, columns: Mapping[str, str], relations: Relations) -> list[tuple[exp.Select, Wanted]]:
    """The SELECTs of a block, each with the expressions of ``columns`` by which its sources can be restricted.

    A set operation converts the values of columns that have different types in its branches. These columns are left
    out, because values that are equal afterwards may differ before.
    """
    if isinstance(block.query, exp.SetOperation):
        places = {name.lower(): place for place, name in enumerate(block.columns)}
        sides = [(side, [each.unalias() for each in side.expressions]) for side in block.selects]
        listed = []
        for name, key in columns.items():
            place = places[name.lower()]
            known = [values[place] for _, values in sides if not isinstance(values[place], exp.Null)]
            first, *others = (relations.value_types.of(each) for each in known or [exp.null()])
            if all(have_one_type(first, other) for other in others):
                listed.append((place, key))
        return [(side, [(values[place], key) for place, key in listed]) for side, values in sides]
    select = block.query
    by_name = {each.alias_or_name.lower(): each.unalias() for each in select.expressions}
    wanted = [(by_name[name.lower()], key) for name, key in columns.items() if name.lower() in by_name]
    together = kept_together(select)
    if together is not None:
        # a restriction by another column would remove rows from groups or partitions
        wanted = [(each, key) for each, key in wanted if each in together and _splits_all(select, each)]
    return [(select, wanted)]


def _splits_all(select: exp.Select, column: exp.Expr) -> bool:
    return all(column in (window.args.get("partition_by") or []) for window in windows_of(select))


def _restricted(
    query: exp.Select,
    wanted: Wanted,
    keys: Keys,
    relations: Relations,
    state: State,
    converted: Collection[str] = (),
) -> exp.Select:
    """The SELECT with its relations in a state, restricted to their rows with the keys where possible."""
    select = relations.at(query, state)
    assert isinstance(select, exp.Select)
    for table, held in held_by_source(select, wanted, relations, converted):
        if not isinstance(table.this, exp.Var):
            table.replace(_source(table, held, keys, relations, state))
    return select


def _source(table: exp.Table, held: HeldKeys, keys: Keys, relations: Relations, state: State) -> exp.Table:
    """A source in a state, restricted to its rows with the keys."""
    block = relations.block(table.name)
    if block is not None and held.all:
        text = f"({restricted_block_sql(block, held.all, keys, relations, state, held.converted)})"
    else:
        text = relations.sql(table.name, state) or ""
        if held.all:
            alias = "ip_source"
            listed = [keys.bound(key, table.name, name) for name, key in held.all.items()]
            bounds = [bound for bound in listed if bound is not None]
            found = keys.exists_sql([(key, f"{alias}.{sql_name(name)}") for name, key in held.all.items()])
            condition = " and ".join([*bounds, found])
            text = f"(select * from {text} as {alias} where {condition})"
    alias_node = exp.TableAlias(this=exp.to_identifier(table.alias_or_name, quoted=True))
    return exp.Table(this=exp.Var(this=text), alias=alias_node)


def held_by_source(
    select: exp.Select, wanted: Wanted, relations: Relations, converted: Collection[str] = ()
) -> list[tuple[exp.Table, HeldKeys]]:
    """The sources of a SELECT and of its subqueries, each with its columns that hold values of a key.

    Equality is not transitive if types differ, so a column with another type ends a chain of equal columns.
    ``converted``: the key columns of which ``wanted`` has values of another type.
    """
    sources = {alias: relation for alias, relation, _ in normal.clauses(select) if isinstance(relation, exp.Table)}

    def type_of(column: Column) -> str | None:
        return relations.type_of(sources[column[0]].name, column[1]) if column[0] in sources else None

    optional = {alias for alias, _, join in normal.clauses(select) if _is_optional(join)}
    equal = _equal_columns(select)
    held: Held = {}
    for each, key in wanted:
        if isinstance(each, exp.Column):
            first = _column(each)
            columns = {first: False} if key in converted else _equal_to(first, equal, type_of)
            for column, same in columns.items():
                if column[0] not in optional:
                    held.setdefault(column, (key, same))
    for alias, _, join in normal.clauses(select):
        if join is not None and _is_optional(join):
            # only matching rows of the optional side are needed, and rows with other keys do not match
            _follow(normal.conjuncts(join.args.get("on")), alias, held, type_of)
    found = {id(table): _of_alias(held, alias) for alias, table in sources.items()}
    for inner in list(select.find_all(exp.Select)):
        if inner is not select and _is_inside(inner, select):
            found.update(_within_subquery(inner, held, sources, relations))
    return [(table, found.get(id(table), HeldKeys())) for table in select.find_all(exp.Table)]


def _equal_to(first: Column, equal: Sequence[set[Column]], type_of: TypeOf) -> dict[Column, bool]:
    """The columns that are equal to a column, each with whether it has the same type."""
    type_ = type_of(first)
    found, next_ = {first: True}, [first]
    while next_:
        column = next_.pop()
        for other in {other for pair in equal if column in pair for other in pair if other not in found}:
            found[other] = have_one_type(type_, type_of(other))
            if found[other]:
                next_.append(other)
    return found


def _within_subquery(
    inner: exp.Select,
    held: Held,
    outer: Mapping[str, exp.Table],
    relations: Relations,
) -> dict[int, HeldKeys]:
    """The columns that hold values of a key in the sources of a subquery, by the ``id()`` of the source.

    The WHERE clause of the subquery can equate them with columns of the outer query.
    """
    mine = {
        alias: relation
        for alias, relation, join in normal.clauses(inner)
        if isinstance(relation, exp.Table) and not _is_optional(join)
    }
    hidden = {alias for alias, _, _ in normal.clauses(inner)}
    known = {column: found for column, found in held.items() if column[0] not in hidden}

    def type_of(column: Column) -> str | None:
        table = mine.get(column[0]) or outer.get(column[0])
        return None if table is None else relations.type_of(table.name, column[1])

    for alias in mine:
        _follow(normal.filters(inner), alias, known, type_of)
    return {id(table): _of_alias(known, alias) for alias, table in mine.items()}


def _follow(
    conditions: Sequence[exp.Expr],
    alias: str,
    held: Held,
    type_of: TypeOf,
) -> None:
    """Add to ``held`` the columns of a source that conditions equate with a column in it."""
    for condition in conditions:
        if not isinstance(condition, exp.EQ):
            continue
        left, right = condition.this, condition.expression
        if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
            continue
        for own, other in ((_column(left), _column(right)), (_column(right), _column(left))):
            if own[0] == alias and other[0] != alias and other in held and held[other][1]:
                same = have_one_type(type_of(own), type_of(other))
                held.setdefault(own, (held[other][0], same))


def _of_alias(held: Held, alias: str) -> HeldKeys:
    columns = {name: found for (source, name), found in held.items() if source == alias}
    return HeldKeys(
        {name: key for name, (key, _) in columns.items()}, {name: key for name, (key, same) in columns.items() if same}
    )


def _is_optional(join: exp.Join | None) -> bool:
    return join is not None and join.side.upper() == "LEFT"


def _is_inside(inner: exp.Select, outer: exp.Select) -> bool:
    """Whether a subquery is in an expression of a query itself, not of another subquery."""
    above = inner.parent
    while isinstance(above, exp.Expr) and not isinstance(above, exp.Select):
        if isinstance(above, exp.SetOperation):
            return False
        above = above.parent
    return above is outer


def _equal_columns(select: exp.Select) -> list[set[Column]]:
    """Pairs of columns that have the same value in every row that FROM and WHERE return."""
    conditions = normal.filters(select)
    for _, _, join in normal.clauses(select):
        if join is not None and not join.side:
            conditions += normal.conjuncts(join.args.get("on"))
    return [
        {_column(each.this), _column(each.expression)}
        for each in conditions
        if isinstance(each, exp.EQ) and isinstance(each.this, exp.Column) and isinstance(each.expression, exp.Column)
    ]


def _column(node: exp.Column) -> Column:
    return node.table, node.name
