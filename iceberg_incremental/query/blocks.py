"""A query as blocks: each block is one SELECT, which reads base tables and other blocks by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from sqlglot import exp
from sqlglot.optimizer.eliminate_subqueries import eliminate_subqueries

from . import normal
from .grouping_sets import groups_apart
from .limits import is_limited, limit_apart
from .refusal import refused
from .subqueries import subqueries, within_sets


@dataclass(frozen=True)
class Block:
    """One SELECT, or a set operation on two blocks. ``columns``: the column names of its result."""

    name: str
    query: exp.Select | exp.SetOperation
    columns: tuple[str, ...]

    @property
    def selects(self) -> list[exp.Select]:
        """The SELECT, or those of a set operation."""
        sides = (self.query.this, self.query.expression) if isinstance(self.query, exp.SetOperation) else (self.query,)
        return [side for side in sides if isinstance(side, exp.Select)]

    def outputs(self, columns: Sequence[str]) -> dict[str, exp.Expr]:
        """The expressions of some columns of a SELECT."""
        found = {each.alias_or_name.lower(): each.unalias() for each in self.query.expressions}
        return {column: found[column.lower()] for column in columns}

    @property
    def reads(self) -> list[str]:
        """The names of the relations that it reads, including those in subqueries."""
        return [table.name for table in self.query.find_all(exp.Table)]


ROOT = "ip_root"


def blocks_of(tree: exp.Query, tables: Mapping[str, Sequence[str]]) -> tuple[Block, ...]:
    """The blocks of a query, each after the blocks that it reads. The last one is the query itself.

    ``tables``: the columns of its base tables. Raises Refusal.
    """
    return _Splitter(tables).split(tree)


class _Splitter:
    def __init__(self, tables: Mapping[str, Sequence[str]]) -> None:
        self._columns: dict[str, Sequence[str]] = dict(tables)
        self._numbers = count()
        self._blocks: list[Block] = []

    def split(self, tree: exp.Query) -> tuple[Block, ...]:
        tree = self._with_limits_apart(tree.copy())
        ctes = {each.alias: each.alias_column_names or each.this.named_selects for each in tree.find_all(exp.CTE)}
        for select in list(tree.find_all(exp.Select)):
            normal.without_nested_joins(select, {**self._columns, **ctes}.__getitem__, self._numbers)
        self._flatten(tree, ROOT)
        return tuple(self._blocks)

    def _with_limits_apart(self, tree: exp.Query) -> exp.Query:
        """A tree in which only SELECTs of one derived table, and subqueries in expressions, have LIMIT and an order."""
        selects = list(tree.find_all(exp.Select))
        inside = {id(each) for select in selects for _, inner in subqueries(select) for each in within_sets(inner)}
        for query in reversed(list(tree.find_all(exp.Query))):
            if not is_limited(query):
                normal.without_order(query)
            elif id(query) in inside:
                continue
            elif query is tree:
                tree = limit_apart(query, self._numbers)
            else:
                query.replace(limit_apart(query, self._numbers))
        return tree

    def _flatten(self, tree: exp.Query, name: str) -> None:
        """Add the blocks for a tree with derived tables and CTEs."""
        flat = eliminate_subqueries(tree)
        clause = flat.args.get("with_")
        flat.set("with_", None)
        renamed: dict[str, str] = {}
        for cte in [] if clause is None else clause.expressions:
            new = f"ip_block_{next(self._numbers)}"
            query = _with_new_names(cte.this, renamed)
            if cte.alias_column_names:
                query = _with_columns(query, cte.alias_column_names)
            renamed[cte.alias.lower()] = new
            self._add(new, query)
        self._add(name, _with_new_names(flat, renamed))

    def _add(self, name: str, query: exp.Expr) -> None:
        while isinstance(query, exp.Subquery) and isinstance(query.this, exp.Query):
            query = query.this
        if isinstance(query, exp.SetOperation):
            self._add_set_operation(name, query)
            return
        if not isinstance(query, exp.Select):
            raise refused(query.key.upper(), query)
        self._add_select(name, query)

    def _add_set_operation(self, name: str, query: exp.SetOperation) -> None:
        columns = tuple(query.named_selects)
        sides = []
        for side in (query.this, query.expression):
            part = f"ip_block_{next(self._numbers)}"
            self._add(part, _with_columns(side.copy(), columns))
            sides.append(_renaming(part, self._columns[part], columns))
        if not isinstance(query, exp.Union):
            both = type(query)(this=sides[0], expression=sides[1], distinct=query.args.get("distinct"))
            self._keep(name, both, columns)
            return
        union = exp.union(*sides, distinct=False, copy=False)
        if query.args.get("distinct"):
            part = f"ip_block_{next(self._numbers)}"
            self._keep(part, union, columns)
            self._keep(name, _renaming(part, columns, columns).distinct(), columns)
        else:
            self._keep(name, union, columns)

    def _add_select(self, name: str, select: exp.Select) -> None:
        for each in list(select.find_all(exp.Select)):
            normal.without_named_windows(each)
            normal.without_full_joins(each, self._columns.__getitem__, self._numbers)
            normal.without_right_joins(each, self._columns.__getitem__, self._numbers)
            normal.without_semi_joins(each)
            normal.without_subqueries_in_on(each, self._columns.__getitem__, self._numbers)
        groups_apart(select, self._numbers)
        read = [relation for each in select.find_all(exp.Select) for _, relation, _ in normal.clauses(each)]
        if any(isinstance(relation, exp.Subquery) for relation in read):  # also within subqueries of expressions
            self._flatten(select, name)
            return
        select.set("with_", None)
        self._keep(name, select, tuple(select.named_selects))

    def _keep(self, name: str, query: exp.Select | exp.SetOperation, columns: tuple[str, ...]) -> None:
        if len({each.lower() for each in columns}) != len(columns):
            raise refused("two columns with the same name", query, "add a different alias to each of them")
        self._columns[name] = columns
        self._blocks.append(Block(name, query, columns))


def _with_new_names(query: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    query = query.copy()
    for table in query.find_all(exp.Table):
        new = names.get(table.name.lower())
        if new is not None:
            if not table.args.get("alias"):
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
            table.set("this", exp.to_identifier(new))
    return query


def _with_columns(query: exp.Expr, names: Sequence[str]) -> exp.Expr:
    """A query with the column names in the alias of a derived table or CTE."""
    select = query
    while isinstance(select, (exp.Subquery, exp.SetOperation)):
        select = select.this
    for each, name in zip(list(select.expressions), names, strict=True):
        each.replace(exp.alias_(each.unalias().copy(), name, quoted=True))
    return query


def _renaming(part: str, given: Sequence[str], names: Sequence[str]) -> exp.Select:
    columns = (
        exp.alias_(exp.column(column, part, quoted=True), name, quoted=True)
        for column, name in zip(given, names, strict=True)
    )
    return exp.select(*columns).from_(exp.alias_(exp.to_table(part), part, table=True))
