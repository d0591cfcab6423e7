"""Random expressions over leaves, by the kind of their values. Parentheses are often omitted if SQL does not need them.

Two-digit numbers stay small. Products have a constant factor or are taken modulo, so that nothing overflows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .values import LITERALS, SMALL_INTS, Kind

Subquery = Callable[[], str]


@dataclass(frozen=True)
class Leaf:
    """A column or another smallest part of an expression, with its possible spellings."""

    spellings: tuple[str, ...]
    kind: Kind


class Expressions:
    """Writes expressions over the leaves. ``predicate``, ``scalar``: write subqueries, if these are allowed."""

    def __init__(
        self,
        rng: random.Random,
        leaves: Sequence[Leaf],
        predicate: Subquery | None = None,
        scalar: Subquery | None = None,
    ) -> None:
        self.rng = rng
        self.leaves = leaves
        self.predicate = predicate
        self.scalar = scalar

    # Leaves

    def has(self, kind: Kind) -> bool:
        return any(leaf.kind is kind for leaf in self.leaves)

    def column(self, kind: Kind) -> str | None:
        """A leaf of this kind, if there is one."""
        fitting = [leaf for leaf in self.leaves if leaf.kind is kind]
        return self.rng.choice(self.rng.choice(fitting).spellings) if fitting else None

    def literal(self, kind: Kind) -> str:
        return self.rng.choice(LITERALS[kind])

    def leaf(self, kind: Kind) -> str:
        """A column, or a literal if there is none."""
        return self.column(kind) or self.literal(kind)

    # Values

    def of(self, kind: Kind, depth: int = 2) -> str:
        """An expression that can be used as an operand."""
        if depth <= 0 or self.rng.random() < 0.4:
            return self.leaf(kind)
        if self.rng.random() < 0.2:
            return self._chosen(kind, depth - 1)
        make = _MAKERS.get(kind)
        return make(self, depth - 1) if make else self.leaf(kind)

    def _chosen(self, kind: Kind, depth: int) -> str:
        """A value of any kind, chosen by a condition."""
        rng, a, b = self.rng, self.of(kind, depth), self.of(kind, depth)
        return rng.choice(
            (
                f"case when {self.condition(depth)} then {a} else {b} end",
                f"case when {self.condition(0)} then {a} end",
                f"coalesce({self.leaf(kind)}, {b})",
                f"if({self.condition(depth)}, {a}, {b})",
                f"nvl({a}, {self.literal(kind)})",
            )
        )

    def int_(self, depth: int) -> str:
        rng = self.rng
        forms: list[Callable[[], str]] = [
            lambda: self._arithmetic(depth),
            lambda: self._arithmetic(depth),
            lambda: f"length({self.of(Kind.STR, depth)})",
            lambda: f"{rng.choice(('year', 'month', 'day', 'dayofweek', 'quarter'))}({self.of(Kind.DATE, depth)})",
            lambda: f"extract({rng.choice(('year', 'MONTH', 'day'))} from {self.leaf(Kind.DATE)})",
            lambda: f"datediff({self.of(Kind.DATE, depth)}, {self.leaf(Kind.DATE)})",
            lambda: f"datediff(day, {self.leaf(Kind.DATE)}, {self.leaf(Kind.DATE)})",
            lambda: f"cast({self.leaf(Kind.NUMSTR)} as int)",
            lambda: f"{rng.choice(('greatest', 'least'))}({self.of(Kind.INT, depth)}, {self.of(Kind.INT, depth)})",
            lambda: f"abs({self.of(Kind.INT, depth)})",
            lambda: f"int({self.of(Kind.BOOL, depth)})",
            lambda: f"nullif({self.of(Kind.INT, depth)}, {self.literal(Kind.INT)})",
        ]
        forms += self._nested()
        if self.scalar is not None:
            forms += [self.scalar] * 2
        return rng.choice(forms)()

    def _nested(self) -> list[Callable[[], str]]:
        """Numbers from nested columns. The variables of lambdas have the names of columns."""
        name = self.rng.choice(("x", "k", "v", "e"))
        found: list[Callable[[], str]] = []
        if self.has(Kind.INTS):
            array = self.leaf(Kind.INTS)
            found += [
                lambda: f"size({array})",
                lambda: f"try_element_at({array}, 1)",
                lambda: f"aggregate({array}, 0, (acc, {name}) -> acc + coalesce({name}, 0))",
                lambda: f"size(filter({array}, {name} -> {name} > 1))",
                lambda: f"array_max(transform({array}, {name} -> {name} * 2))",
                lambda: f"array_max(transform({array}, el -> el + {self.leaf(Kind.INT)}))",
            ]
        if self.has(Kind.INFO):
            found += [lambda: f"{self.leaf(Kind.INFO)}.a", lambda: f"{self.leaf(Kind.INFO)}.A"]
        if self.has(Kind.ATTRS):
            found += [lambda: f"{self.leaf(Kind.ATTRS)}['p']", lambda: f"element_at({self.leaf(Kind.ATTRS)}, 'q')"]
        if self.has(Kind.ITEMS):
            found += [lambda: f"size({self.leaf(Kind.ITEMS)}.b)", lambda: f"get({self.leaf(Kind.ITEMS)}, 0).a"]
        return found

    def _arithmetic(self, depth: int) -> str:
        """A chain of operators that need no parentheses between them."""
        rng = self.rng
        chain = rng.choice(("", "", "", "-", "- -", "+")) + self.of(Kind.INT, depth)
        for _ in range(rng.choice((1, 1, 2, 3))):
            operator = rng.choice(("+", "-", "+", "-", "*", "%", "div", "&", "|", "^"))
            if operator in ("*", "%", "div"):
                chain += f" {operator} {rng.choice(SMALL_INTS)}"
            else:
                chain += f" {operator} {self.of(Kind.INT, depth - 1)}"
        if rng.random() < 0.1:
            chain = f"bigint({self.leaf(Kind.INT)}) * {self.leaf(Kind.INT)} % 1000"
        return f"({chain})"

    def dec(self, depth: int) -> str:
        rng, a, b = self.rng, self.of(Kind.DEC, depth), self.leaf(Kind.DEC)
        number = self.leaf(Kind.INT)
        return rng.choice(
            (
                f"({a} + {b})",
                f"({a} - {b} + {number})",
                f"({a} * 2)",
                f"({a} * (1 - 0.05))",
                f"cast({number} as decimal(10,2))",
                f"round({a}, 1)",
                f"- {b}",
            )
        )

    def dbl(self, depth: int) -> str:
        a, number = self.of(Kind.DBL, depth), self.leaf(Kind.INT)
        return self.rng.choice(
            (f"({a} + 0.5D)", f"({a} * 2)", f"({a} - {number})", f"nanvl({a}, 1.5D)", f"double({number})", f"- {a}")
        )

    def ratio(self, depth: int) -> str:
        return self.rng.choice(
            (
                f"{self.of(Kind.INT, depth)} / nullif({self.leaf(Kind.INT)}, 0)",
                f"try_divide({self.leaf(Kind.INT)}, {self.leaf(Kind.INT)})",
                f"round({self.leaf(Kind.INT)} / 7, 2)",
            )
        )

    def str_(self, depth: int) -> str:
        rng, a, b = self.rng, self.of(Kind.STR, depth), self.leaf(Kind.STR)
        forms = [
            f"{rng.choice(('lower', 'upper', 'trim', 'initcap', 'reverse'))}({a})",
            f"concat({a}, '-', {b})",
            f"({a} || {b})",
            f"({a} || '/' || {self.leaf(Kind.INT)})",
            f"concat_ws('|', {a}, {b})",
            f"substring({a}, 1, 2)",
            f"substring({a} from 2 for 1)",
            f"replace({a}, 'a', 'é')",
            f"date_format({self.leaf(Kind.TS)}, 'yyyy-MM')",
            f"cast({self.leaf(Kind.INT)} as string)",
            f"{self.leaf(Kind.DEC)}::string",
            f"left({a}, 1)",
            f"nullif({a}, '')",
            f"to_json(({self.leaf(Kind.STR)}, {self.leaf(Kind.INT)}))",
            f"to_json(struct({self.leaf(Kind.INT)}, {self.leaf(Kind.DATE)}))",
        ]
        if self.has(Kind.INFO):
            forms += [f"{self.leaf(Kind.INFO)}.b"] * 2
        if self.has(Kind.INTS):
            forms.append(f"to_json(arrays_zip({self.leaf(Kind.INTS)}, {self.leaf(Kind.INTS)}))")
        return rng.choice(forms)

    def date(self, depth: int) -> str:
        rng, a = self.rng, self.of(Kind.DATE, depth)
        return rng.choice(
            (
                f"date_add({a}, {rng.choice(SMALL_INTS)})",
                f"({a} + 1)",
                f"({a} - interval 1 day)::date",
                f"trunc({a}, 'MM')",
                f"last_day({a})",
                f"to_date({self.leaf(Kind.DATESTR)})",
                f"cast({self.leaf(Kind.TS)} as date)",
                f"add_months({a}, 1)",
                f"date_sub(current_date, datediff(current_date(), {a}))",  # reads the clock, and is always the same
            )
        )

    def ts(self, depth: int) -> str:
        a = self.of(Kind.TS, depth)
        return self.rng.choice(
            (
                f"date_trunc('month', {a})",
                f"date_trunc('HOUR', {a})",
                f"({a} + interval 1 hour)",
                f"({a} + interval '1' day)",
            )
        )

    def bool_(self, depth: int) -> str:
        return f"({self.condition(depth)})"

    # Conditions

    def condition(self, depth: int = 2) -> str:
        """A chain of NOT, AND and OR, mostly without parentheses."""
        rng = self.rng
        parts = []
        for _ in range(1 if depth <= 0 else rng.choice((1, 1, 1, 2, 2, 3))):
            negation = rng.choice(("", "", "", "", "", "", "", "not ", "! "))
            parts.append(negation + self._atom(depth))
        chain = parts[0]
        for part in parts[1:]:
            chain += f" {rng.choice(('and', 'or', 'AND', 'or'))} {part}"
        return chain

    def _atom(self, depth: int) -> str:
        rng = self.rng
        if self.predicate is not None and depth > 0 and rng.random() < 0.3:
            return self.predicate()
        # below NOT and in parentheses, a subquery may be false for a row of the result
        if depth > 1 and rng.random() < (0.15 if self.predicate is None else 0.35):
            return f"{rng.choice(('', '', 'not '))}({self.condition(depth - 1)})"
        return rng.choice((self._comparison, self._comparison, self._comparison, self._set, self._null, self._test))(
            depth
        )

    def _some_kind(self) -> Kind:
        there = [leaf.kind for leaf in self.leaves if leaf.kind in _COMPARED]
        return self.rng.choice(there) if there else Kind.INT

    def _comparison(self, depth: int) -> str:
        rng, kind = self.rng, self._some_kind()
        a = self.of(kind, depth)
        b = self._other(kind) if rng.random() < 0.25 else self.literal(kind)
        if rng.random() < 0.4:
            b = self.of(kind, depth - 1)
        operator = rng.choice(("=", "==", "<>", "!=", "<>", "<", "<=", ">", ">=", ">=", "<=", "<=>"))
        if rng.random() < 0.1:
            operator = rng.choice(("is distinct from", "is not distinct from"))
        return f"{a} {operator} {b}"

    def _other(self, kind: Kind) -> str:
        """A value of another type, which Spark casts to compare it with values of this kind."""
        by_kind = {
            Kind.INT: (self.leaf(Kind.NUMSTR), "'2'", self.leaf(Kind.DEC), "1.5", "2L"),
            Kind.NUMSTR: (self.leaf(Kind.INT), "1", "3"),
            Kind.DATE: (self.leaf(Kind.DATESTR), "'2026-01-02'", self.leaf(Kind.TS)),
            Kind.DATESTR: (self.leaf(Kind.DATE), "date '2026-01-02'"),
            Kind.TS: (self.leaf(Kind.DATE), "'2026-01-01 23:30:00'", "date '2026-02-01'"),
            Kind.DEC: (self.leaf(Kind.INT), "10", "1.5D"),
            Kind.DBL: (self.leaf(Kind.INT), self.leaf(Kind.DEC), "1"),
        }
        return self.rng.choice(by_kind.get(kind, (self.leaf(kind),)))

    def _set(self, depth: int) -> str:
        rng, kind = self.rng, self._some_kind()
        a, negation = self.of(kind, depth - 1), self.rng.choice(("", "", "not "))
        if rng.random() < 0.4:
            return f"{a} {negation}between {self.literal(kind)} and {self.leaf(kind)}"
        values = [self.literal(kind) for _ in range(rng.choice((1, 2, 3)))]
        if rng.random() < 0.3:
            values.append("null")
        if rng.random() < 0.2:
            values.append(self.leaf(kind))
        return f"{a} {negation}in ({', '.join(values)})"

    def _null(self, depth: int) -> str:
        kinds = [leaf.kind for leaf in self.leaves] or [Kind.INT]
        a = self.of(self.rng.choice(kinds), depth - 1)
        return f"{a} is {self.rng.choice(('', 'not '))}null"

    def _test(self, depth: int) -> str:
        rng = self.rng
        pattern = rng.choice(("a%", "%b%", "x^%y", "_", "%"))
        forms = [
            f"{self.of(Kind.STR, depth)} {rng.choice(('', 'not '))}like '{pattern}'",
            f"{self.of(Kind.STR, depth)} rlike '^[a-b]'",
            f"isnotnull({self.leaf(self._some_kind())})",
            f"({self.leaf(Kind.STR)}, 'a') = ({self.leaf(Kind.STR)}, {self.leaf(Kind.STR)})",
            f"startswith({self.leaf(Kind.STR)}, 'a')",
        ]
        if self.has(Kind.DBL):
            forms.append(f"isnan({self.leaf(Kind.DBL)})")
        if self.has(Kind.BOOL):
            forms += [self.leaf(Kind.BOOL), f"{self.leaf(Kind.BOOL)} is {rng.choice(('true', 'not true', 'unknown'))}"]
        if self.has(Kind.INTS):
            forms += [
                f"array_contains({self.leaf(Kind.INTS)}, {rng.choice(SMALL_INTS)})",
                f"exists({self.leaf(Kind.INTS)}, k -> k > {rng.choice(SMALL_INTS)})",
            ]
        if self.has(Kind.ATTRS):
            forms.append(f"map_contains_key({self.leaf(Kind.ATTRS)}, 'q')")
        return rng.choice(forms)


_COMPARED = (Kind.INT, Kind.DEC, Kind.DBL, Kind.STR, Kind.NUMSTR, Kind.DATE, Kind.DATESTR, Kind.TS)
_MAKERS: dict[Kind, Callable[[Expressions, int], str]] = {
    Kind.INT: Expressions.int_,
    Kind.DEC: Expressions.dec,
    Kind.DBL: Expressions.dbl,
    Kind.RATIO: Expressions.ratio,
    Kind.STR: Expressions.str_,
    Kind.DATE: Expressions.date,
    Kind.TS: Expressions.ts,
    Kind.BOOL: Expressions.bool_,
}
