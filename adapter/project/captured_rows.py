"""How a model's SQL uses the changes that it captures, from its parsed query.

A strategy that replaces rows of the table is wrong for values that depend on the other rows of the same run. For
example, the count of the new rows would replace the count of all rows. This module determines whether such a value is
written. It follows each relation from the FROM clause to the model's table. Changes that only filter other relations do
not count, such as a subquery of a WHERE clause, the right side of a semi join, or distinct keys that are joined with a
whole table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from sqlglot import exp

from iceberg_incremental.plan.ranges import CHANGE_SIGN, CHANGE_TYPE
from iceberg_incremental.table.history import TableName

from .aggregates import is_aggregate, own_nodes, sums_up, window_of
from .captured import SIGNED, Captured, Total, Use
from .sqlglot_dialect import SparkIceberg

_ANY = "*"
"""The key for columns with unknown names."""


def use_of(sql: str, given: Mapping[str, Collection[Captured]], own: TableName) -> Use | None:
    """How a compiled query uses its captured changes. None if it cannot be parsed.

    ``given``: the captures of the macros, by the text that they add to the query. A text that represents both changes
    and a whole table, such as that of no rows, counts as a whole table. ``own``: the model's table.
    """
    texts = sorted(given, key=len, reverse=True)  # a text may be part of a longer one
    names = {text: f"_ip_captured_{number}" for number, text in enumerate(texts)}
    pattern = "|".join(map(re.escape, texts))
    try:
        queries = SparkIceberg().parse(re.sub(pattern, lambda found: names[str(found.group())], sql))
    except Exception:  # noqa: BLE001 (if the parser fails, Spark still checks the SQL)
        return None
    query = queries[0] if len(queries) == 1 else None
    if not isinstance(query, exp.Query):
        return None
    reader = _QueryReader({name: frozenset(given[text]) for text, name in names.items()}, query, _key(own))
    found = reader.relation(query, {})
    return Use(
        tuple(dict.fromkeys(found.totals.values())),
        _key(own) in found.tables,
        _unsigned(query, found),
        tuple(reader.joined),
        tuple(reader.limited),
        reader.watermark,
        reader.filters_type,
    )


def _unsigned(query: exp.Expr, found: _Relation) -> tuple[Captured, ...]:
    """The signed changes in the result, if the query neither reads nor returns their sign. Empty otherwise."""
    mentions = (each for each in query.find_all(exp.Column) if each.name.lower() == CHANGE_SIGN)
    if any(not isinstance(each.parent, exp.Star) for each in mentions):  # * except (_change_sign) does not read it
        return ()
    arrived = found.changes | found.keys | {total.captured for total in found.totals.values()}
    return tuple(each for each in arrived - found.complete if each.macro == SIGNED)


def _key(table: TableName) -> str:
    return f"{table.namespace}.{table.name}".casefold()


@dataclass(frozen=True)
class _Relation:
    """A relation of the query.

    ``changes``: the captured changes whose rows it contains, possibly filtered, joined, or reduced to the newest row of
    each key. ``keys``: the captured changes of which it contains distinct values. ``totals``: the expressions that
    combine several changes, by column. ``tables``: the whole tables whose rows it contains. ``complete``: the captured
    changes of which it has all columns. ``columns``: its columns in lower case; None if unknown.
    """

    changes: frozenset[Captured] = frozenset()
    keys: frozenset[Captured] = frozenset()
    totals: Mapping[str, Total] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()
    complete: frozenset[Captured] = frozenset()
    columns: tuple[str, ...] | None = None

    def total(self, column: str) -> Total | None:
        """The expression over several changes in a column. None without one."""
        return self.totals.get(column, self.totals.get(_ANY))

    def renamed(self, names: Sequence[str]) -> _Relation:
        """The relation with other column names."""
        known = self.columns if self.columns is not None and len(self.columns) == len(names) else ()
        new = dict(zip(known, names, strict=False))
        totals = {new.get(column, _ANY): total for column, total in self.totals.items()}
        return replace(self, totals=totals, columns=tuple(names))

    def union(self, other: _Relation) -> _Relation:
        """The rows of both relations."""
        if self.columns is not None:
            other = other.renamed(self.columns)
        return replace(
            self,
            changes=self.changes | other.changes,
            keys=self.keys | other.keys,
            totals={**other.totals, **self.totals},
            tables=self.tables | other.tables,
            complete=self.complete | other.complete,
        )


_PLACES = (
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead,
)  # fmt: skip
"""Window functions whose values depend on the place of a row among all rows."""

_ByName = Mapping[str, Callable[[], _Relation]]
"""The relations of WITH clauses, by name."""


class _QueryReader:
    """Reads the relations of one query."""

    def __init__(self, captured: Mapping[str, frozenset[Captured]], query: exp.Expr, own: str) -> None:
        """``captured``: the captures in the query, by the name that represents them. ``own``: the model's table."""
        self._captured = captured
        self._own = own
        self.watermark = False
        self.filters_type = False
        self.joined: dict[Captured, None] = {}
        self.limited: dict[Captured, None] = {}
        clauses = [*query.find_all(exp.Where, exp.Having, exp.Qualify)]
        clauses += [each.args["on"] for each in query.find_all(exp.Join) if each.args.get("on") is not None]
        self._filtering = {column.name.lower() for clause in clauses for column in clause.find_all(exp.Column)}

    def relation(self, query: exp.Expr, names: _ByName) -> _Relation:
        """The result of a query."""
        if not isinstance(query, exp.Query):
            return _Relation()
        names = self._with(query, names)
        found = self._result(query, names)
        if query.args.get("limit") is not None:
            self.limited |= dict.fromkeys(sorted(found.changes, key=str))
        return found

    def _result(self, query: exp.Query, names: _ByName) -> _Relation:
        if isinstance(query, exp.Select):
            return self._selected(query, names)
        if isinstance(query, exp.SetOperation):
            left, right = self.relation(query.this, names), self.relation(query.expression, names)
            if isinstance(query, exp.Union):
                return left.union(right)
            self._note_compared(left.changes, right.changes)
            return left
        return self.relation(query.this, names)

    def _with(self, query: exp.Query, names: _ByName) -> _ByName:
        found = dict(names)
        clause = query.args.get("with_")
        for each in [] if clause is None else clause.expressions:
            found[each.alias.lower()] = cache(lambda each=each, names=dict(found): self._aliased(each, names))
        return found

    def _aliased(self, node: exp.Expr, names: _ByName) -> _Relation:
        """A CTE or subquery with the column names of its alias."""
        found, columns = self.relation(node.this, names), node.alias_column_names
        return found.renamed([each.lower() for each in columns]) if columns else found

    def _selected(self, select: exp.Select, names: _ByName) -> _Relation:
        scope = _Scope(list(self._sources(select, names)))
        self.joined |= dict.fromkeys(scope.joined)
        for each in self._filters(select, names):
            self._note_compared(scope.changes, each.changes)
        self.filters_type = self.filters_type or any(map(_leaves_deletions_out, select.find_all(exp.Where)))
        self.watermark = self.watermark or any(
            scope.is_changed(greater) and self._is_own_maximum(lesser) for greater, lesser in _ordered(select)
        )
        having = select.args.get("having")
        parts = [*select.expressions, *([] if having is None else [having])]
        groups = [node for part in parts for node in own_nodes(part) if is_aggregate(node) and window_of(node) is None]
        found = [each for part in select.expressions for each in self._outputs(part, scope, groups, names)]
        totals = {name: total for name, total, _ in found if total is not None}
        if having is not None and (total := self._total(having, scope, groups, names)) is not None:
            totals[_ANY] = total  # the condition determines which rows exist
        grouped = bool(groups) or select.args.get("group") is not None
        one_of_each = select.args.get("distinct") is not None or (grouped and all(sums_up(n, groups) for n in groups))
        listed = tuple(name for name, _, _ in found)
        return _Relation(
            frozenset() if one_of_each else scope.changes,
            scope.keys | scope.changes if one_of_each else scope.keys,
            totals,
            scope.tables,
            frozenset(each for _, _, complete in found for each in complete),
            None if _ANY in listed else listed,
        )

    def _note_compared(self, changes: frozenset[Captured], others: frozenset[Captured]) -> None:
        """Note changes of which only those of other tables decide whether they become rows."""
        tables = {_key(each.table) for each in changes}
        others = frozenset(each for each in others if _key(each.table) not in tables)
        if changes and others:
            self.joined |= dict.fromkeys(sorted(changes | others, key=str))

    def _filters(self, select: exp.Select, names: _ByName) -> Iterator[_Relation]:
        """The relations that only filter the rows of a SELECT: in conditions, and of semi and anti joins."""
        joins = select.args.get("joins") or ()
        conditions = [each.args.get("on") for each in joins] + [select.args.get("where"), select.args.get("having")]
        for condition in conditions:
            for inner in [] if condition is None else condition.find_all(exp.Select):
                yield self.relation(inner, names)
        for each in joins:
            if each.kind in ("SEMI", "ANTI"):
                yield from (found for _, found in self._source(each.this, names))

    def _is_own_maximum(self, value: exp.Expr) -> bool:
        """Whether a value is a maximum of the whole of the model's table, or another value if the table is empty."""
        if isinstance(value, exp.Coalesce):
            value = value.this
        select = value.this if isinstance(value, exp.Subquery) else None
        if not isinstance(select, exp.Select) or select.find(exp.Max) is None:
            return False
        is_whole = all(select.args.get(clause) is None for clause in ("where", "group", "joins"))
        return is_whole and [_named(table) for table in select.find_all(exp.Table)] == [self._own]

    def _sources(self, select: exp.Select, names: _ByName) -> Iterator[tuple[str, _Relation]]:
        """The relations in the FROM clause of a query, by alias, without relations that only filter others."""
        clause = select.args.get("from_")
        nodes = [] if clause is None else [clause.this]
        nodes += [each.this for each in select.args.get("joins") or () if each.kind not in ("SEMI", "ANTI")]
        for node in [*nodes, *(select.args.get("laterals") or ())]:
            yield from self._source(node, names)

    def _source(self, node: exp.Expr, names: _ByName) -> Iterator[tuple[str, _Relation]]:
        """A relation of a FROM clause, or several relations that are joined in parentheses."""
        if isinstance(node, exp.Table):
            found = self._table(node, names)
        elif isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Query):
            yield from self._source(node.this, names)
            return
        else:
            found = self._aliased(node, names)
        for pivot in node.args.get("pivots") or ():
            captured = next(iter((*found.changes, *found.keys)), None)
            if captured is not None and not pivot.args.get("unpivot"):
                found = _Relation(totals={_ANY: Total(_shown(pivot.expressions[0]), captured)}, tables=found.tables)
        yield node.alias_or_name.lower(), found
        for each in node.args.get("joins") or ():
            if each.kind not in ("SEMI", "ANTI"):
                yield from self._source(each.this, names)

    def _table(self, table: exp.Table, names: _ByName) -> _Relation:
        if not table.db:
            if table.name in self._captured:
                return _captured(self._captured[table.name])
            if table.name.lower() in names:
                return names[table.name.lower()]()
        return _Relation(tables=frozenset((_named(table),)))

    def _outputs(
        self, part: exp.Expr, scope: _Scope, groups: Collection[exp.Expr], names: _ByName
    ) -> Iterator[tuple[str, Total | None, frozenset[Captured]]]:
        """The columns of an expression in a SELECT clause: their names, totals, and captures.

        Only ``*`` has captures. These are the captured changes of which it returns all columns.
        """
        star = part if isinstance(part, exp.Star) else part.this if isinstance(part, exp.Column) else None
        if not isinstance(star, exp.Star):
            yield part.alias_or_name.lower(), self._total(part, scope, groups, names), frozenset()
            return
        left_out = {each.name.lower() for each in star.args.get("except_") or ()}
        for each in scope.starred(part):
            complete = each.complete if CHANGE_SIGN not in left_out else frozenset()
            columns = {**dict.fromkeys(each.columns or (_ANY,)), **each.totals}
            yield from ((name, total, complete) for name, total in columns.items() if name not in left_out)

    def _total(self, part: exp.Expr, scope: _Scope, groups: Collection[exp.Expr], names: _ByName) -> Total | None:
        """The first expression over several changes in an expression. None without one."""
        for node in own_nodes(part):
            found = None
            if isinstance(node, exp.Subquery) and node.arg_key != "query":
                found = next(iter(self.relation(node, names).totals.values()), None)
            elif isinstance(node, exp.Column):
                found = scope.total_of(node)
            elif is_aggregate(node) and sums_up(node, groups) and not self._only_filters(part, node):
                captured = scope.captured_by(node)
                found = None if captured is None else Total(_shown(window_of(node) or node), captured)
            elif isinstance(node, exp.Window) and isinstance(node.this, _PLACES) and not self._only_filters(part, node):
                captured = scope.captured_by(node)
                found = None if captured is None else Total(_shown(node), captured)
            if found is not None:
                return found
        return None

    def _only_filters(self, part: exp.Expr, node: exp.Expr) -> bool:
        """Whether a window function only selects rows, because its alias is the column of a condition."""
        return (isinstance(node, exp.Window) or window_of(node) is not None) and part.alias.lower() in self._filtering


class _Scope:
    """The relations in the FROM clause of one SELECT."""

    def __init__(self, sources: Sequence[tuple[str, _Relation]]) -> None:
        """``sources``: the relations by alias. Changes that are joined with their own table only filter it.

        An expression that names their alias reads the changes nevertheless.
        """
        self._arrived = [(alias, each.changes) for alias, each in sources]
        tables = {table for _, each in sources for table in each.tables}
        self._sources = [
            (alias, replace(each, changes=frozenset(c for c in each.changes if _key(c.table) not in tables)))
            for alias, each in sources
        ]
        self.tables = frozenset(tables)
        self.changes = frozenset(captured for _, each in self._sources for captured in each.changes)
        self.keys = frozenset[Captured]()
        if not tables:
            self.keys = frozenset(captured for _, each in self._sources for captured in each.keys)

    @property
    def joined(self) -> list[Captured]:
        """The changes of different tables that are joined with each other. Empty if there is only one table."""
        by_table = {_key(each.table): each for _, relation in self._sources for each in relation.changes}
        in_one = any(len({_key(each.table) for each in one.changes}) == len(by_table) for _, one in self._sources)
        return [] if in_one else sorted(by_table.values(), key=str)

    def is_changed(self, value: exp.Expr) -> bool:
        """Whether a value is that of a changed row."""
        columns = [node for node in own_nodes(value) if isinstance(node, exp.Column)]
        return bool(columns) and all(each.changes for column in columns for each in self._meant(column))

    def starred(self, star: exp.Expr) -> list[_Relation]:
        """The relations whose columns ``*`` or ``alias.*`` represents."""
        alias = star.table.lower() if isinstance(star, exp.Column) else ""
        return [each for name, each in self._sources if not alias or name == alias]

    def total_of(self, column: exp.Column) -> Total | None:
        """The expression over several changes in a column of these relations. None without one."""
        names = [each.name.lower() for each in column.parts]
        for each in self._meant(column):
            found = each.total(names[-1]) or each.totals.get(names[0])  # the first name may be that of a struct
            if found is not None:
                return found
        return None

    def captured_by(self, aggregate: exp.Expr) -> Captured | None:
        """The changes that an aggregate combines. None without any."""
        columns = [node for node in own_nodes(aggregate) if isinstance(node, exp.Column)]
        aliases = {column.parts[0].name.lower() for column in columns if len(column.parts) > 1}
        named = (captured for alias, changes in self._arrived if alias in aliases for captured in changes)
        if (found := next(named, None)) is not None:
            return found
        meant = [each for column in columns for each in self._meant(column)] or [each for _, each in self._sources]
        arrived = (captured for each in meant for captured in (*each.changes, *(each.keys & self.keys)))
        return next(arrived, None)

    def _meant(self, column: exp.Column) -> list[_Relation]:
        """The relations that may contain a column."""
        named = [each for name, each in self._sources if name == column.parts[0].name.lower() and len(column.parts) > 1]
        return named or [each for _, each in self._sources]


def _leaves_deletions_out(where: exp.Where) -> bool:
    """Whether a condition on ``_change_type`` is false for deletions."""
    for each in where.find_all(exp.EQ, exp.NEQ, exp.In):
        is_alternative = each.find_ancestor(exp.Or, exp.Case) is not None
        if is_alternative or not isinstance(each.this, exp.Column) or each.this.name.lower() != CHANGE_TYPE:
            continue
        values = each.expressions if isinstance(each, exp.In) else [each.expression]
        listed = any(isinstance(value, exp.Literal) and value.name.upper() == "DELETE" for value in values)
        negated = isinstance(each, exp.NEQ) != isinstance(each.parent, exp.Not)
        if bool(values) and listed is negated:
            return True
    return False


def _named(table: exp.Table) -> str:
    return f"{table.db}.{table.name}".casefold()


def _ordered(select: exp.Select) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """The pairs of a greater and a lesser value in the conditions of WHERE, all of which must hold."""
    where = select.args.get("where")
    for each in [] if where is None else where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        condition = each.unnest()
        if isinstance(condition, (exp.GT, exp.GTE)):
            yield condition.left, condition.right
        elif isinstance(condition, (exp.LT, exp.LTE)):
            yield condition.right, condition.left


def _captured(captured: frozenset[Captured]) -> _Relation:
    """The relation of a macro's captures."""
    if all(each.is_changes for each in captured):
        return _Relation(changes=captured, complete=captured)
    return _Relation(tables=frozenset(_key(each.table) for each in captured))


def _shown(node: exp.Expr) -> str:
    """An expression as Spark SQL. The parts that sqlglot generates are in lower case."""
    return node.sql(SparkIceberg, normalize_functions="lower")
