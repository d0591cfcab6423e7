"""Random queries: SELECT blocks, UNION ALL, CTEs and derived tables over relations."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .blocks import block
from .scopes import Scope
from .values import ORDERED, Column, Kind

_WIDER = {Kind.INT: (Kind.DEC, Kind.DBL), Kind.DATE: (Kind.TS,)}
"""The kinds whose values Spark casts a value of a kind to in a UNION."""
_SETS = ("union", "intersect", "intersect all", "except", "except all", "minus")
_VALUES = ("values (0, 'a'), (1, 'b'), (3, 'A')", "values (2, 'b'), (2, null), (null, 'ab c')")
MOST_ROWS = 3_000
"""The estimated number of rows above which relations are no longer joined."""


@dataclass(frozen=True)
class Query:
    """A query, its columns, and its approximate number of rows."""

    sql: str
    columns: tuple[Column, ...]
    rows: int

    @property
    def has_unique_names(self) -> bool:
        names = [column.name.lower() for column in self.columns]
        return len({*names}) == len(names)


@dataclass(frozen=True)
class Named:
    """A relation that a query can read. ``sql``: its text in FROM. ``name``: its name without an alias, if any."""

    sql: str
    name: str
    columns: tuple[Column, ...]
    rows: int


@dataclass(frozen=True)
class Writer:
    """Writes queries. ``relations``: the relations that can be read, including CTEs."""

    rng: random.Random
    relations: tuple[Named, ...]

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def with_relations(self, more: Sequence[Named]) -> Writer:
        """Names of CTEs hide each other, and the last one counts."""
        hidden = {each.name.lower() for each in more if not each.sql.startswith("<<")}
        kept = [each for each in self.relations if each.sql.startswith("<<") or each.name.lower() not in hidden]
        return replace(self, relations=(*kept, *more))

    # Queries

    def query(
        self, depth: int, *, kinds: Sequence[Kind] | None = None, outer: Scope | None = None, ctes: float = 0.08
    ) -> Query:
        """A query. ``kinds``: the required kinds of its columns. ``ctes``: the probability of own CTEs."""
        if depth > 0 and self.chance(ctes):
            return self._with_ctes(depth, kinds, outer)
        if depth > 0 and outer is None and self.chance(0.14):
            return self._union(depth, kinds)
        return self._block(depth, kinds, outer)

    def _block(self, depth: int, kinds: Sequence[Kind] | None, outer: Scope | None) -> Query:
        sql, columns, rows = block(self, depth, kinds, outer)
        return Query(sql, columns, rows)

    def _with_ctes(self, depth: int, kinds: Sequence[Kind] | None, outer: Scope | None) -> Query:
        """A query with one or two CTEs. The second one may read the first one or have its name."""
        writer, texts = self, []
        names = self.rng.sample(
            ("c1", "recent", "v", "Totals", *(each.name for each in self.relations if each.name)), 2
        )
        for name in names[: self.rng.choice((1, 1, 2))]:
            cte = writer.query(depth - 1)
            if not cte.has_unique_names:
                continue
            columns, listed = cte.columns, ""
            if self.chance(0.1):
                columns = tuple(Column(f"c{at}", column.kind) for at, column in enumerate(columns))
                listed = f"({', '.join(column.name for column in columns)})"
            texts.append(f"{name}{listed} as ({cte.sql})")
            own = Named(name, name, columns, cte.rows)
            writer = writer.with_relations([own, own])  # twice, so that it is read more often
        main = writer.query(depth - 1, kinds=kinds, outer=outer, ctes=0)
        return replace(main, sql=f"with {', '.join(texts)} {main.sql}") if texts else main

    def _union(self, depth: int, kinds: Sequence[Kind] | None) -> Query:
        """Set operations, mostly UNION ALL, in which a branch may have wider types than those before."""
        branches = [self._branch(depth, kinds)]
        found = [column.kind for column in branches[0].columns]
        for _ in range(self.rng.choice((1, 1, 2))):
            if kinds is None:
                found = [
                    self.rng.choice(_WIDER[kind]) if kind in _WIDER and self.chance(0.1) else kind for kind in found
                ]
            branches.append(self._branch(depth, found))
        columns = tuple(Column(column.name, kind) for column, kind in zip(branches[0].columns, found, strict=True))
        sql, can_compare = branches[0].sql, all(column.kind in ORDERED for column in columns)
        for each in branches[1:]:
            operator = self.rng.choice(_SETS) if can_compare and self.chance(0.4) else "union all"
            sql = f"{sql} {operator} {each.sql}"
        return Query(sql, columns, sum(each.rows for each in branches))

    def _branch(self, depth: int, kinds: Sequence[Kind] | None) -> Query:
        return self._block(depth - 1, kinds, None)

    # Relations

    def relation(self, depth: int, most: int = MOST_ROWS) -> tuple[str, str, tuple[Column, ...], int]:
        """A relation for FROM: its text without an alias, its own name, its columns and its rows."""
        if depth > 0 and self.chance(0.25):
            derived = self.query(depth - 1)
            if derived.rows <= most:
                return f"({derived.sql})", "", derived.columns, derived.rows
        if depth > 0 and self.chance(0.06):
            found = self._computed_as_a_whole(depth, most)
            if found is not None:
                return f"({found.sql})", "", found.columns, found.rows
        if self.chance(0.04):
            return f"({self.rng.choice(_VALUES)})", "", (Column("col1", Kind.INT), Column("col2", Kind.STR)), 3
        fitting = [each for each in self.relations if each.rows <= most] or sorted(
            self.relations, key=lambda each: each.rows
        )[:1]
        chosen = self.rng.choice(fitting)
        return chosen.sql, chosen.name, chosen.columns, chosen.rows

    def _computed_as_a_whole(self, depth: int, most: int) -> Query | None:
        """PIVOT, UNPIVOT or WITH RECURSIVE over a relation with numbers. None without one."""
        sql, name, columns, rows = self.relation(depth - 1, most // 3)
        names = [column.name.lower() for column in columns]
        numbers = [each for each in columns if each.kind is Kind.INT and names.count(each.name.lower()) == 1]
        if len(numbers) < 2:
            return None
        first, second = (f"{name or 'w0'}.`{each.name}`" for each in self.rng.sample(numbers, 2))
        inner = f"select {first} as w1, {second} as w2 from {sql}{'' if name else ' w0'}"
        forms = {
            f"select * from ({inner}) pivot (count(*) for w2 in (0 as w3, 1 as w4))": ("w1", "w3", "w4"),
            f"select w3, w4 from (select w1, w2 from ({inner})) unpivot (w4 for w3 in (w1, w2))": ("", "w4"),
            f"with recursive w5(w1, w3) as (select w1, 0 from ({inner}) union all select w1, w3 + 1 from w5 "
            "where w3 < 2) select w1, w3 from w5": ("w1", "w3"),
        }
        chosen = self.rng.choice(list(forms))
        kinds = [Column(each or "w3", Kind.INT if each else Kind.STR) for each in forms[chosen]]
        return Query(chosen, tuple(kinds), 3 * rows)


def top(rng: random.Random, relations: Sequence[Named]) -> Query:
    """A query that can become a table, with unique column names."""
    while True:
        (depth,) = rng.choices((0, 1, 2, 3), (15, 40, 35, 10))
        found = Writer(rng, tuple(relations)).query(depth, ctes=0.35)
        if found.has_unique_names and "<<" in found.sql:  # not only VALUES
            return _laid_out(rng, found)


def _laid_out(rng: random.Random, query: Query) -> Query:
    sortable = [at for at, column in enumerate(query.columns, 1) if column.kind in ORDERED]
    if rng.random() < 0.04 and sortable:
        return replace(query, sql=f"{query.sql} order by {rng.choice(sortable)} desc")
    if rng.random() < 0.05:
        return replace(query, sql=f"-- rows, from or 'so\n{query.sql} /* where 1 = 0 -- */")
    return query
