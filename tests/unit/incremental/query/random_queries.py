"""Random queries of nested parts: joins, groups, windows, sets, limits and subqueries, over the small tables.

All of them have one possible result. Types: ``int``, ``text`` (``s`` and what is made of it) and ``num``, text that can
be compared with numbers.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .kept_tables import SCHEMA

INT, TEXT, NUM, DOUBLE = "int", "text", "num", "double"
_TYPES = {
    table: {name: DOUBLE if type_ == "double" else INT if type_ == "int" else NUM if name == "num" else TEXT
            for name, type_ in columns.items()}
    for table, columns in SCHEMA.items()
}  # fmt: skip
_NAMES = {INT: ("k", "x", "y", "z"), TEXT: ("s", "u", "w"), NUM: ("num", "n2"), DOUBLE: ("d", "e")}
_DAY = "unix_date(current_date)"
_LONGEST = 900

Columns = Mapping[str, str]
"""The names of columns with their types."""


@dataclass(frozen=True)
class Relation:
    """A relation of FROM with an alias. ``columns``: those that can be named with it."""

    alias: str
    columns: Columns


@dataclass(frozen=True)
class Scope:
    """What an expression can read: the columns of relations. ``values``: other texts, by type, such as aggregates.

    ``only``: whether it cannot read other columns than ``values``. ``subqueries``: whether it may have subqueries.
    """

    relations: tuple[Relation, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    only: bool = False
    subqueries: bool = True

    def of(self, type_: str) -> list[str]:
        found = [text for text, each in self.values if each == type_]
        if not self.only:
            found += [f"{r.alias}.{name}" for r in self.relations for name, each in r.columns.items() if each == type_]
        return found


class Writer:
    """Writes queries. ``ctes``: those that can be read, by name."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._aliases, self._depth = 0, 0
        self._ctes: Mapping[str, Columns] = {}

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def query(
        self, depth: int, types: Sequence[str] | None = None, outer: Scope | None = None,
        ctes: Mapping[str, Columns] | None = None,
    ) -> tuple[str, Columns]:  # fmt: skip
        """A query and its columns. ``types``: those that its columns must have. ``outer``: the query around it."""
        ctes, before = dict(ctes or {}), ""
        if depth > 0 and self.chance(0.2 if outer is None else 0.05):
            before, ctes = self._with(depth, ctes)
        if types is None:
            types = [self.rng.choice((INT, INT, INT, TEXT, TEXT, NUM)) for _ in range(self.rng.choice((1, 2, 2, 3)))]
        if depth > 0 and self.chance(0.15):
            sql, columns = self._set(depth, types, outer, ctes)
        else:
            sql, columns = self._select(depth, types, outer, ctes)
        return before + sql, columns

    def _with(self, depth: int, ctes: Mapping[str, Columns]) -> tuple[str, dict[str, Columns]]:
        """One or two CTEs, which may hide others."""
        found, texts = dict(ctes), []
        for name in self.rng.choice((("t0",), ("t1",), ("t0", "t1"), ("a",))):
            sql, columns = self.query(depth - 1, ctes=found)
            texts.append(f"{name} as ({sql})")
            found[name] = columns
        return f"with {', '.join(texts)} ", found

    def _set(
        self, depth: int, types: Sequence[str], outer: Scope | None, ctes: Mapping[str, Columns]
    ) -> tuple[str, Columns]:
        words = ("union all", "union all", "union", "except", "except all", "intersect", "intersect all", "minus")
        left, columns = self.query(depth - 1, types, outer, ctes)
        right, others = self.query(depth - 1, types, outer, ctes)
        word = self.rng.choice(words)
        if word.startswith("union") and {*columns} == {*others} and self.chance(0.4):
            word += " by name"
        sql = f"({left}) {word} ({right})"
        if self.chance(0.15):
            third, _ = self.query(depth - 1, types, outer, ctes)
            sql = f"{sql} {self.rng.choice(words)} ({third})"
        if outer is None and self.chance(0.08):
            sql = f"{sql} order by 1 limit {self.rng.randint(1, 6)}"
        return sql, columns

    # FROM

    def _relation(self, depth: int, ctes: Mapping[str, Columns]) -> tuple[str, Columns]:
        if ctes and self.chance(0.5):
            name = self.rng.choice(list(ctes))
            return name, ctes[name]
        if depth > 0 and self.chance(0.3):
            sql, columns = self.query(depth - 1, ctes=ctes)
            return f"({sql})", columns
        if self.chance(0.05):
            return "(select * from (values (1, 'p'), (2, 'q'), (null, '1')) v(k, s))", {"k": INT, "s": TEXT}
        name = self.rng.choice("abc")
        return f"db.{name}", _TYPES[name]

    def _aliased(self, depth: int, ctes: Mapping[str, Columns]) -> tuple[str, Relation]:
        sql, columns = self._relation(depth, ctes)
        self._aliases += 1
        alias = f"r{self._aliases}"
        if self.chance(0.1):
            renamed = [f"{name}{at}" for at, name in enumerate(columns)]
            columns = dict(zip(renamed, columns.values(), strict=True))
            return f"{sql} {alias}({', '.join(columns)})", Relation(alias, columns)
        return f"{sql} {alias}", Relation(alias, columns)

    def _from(self, depth: int, outer: Scope | None, ctes: Mapping[str, Columns]) -> tuple[str, Scope]:
        self._ctes, self._depth = ctes, depth
        sql, first = self._aliased(depth, ctes)
        seen, optional = [first], False
        for _ in range(self.rng.choice((0, 0, 1, 1, 2)) if depth > 0 else self.rng.choice((0, 0, 1))):
            kind = self.rng.choice(("join", "join", "left join", "left join", "right join", "full join", "cross join",
                                    "left semi join", "left anti join"))  # fmt: skip
            text, other = self._aliased(depth, ctes)
            self._ctes, self._depth = ctes, depth
            both = Scope((*seen, other), subqueries=self.chance(0.15))
            optional = optional or kind in ("right join", "full join")
            if kind not in ("left semi join", "left anti join", "cross join") and self.chance(0.08):
                third, last = self._aliased(0, ctes)
                self._ctes, self._depth = ctes, depth
                inner = Scope((other, last), subqueries=False)
                word = self.rng.choice(("join", "left join", "full join"))
                text = f"({text} {word} {third} on {self._on((other,), last, inner)})"
                both = Scope((*both.relations, last), subqueries=False)
                sql += f" {kind} {text} on {self._on(seen, other, both)}"
                seen += [other, last]
                continue
            common = [name for name in first.columns if name in other.columns and name != "d"]
            is_using = len(seen) == 1 and common and kind != "cross join" and self.chance(0.15)
            if is_using:
                sql += f" {kind} {text} using ({', '.join(self.rng.sample(common, min(len(common), 2)))})"
            elif kind == "cross join":
                sql += f" {kind} {text}"
            else:
                sql += f" {kind} {text} on {self._on(seen, other, both)}"
            if "semi" not in kind and "anti" not in kind:
                seen.append(other)
        scope = Scope(tuple(seen))
        if not optional and self.chance(0.08):
            sql, scope = self._lateral(sql, scope)
        return sql, scope

    def _lateral(self, sql: str, scope: Scope) -> tuple[str, Scope]:
        if not scope.of(INT):
            return sql, scope
        self._aliases += 1
        alias = f"v{self._aliases}"
        listed = ", ".join(self._int(replace(scope, subqueries=False), 1) for _ in range(2))
        view = f"{sql} lateral view explode(array({listed})) {alias} as e"
        return view, replace(scope, relations=(*scope.relations, Relation(alias, {"e": INT})))

    def _on(self, seen: Sequence[Relation], other: Relation, both: Scope) -> str:
        mine, theirs = Scope(tuple(seen)), Scope((other,))
        parts = []
        for _ in range(self.rng.choice((1, 1, 1, 2))):
            pairs = [(a, b) for a, b in ((INT, INT), (INT, INT), (TEXT, TEXT), (INT, NUM), (NUM, NUM), (DOUBLE, DOUBLE))
                     if mine.of(a) and theirs.of(b)]  # fmt: skip
            if pairs:
                a, b = self.rng.choice(pairs)
                sign = self.rng.choice(("=", "=", "=", "=", "<=>", "<" if a == b else "="))
                parts.append(f"{self.rng.choice(mine.of(a))} {sign} {self.rng.choice(theirs.of(b))}")
        if self.chance(0.3) or not parts:
            parts.append(self._condition(both, 0))
        return " and ".join(parts)

    # SELECT

    def _select(
        self, depth: int, types: Sequence[str], outer: Scope | None, ctes: Mapping[str, Columns]
    ) -> tuple[str, Columns]:
        sql, scope = self._from(depth, outer, ctes)
        inner = replace(scope, subqueries=depth > 0)
        self._ctes, self._depth = ctes, depth
        conditions = [self._condition(inner, 1) for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2)))]
        if outer is not None and self.chance(0.8):
            correlated = self._correlated(scope, outer)
            conditions += [] if correlated is None else [correlated]
        where = f" where {' and '.join(conditions)}" if conditions else ""
        form = self.rng.random()
        if form < 0.3:
            text, columns = self._groups(depth, types, scope, f"{sql}{where}")
        elif form < 0.42:
            text, columns = self._windows(depth, types, scope, f"{sql}{where}")
        else:
            listed, columns = self._listed(types, replace(inner, subqueries=depth > 0 and self.chance(0.5)))
            word = "distinct " if self.chance(0.12) else ""
            text = f"select {word}{listed} from {sql}{where}"
        if self.chance(0.06):
            text += f" order by 1 limit {self.rng.randint(1, 5)}"
            text += " offset 1" if self.chance(0.2) else ""
        return text, columns

    def _listed(self, types: Sequence[str], scope: Scope) -> tuple[str, Columns]:
        columns: dict[str, str] = {}
        texts = []
        for type_ in types:
            free = [name for name in _NAMES[type_] if name not in columns]
            name = self.rng.choice(free) if free else f"c{len(columns)}"
            columns[name] = type_
            texts.append(f"{self._value(type_, scope, 1)} as {name}")
        return ", ".join(texts), columns

    def _groups(self, depth: int, types: Sequence[str], scope: Scope, source: str) -> tuple[str, Columns]:
        plain = replace(scope, subqueries=False)
        possible = [t for t in (INT, INT, TEXT, NUM, DOUBLE) if scope.of(t)]
        keys: list[tuple[str, str]] = []
        for _ in range(self.rng.choice((0, 1, 1, 2, 2))):
            if possible:
                type_ = self.rng.choice(possible)
                column = self.rng.choice(scope.of(type_))
                keys.append((column if self.chance(0.8) or type_ == DOUBLE else self._value(type_, plain, 1), type_))
        keys = [(text, type_) for text, type_ in dict(keys).items() if "." in text]
        measures = [(self._aggregate(type_, replace(scope, subqueries=depth > 0 and self.chance(0.1))), type_)
                    for type_ in (INT, INT, TEXT)]  # fmt: skip
        clause, having = "", []
        texts = [text for text, _ in keys]
        if keys:
            clause = f" group by {', '.join(texts)}"
            if self.chance(0.2):
                clause = f" group by {self._sets(texts)}"
                having.append("count(*) > 0")  # DuckDB returns a total of no rows, which Spark does not
                if "." in keys[0][0] and "(" not in keys[0][0]:
                    measures.append((f"grouping({keys[0][0]})", INT))
        over = Scope(scope.relations, (*keys, *measures), only=True, subqueries=depth > 0 and self.chance(0.2))
        if "rollup" in clause or "cube" in clause or "sets" in clause:
            over = replace(over, subqueries=False)
        if self.chance(0.3) or (not keys and self.chance(0.3)):
            having.append(self._condition(over, 1))
        listed, columns = self._listed(types, over)
        word = "distinct " if self.chance(0.06) else ""
        text = f"select {word}{listed} from {source}{clause}"
        return text + (f" having {' and '.join(having)}" if having else ""), columns

    def _sets(self, texts: Sequence[str]) -> str:
        listed = ", ".join(texts)
        forms = [f"rollup ({listed})", f"cube ({listed})", f"grouping sets (({listed}), ({texts[0]}))"]
        if len(texts) > 1:
            forms += [f"{texts[0]}, rollup ({', '.join(texts[1:])})", f"grouping sets (({texts[0]}), ({texts[1]}), ())"]
        return self.rng.choice(forms)

    def _aggregate(self, type_: str, scope: Scope) -> str:
        if type_ == INT:
            value = self._int(scope, 1)
            forms = ["count(*)", f"count({value})", f"sum({value})", f"max({value})", f"min({value})",
                     f"count(distinct {value})", f"sum(distinct {value})", f"coalesce(sum({value}), 0)"]  # fmt: skip
            found = self.rng.choice(forms)
            if not found.startswith("coalesce") and self.chance(0.15):
                found += f" filter (where {self._condition(replace(scope, subqueries=False), 0)})"
            return found
        return f"{self.rng.choice(('min', 'max'))}({self._text(scope, 1)})"

    def _windows(self, depth: int, types: Sequence[str], scope: Scope, source: str) -> tuple[str, Columns]:
        values: list[tuple[str, str]] = []
        columns = [each for type_ in (INT, TEXT, NUM) for each in scope.of(type_)]
        if not columns:
            columns = ["1"]
        parts = self.rng.sample(columns, min(len(columns), self.rng.choice((0, 1, 1, 1, 2))))
        for _ in range(self.rng.choice((1, 2))):
            if self.chance(0.3):
                parts = self.rng.sample(columns, min(len(columns), 1))
            by = f"partition by {', '.join(parts)}" if parts else ""
            order = self.rng.choice(columns)
            value = self._int(replace(scope, subqueries=depth > 0 and self.chance(0.05)), 1)
            call = self.rng.choice((
                f"rank() over ({by} order by {order})",
                f"dense_rank() over ({by} order by {order} desc)",
                f"sum({value}) over ({by})",
                f"count({value}) over ({by} order by {order})",
                f"max({value}) over ({by})",
                f"count(*) over ({by})",
            ))  # fmt: skip
            values.append((call.replace("( ", "("), INT))
        over = replace(scope, values=tuple(values) * 3, subqueries=False)
        listed, found = self._listed(types, over)
        word = "distinct " if self.chance(0.06) else ""
        text = f"select {word}{listed} from {source}"
        if " over (" in listed and "distinct" not in listed and self.chance(0.15) and not word:
            text += f" qualify {values[0][0]} {self.rng.choice(('= 1', '> 1', 'is null'))}"
        return text, found

    # Expressions

    def _value(self, type_: str, scope: Scope, depth: int) -> str:
        if type_ == INT:
            return self._int(scope, depth)
        if type_ == NUM:
            found = scope.of(NUM)
            return self.rng.choice(found) if found else "'1'"
        if type_ == DOUBLE:
            return self.rng.choice(scope.of(DOUBLE))
        return self._text(scope, depth)

    def _int(self, scope: Scope, depth: int) -> str:
        found = scope.of(INT)
        if not found:
            return str(self.rng.randrange(4))
        column = self.rng.choice(found)
        if depth == 0 or self.chance(0.65):
            return column
        forms = [
            f"({column} + 1)",
            f"({column} + {self.rng.choice(found)})",
            f"coalesce({column}, 2)",
            f"if({self._condition(replace(scope, subqueries=False), 0)}, {column}, {self.rng.choice(found)})",
            f"case when {self._condition(scope, 0)} then {column} else 1 end",
            f"nullif({column}, 1)",
        ]
        if self.chance(0.12):
            return self.rng.choice((f"({column} - {_DAY})", f"if({column} > {_DAY}, {column}, 0)"))
        if scope.subqueries and self._depth > 0 and self.chance(0.5):
            return self._scalar(scope)
        return self.rng.choice(forms)

    def _text(self, scope: Scope, depth: int) -> str:
        found = scope.of(TEXT)
        if not found:
            return "'p'"
        column = self.rng.choice(found)
        if depth == 0 or self.chance(0.75):
            return column
        return self.rng.choice((
            f"coalesce({column}, 'q')",
            f"upper({column})",
            f"if({self._condition(replace(scope, subqueries=False), 0)}, {column}, 'p')",
        ))  # fmt: skip

    def _condition(self, scope: Scope, depth: int) -> str:
        if depth > 0 and self.chance(0.35):
            first, second = self._condition(scope, depth - 1), self._condition(scope, depth - 1)
            return self.rng.choice((
                f"({first} or {second})",
                f"({first} or {second})",
                f"not ({first} and {second})",
                f"not ({first} or {second})",
                f"(({first}) <=> ({second}))",
                f"case when {first} then {second} else {first} is null end",
            ))  # fmt: skip
        if scope.subqueries and self._depth > 0 and self.chance(0.35):
            return self._membership(scope)
        if scope.of(TEXT) and self.chance(0.2):
            column = self.rng.choice(scope.of(TEXT))
            return self.rng.choice((f"{column} <> 'q'", f"{column} is not null", f"{column} in ('p', '1')"))
        if not scope.of(INT):
            return "1 = 1"
        found = scope.of(INT)
        column, other = self.rng.sample(found, 2) if len(found) > 1 else (found[0], "2")
        forms = [f"{column} > 1", f"{column} = {other}", f"{column} is null", f"coalesce({column}, 2) = 2",
                 f"({column} < 3 or {column} is null)", f"{column} between {other} and 3", f"{column} in (1, 2, null)",
                 f"{column} <> {other}", f"{column} is distinct from {other}"]  # fmt: skip
        if self.chance(0.12):
            return self.rng.choice((f"{column} >= {_DAY}", f"{column} < {_DAY}"))
        return self.rng.choice(forms)

    # Subqueries

    def _inner(self, types: Sequence[str], scope: Scope | None) -> str:
        ctes, depth = self._ctes, self._depth
        sql, _ = self.query(self.rng.choice((0, depth - 1)), types, scope if self.chance(0.7) else None, ctes)
        self._ctes, self._depth = ctes, depth
        return sql

    def _scalar(self, scope: Scope) -> str:
        """A subquery of one row: a total."""
        ctes, depth = self._ctes, self._depth
        sql, inner = self._from(self.rng.choice((0, depth - 1)), None, ctes)
        self._ctes, self._depth = ctes, depth
        conditions = [self._condition(replace(inner, subqueries=depth > 1), 0)] if self.chance(0.4) else []
        if self.chance(0.7):
            correlated = self._correlated(inner, scope)
            conditions += [] if correlated is None else [correlated]
        where = f" where {' and '.join(conditions)}" if conditions else ""
        return f"(select {self._aggregate(INT, replace(inner, subqueries=False))} from {sql}{where})"

    def _correlated(self, scope: Scope, outer: Scope) -> str | None:
        pairs = [(a, b) for a, b in ((INT, INT), (INT, INT), (TEXT, TEXT)) if scope.of(a) and outer.of(b)]
        outers = replace(outer, values=tuple(each for each in outer.values if "(" not in each[0]))
        pairs = [(a, b) for a, b in pairs if outers.of(b)]
        if not pairs:
            return None
        a, b = self.rng.choice(pairs)
        sign = self.rng.choice(("=", "=", "=", "=", "<=>", "<"))
        return f"{self.rng.choice(scope.of(a))} {sign} {self.rng.choice(outers.of(b))}"

    def _membership(self, scope: Scope) -> str:
        form = self.rng.random()
        if form < 0.35:
            word = self.rng.choice(("exists", "exists", "not exists"))
            return f"{word} ({self._inner([INT], scope)})"
        word = self.rng.choice(("in", "in", "not in"))
        type_ = INT if not scope.of(TEXT) or self.chance(0.75) else TEXT
        if form < 0.45 and scope.of(TEXT) and scope.of(INT):
            pair = (
                f"({self._int(replace(scope, subqueries=False), 0)}, {self._text(replace(scope, subqueries=False), 0)})"
            )
            return f"{pair} {word} ({self._inner([INT, TEXT], None)})"
        if form < 0.6 and scope.of(INT):
            return f"{self.rng.choice(scope.of(INT))} {self.rng.choice(('<', '=', '>='))} {self._scalar(scope)}"
        value = self._value(type_, replace(scope, subqueries=False), 1)
        return f"{value} {word} ({self._inner([type_], scope)})"


def random_query(seed: int) -> str:
    """A query of nested parts."""
    writer = Writer(seed)
    while True:
        sql, _ = writer.query(writer.rng.choice((1, 2, 2, 3)))
        if len(sql) < _LONGEST:
            return sql
