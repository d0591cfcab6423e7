"""A SELECT on fewer of its relations, to find the keys of its affected rows.

Keys are values of few of the relations that a SELECT joins. Each of the others can affect a row only by matching it in
a join. So such a relation is left out, and the rows that its changed rows match count as changed rows of the relation
that it is joined with. Each relation is then read once at most, whatever the number of relations that have changed.

The SELECT that remains returns at least the affected rows of the whole: to leave out a relation, and the conditions
that mention it, can only add rows.
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
    """A relation that is left out, as seen from the relation that it is joined with, whose alias is ``other``.

    ``equal``: conditions, each between a column of the one and a column of the other. ``filters``: conditions on the
    relation alone. ``matches``: the relations that are left out for this one.
    """

    alias: str
    name: str
    other: str
    equal: tuple[exp.Expr, ...]
    filters: tuple[exp.Expr, ...]
    matches: tuple[Match, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """The columns that it is joined by, each with that of the other relation."""
        pairs = ({each.table: each.name for each in (equal.this, equal.expression)} for equal in self.equal)
        return {found.pop(self.alias): next(iter(found.values())) for found in pairs}


@dataclass(frozen=True)
class Fewer:
    """A SELECT on fewer relations. ``matches``: by alias, the relations that are left out for one that stays."""

    select: exp.Select
    matches: Mapping[str, tuple[Match, ...]]

    def columns_of(self, alias: str, keys: Iterable[exp.Expr]) -> list[str]:
        """The columns of a relation that its FROM, its WHERE and some keys read, each once."""
        parts = [*keys, *(self.select.args.get("joins") or ()), *(node for node, _ in subqueries(self.select))]
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

    ``is_changed``: whether the relation of a name may have changed. ``has_groups``: whether the values of some columns
    of a relation in its changed rows are those of its affected groups, which are known without computing these rows.
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
    """Remove the conditions on one relation alone if all other columns that are read of it are those of its groups."""
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
        """Leave out the last relation that can be; whether there was one."""
        relations = normal.clauses(self.select)
        for alias, relation, join in reversed(relations):
            if alias in self._needed or not isinstance(relation, exp.Table) or not self._may_go(alias, join):
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

    def _may_go(self, alias: str, join: exp.Join | None) -> bool:
        """Whether the rest of the joins keeps its rows, those without a partner too, and stays connected."""
        relations = normal.clauses(self.select)
        optional = [each for _, _, each in relations if each is not None and each is not join and _is_optional(each)]
        if len(relations) == 1 or (optional and join is None):
            return False
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
        """The relation that stays for one that is left out, and how they match; None where no columns are equal."""
        if join is not None and _is_optional(join):
            conditions = normal.conjuncts(join.args.get("on"))  # those of WHERE hold for rows without a partner too
        else:
            conditions = self._conditions()
        optional = {name for name, _, each in normal.clauses(self.select) if each is not None and _is_optional(each)}
        equal: dict[str, list[exp.Expr]] = {}
        for each in conditions:
            others = _aliases(each) - {alias}
            if not (_is_equality(each) and alias in _aliases(each) and len(others) == 1):
                continue
            (other,) = others
            # NULL may also stand for a missing partner, which is no row of the relation
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
            first, *joins = joins  # there is no LEFT JOIN here
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
    """The relations whose columns an expression reads."""
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
