"""A SELECT without some of its relations, to find the keys of its affected rows.

The keys are values of few of the relations that a SELECT joins. Any other relation can affect a row only by matching it
in a join. Such a relation is left out. The rows that its changed rows match count as changed rows of the relation that
it is joined with. Each relation is then read at most once, regardless of how many relations have changed.

The remaining SELECT returns at least the affected rows of the original SELECT, because leaving out a relation and the
conditions that mention it can only add rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from . import normal
from .subqueries import subqueries


@dataclass(frozen=True)
class Match:
    """A relation that is left out, and how it matches the relation with the alias ``other``, which it is joined with.

    ``equal``: the conditions that equate columns of the two relations. ``filters``: the conditions that only read the
    relation. ``matches``: relations that were left out earlier and match this one.
    """

    alias: str
    name: str
    other: str
    equal: tuple[exp.Expr, ...]
    filters: tuple[exp.Expr, ...]
    matches: tuple[Match, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """The columns by which it is joined, each with the equal column of the other relation."""
        pairs = ({each.table: each.name for each in (equal.this, equal.expression)} for equal in self.equal)
        return {found.pop(self.alias): next(iter(found.values())) for found in pairs}


@dataclass(frozen=True)
class Fewer:
    """A SELECT with fewer relations. ``matches``: those left out, by the alias of the relation that they match."""

    select: exp.Select
    matches: Mapping[str, tuple[Match, ...]]

    def columns_of(self, alias: str, keys: Iterable[exp.Expr]) -> list[str]:
        """The distinct columns of a relation that FROM, LATERAL VIEW, WHERE and some keys read."""
        clauses = (each for key in ("joins", "laterals") for each in self.select.args.get(key) or ())
        parts = [*keys, *clauses, *(node for node, _ in subqueries(self.select))]
        where = self.select.args.get("where")
        found = (column for part in (*parts, *([where] if where else [])) for column in part.find_all(exp.Column))
        return list(dict.fromkeys(column.name for column in found if column.table == alias))


def fewer_relations(
    select: exp.Select,
    keys: Collection[exp.Expr],
    is_changed: Callable[[str], bool],
    has_groups: Callable[[str, Sequence[str]], bool] = lambda name, columns: False,
) -> Fewer:
    """A SELECT without the relations that some keys over its rows do not need.

    ``is_changed``: returns whether a relation may have changed. ``has_groups``: returns whether columns of a relation
    have the values of its groups. The values of its affected groups are known without computing its changed rows.
    """
    found = _Fewer(select.copy(), keys, is_changed)
    while found.leave_out_one():
        pass
    fewer = Fewer(found.select, {alias: tuple(each) for alias, each in found.matches.items()})
    for alias, relation, _ in normal.clauses(fewer.select):
        if isinstance(relation, exp.Table) and is_changed(relation.name):
            _leave_out_filters(fewer, alias, keys, partial(has_groups, relation.name))
    return fewer


def _leave_out_filters(
    fewer: Fewer, alias: str, keys: Iterable[exp.Expr], has_groups: Callable[[Sequence[str]], bool]
) -> None:
    """Remove the conditions that only read one relation, if its other columns that are read are those of its groups."""
    filters = normal.filters(fewer.select)
    others = [each for each in filters if _aliases(each) != {alias} or each.find(exp.Query) is not None]
    without = Fewer(fewer.select.copy(), fewer.matches)
    normal.set_filters(without.select, others)
    if len(others) < len(filters) and has_groups(without.columns_of(alias, keys)):
        normal.set_filters(fewer.select, others)


class _Fewer:
    def __init__(self, select: exp.Select, keys: Collection[exp.Expr], is_changed: Callable[[str], bool]) -> None:
        self.select = select
        self.matches: dict[str, list[Match]] = {}
        self._is_changed = is_changed
        with_subqueries = [each for each in self._conditions() if each.find(exp.Query) is not None]
        parts = (*keys, *with_subqueries, *(node for node, _ in subqueries(select)))
        self._needed = {alias for part in parts for alias in _aliases(part)}
        if select.args.get("laterals"):
            self._needed.update(alias for alias, _, _ in normal.clauses(select))

    def leave_out_one(self) -> bool:
        """Leave out the last relation that is not needed. Returns whether there was one."""
        relations = normal.clauses(self.select)
        for alias, relation, join in reversed(relations):
            if alias in self._needed or not isinstance(relation, exp.Table) or not self._can_leave_out(alias, join):
                continue
            if self._is_changed(relation.name) or alias in self.matches:
                other, match = self._match(alias, relation, join)
                if match is None:
                    continue
                self.matches.setdefault(other, []).append(match)
                self.matches.pop(alias, None)
            self._remove(alias, join)
            return True
        return False

    def _can_leave_out(self, alias: str, join: exp.Join | None) -> bool:
        """Whether the remaining joins keep their rows, including those without a partner, and stay connected."""
        relations = normal.clauses(self.select)
        optional = [each for _, _, each in relations if each is not None and each is not join and _is_optional(each)]
        if len(relations) == 1 or (optional and join is None):
            return False
        if join is not None and _is_optional(join) and join.find(exp.Query) is not None:
            return False  # the subquery decides which rows have partners
        if any(alias in _aliases(each) for each in optional):
            return False
        rest = {each for each, _, _ in relations if each != alias}
        groups = _connected({alias, *rest}, self._conditions())
        return len(_connected(rest, self._conditions())) <= len(groups) - ({alias} in groups)

    def _conditions(self) -> list[exp.Expr]:
        joins = [join for _, _, join in normal.clauses(self.select) if join is not None]
        listed = (normal.conjuncts(join.args.get("on")) for join in joins)
        return [*normal.filters(self.select), *(each for conditions in listed for each in conditions)]

    def _match(self, alias: str, relation: exp.Table, join: exp.Join | None) -> tuple[str, Match | None]:
        """The alias of the remaining relation that a relation matches, and the match. None if no columns are equal."""
        if join is not None and _is_optional(join):
            conditions = normal.conjuncts(join.args.get("on"))  # WHERE also applies to rows without a partner
        else:
            conditions = self._conditions()
        relations = normal.clauses(self.select)
        tables = {name for name, each, _ in relations if isinstance(each, exp.Table)}  # VALUES has no changed rows
        optional = {name for name, _, each in relations if each is not None and _is_optional(each)}
        equal: dict[str, list[exp.Expr]] = {}
        for each in conditions:
            others = _aliases(each) - {alias}
            if not (_is_equality(each) and alias in _aliases(each) and len(others) == 1 and others <= tables):
                continue
            (other,) = others
            # with <=>, NULL may also represent a missing partner, which is not a row of the relation
            if isinstance(each, exp.EQ) or other not in optional:
                equal.setdefault(other, []).append(each)
        if not equal:
            return "", None
        other = max(equal, key=lambda name: len(equal[name]))
        filters = tuple(each for each in conditions if _aliases(each) == {alias})
        return other, Match(
            alias, relation.name, other, tuple(equal[other]), filters, tuple(self.matches.get(alias, ()))
        )

    def _remove(self, alias: str, join: exp.Join | None) -> None:
        """Remove a relation, and all conditions that mention it."""
        kept = [each for each in normal.filters(self.select) if alias not in _aliases(each)]
        joins = [each for each in self.select.args.get("joins") or () if each is not join]
        if join is not None and not _is_optional(join):
            kept += [each for each in normal.conjuncts(join.args.get("on")) if alias not in _aliases(each)]
        if join is None:
            first, *joins = joins  # in this case, no join is a LEFT JOIN
            self.select.set("from_", exp.From(this=first.this.copy()))
            kept += [each for each in normal.conjuncts(first.args.get("on")) if alias not in _aliases(each)]
        for each in joins:
            conditions = normal.conjuncts(each.args.get("on"))
            if any(alias in _aliases(condition) for condition in conditions):
                rest = [condition.copy() for condition in conditions if alias not in _aliases(condition)]
                each.set("on", exp.and_(*rest) if rest else None)
        self.select.set("joins", joins)
        normal.set_filters(self.select, kept)


def _aliases(node: exp.Expr) -> set[str]:
    """The aliases of the relations whose columns an expression reads."""
    return {column.table for column in node.find_all(exp.Column)}


def _is_equality(node: exp.Expr) -> bool:
    return isinstance(node, (exp.EQ, exp.NullSafeEQ)) and all(
        isinstance(side, exp.Column) for side in (node.this, node.expression)
    )


def _is_optional(join: exp.Join) -> bool:
    return join.side.upper() == "LEFT"


def _connected(aliases: Collection[str], conditions: Iterable[exp.Expr]) -> list[set[str]]:
    """The groups of relations that conditions connect."""
    groups = [{alias} for alias in aliases]
    for each in conditions:
        mentioned = _aliases(each)
        joined = [group for group in groups if group & mentioned]
        if len(joined) > 1:
            groups = [group for group in groups if not group & mentioned] + [set().union(*joined)]
    return groups
