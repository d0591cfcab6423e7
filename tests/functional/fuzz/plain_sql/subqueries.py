"""Random subqueries in expressions: EXISTS, IN and scalar ones, correlated or not, negated or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .expressions import Expressions, Leaf
from .joins import from_clause
from .scopes import Scope
from .values import Kind

if TYPE_CHECKING:
    from .queries import Writer

_KEYS = (Kind.INT, Kind.STR, Kind.DATE, Kind.NUMSTR)


@dataclass(frozen=True)
class Subqueries:
    """Writes subqueries for the expressions of a block. ``is_correlated``: whether they may use its columns."""

    writer: Writer
    depth: int
    scope: Scope
    leaves: list[Leaf]
    is_correlated: bool = True

    def predicate(self) -> str:
        """EXISTS, IN, or a comparison with a scalar subquery, possibly in a list."""
        rng = self.writer.rng
        form = rng.choice(("exists", "exists", "in", "in", "tuple", "scalar", "list"))
        if form == "exists":
            return f"{rng.choice(('', '', 'not '))}exists ({self._rows((), correlated=0.85)})"
        if form == "scalar":
            operator = rng.choice(("=", "<", ">=", "<>", "<=>"))
            return f"{Expressions(rng, self.leaves).of(Kind.INT, 1)} {operator} {self.scalar()}"
        if form == "list":
            value, number = Expressions(rng, self.leaves).of(Kind.INT, 1), rng.randint(0, 3)
            return rng.choice((f"{value} in ({number}, {self.scalar()})", f"{self.scalar()} in ({number}, {value})"))
        kind = self._kind()
        if form == "tuple":
            kinds = (kind, self._kind())
            left = ", ".join(Expressions(rng, self.leaves).of(each, 1) for each in kinds)
            return f"({left}) {rng.choice(('', '', 'not '))}in ({self._rows(kinds, correlated=0.3)})"
        left = Expressions(rng, self.leaves).of(kind, 1)
        if rng.random() < 0.25 and (rows := self._plain_rows(kind)):
            return f"{left} not in ({rows})"
        negation = rng.choice(("", "", "not "))
        if rng.random() < 0.4 and self.depth > 1:  # any query: grouped, with CTEs, a union
            found = self.writer.query(self.depth - 2, kinds=[kind])
            return f"{left} {negation}in ({found.sql})"
        return f"{left} {negation}in ({self._rows((kind,), correlated=0.3)})"

    def _kind(self) -> Kind:
        return self.writer.rng.choice([leaf.kind for leaf in self.leaves if leaf.kind in _KEYS] or [Kind.INT])

    def scalar(self) -> str:
        """A number: an aggregate of all rows or of the matching rows."""
        rng = self.writer.rng
        found = from_clause(self.writer, self.depth - 1, self._outer(), count=1)
        inner = found.scope.leaves(rng)
        value = Expressions(rng, inner).of(Kind.INT, 1)
        aggregate = rng.choice(("max({})", "min({})", "sum({})", "count({})", "count(*)", "count(distinct {})"))
        where = self._where(found.scope, inner, correlated=0.6, equalities_only=True)
        return f"(select {aggregate.format(value)} from {found.sql}{where})"

    def _outer(self) -> Scope | None:
        return self.scope if self.is_correlated else None

    def _plain_rows(self, kind: Kind) -> str | None:
        """All rows of a relation, with one column. An added or removed NULL changes NOT IN. None if no column fits."""
        rng = self.writer.rng
        found = from_clause(self.writer, self.depth - 1, None, count=1)
        fitting = [leaf for leaf in found.scope.leaves(rng) if leaf.kind is kind]
        return f"select {rng.choice(fitting).spellings[0]} from {found.sql}" if fitting else None

    def _rows(self, kinds: Sequence[Kind], correlated: float) -> str:
        """Rows with a value of each kind, or for EXISTS, with any value."""
        rng = self.writer.rng
        found = from_clause(self.writer, self.depth - 1, self._outer(), count=rng.choice((1, 1, 2)))
        inner = found.scope.leaves(rng)
        values = ", ".join(Expressions(rng, inner).of(each, 1) for each in kinds) or rng.choice(("1", "*", "null"))
        return f"select {values} from {found.sql}{self._where(found.scope, inner, correlated)}"

    def _where(self, scope: Scope, inner: list[Leaf], correlated: float, *, equalities_only: bool = False) -> str:
        rng = self.writer.rng
        outer = scope.outer_leaves(rng)
        pairs = [(a, b) for a in inner for b in outer if a.kind is b.kind and a.kind in _KEYS]
        parts = []
        if pairs and rng.random() < correlated:
            for a, b in rng.sample(pairs, min(len(pairs), rng.choice((1, 1, 2)))):
                operator = "=" if equalities_only else rng.choice(("=", "=", "=", "<=>", "<", "<>"))
                parts.append(f"{rng.choice(a.spellings)} {operator} {rng.choice(b.spellings)}")
        if rng.random() < 0.5:
            nested = None
            if self.depth > 1 and rng.random() < 0.4:
                nested = Subqueries(self.writer, self.depth - 2, scope, inner).predicate
            parts.append(f"({Expressions(rng, inner, nested).condition(1)})")
        rng.shuffle(parts)
        return f" where {' and '.join(parts)}" if parts else ""
