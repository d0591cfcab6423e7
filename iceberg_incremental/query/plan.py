"""A query that is updated incrementally: the columns by which rows of its result are replaced, and a run's SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlglot import exp

from ..names import sql_name
from ..table.history import TableName
from .algebra import nodes as op
from .algebra.build import Describe, build
from .algebra.frames import with_short_frames
from .algebra.look_back import look_back
from .algebra.nodes import column
from .algebra.sql import Writer
from .algebra.tree import Tree, without_orders
from .complete import complete_text, with_complete_windows
from .key import is_distinct, key_of, select_of, total_of, unsorted, usable_columns
from .rules.changed import Changes
from .rules.choices import keys_of_choices
from .rules.cost import scans
from .rules.delta import added
from .rules.first_rows import FirstRows, changed_rows, first_rows, is_comparable
from .rules.operators import How, Operator, operators
from .rules.restrict import only, restricted
from .rules.sources import SourceRows, rows_for_keys
from .rules.steady import Stability
from .rules.summary import SummaryDelta, summary_delta
from .states import Broadcast, Keys, KeyView, State, TableStates
from .text.clauses import listed_values_sql
from .text.clock import ClockStates
from .text.moments import require_no_moment
from .text.parsing import Columns, mentions, parsed, relations_of, replaced
from .text.refusal import NotAFunction, Refusal, not_a_function, refused
from .text.supported import is_of_row, require_columns, require_function

Scans: TypeAlias = Mapping[TableName, int]
"""How many times the views of a run read each table as a whole."""


@dataclass(frozen=True)
class Reading:
    """A query as Spark and as this package read it. ``text``: for Spark, with views replaced by their definitions.

    ``qualified``: the tree as SQL, which Spark must interpret like ``text``, and ``names``: those of its columns.
    ``tables``: its base tables, by their names in the tree. ``values``: the values in VALUES of ``text`` and of
    ``qualified``, as in ``listed_values_sql``. ``catalog``: the default catalog of names in ``text``. ``complete``: the
    tree with complete orders of windows as SQL; empty if they are complete in the text.
    """

    text: str
    qualified: str
    names: Sequence[str]
    tables: Mapping[str, TableName]
    values: tuple[str, str]
    catalog: str
    complete: str = ""

    def on(self, relations: Mapping[TableName, str]) -> tuple[str, str]:
        """``text`` and ``qualified`` with other relations in the place of some tables."""
        if not relations:
            return self.text, self.qualified
        texts = []
        for sql in (self.text, self.qualified):
            found = [each for each in mentions(sql, self.catalog) if each.relation in relations]
            texts.append(replaced(sql, found, [relations[each.relation] for each in found]))
        return texts[0], texts[1]


@dataclass(frozen=True)
class IncrementalQuery:
    """How a query is updated incrementally.

    ``columns``: the names of the result's columns, and ``column_types`` their types in Spark. ``key``: the columns by
    which rows are replaced; if empty, any change replaces all rows. ``of_rows``: whether the values of the key can be
    computed from the rows that the query reads. Otherwise, they are read from the result. ``alone``: the columns of the
    key that could be a key on their own. ``chooses``: whether the query may return other rows or values each time,
    although no source has changed. ``summary``: how groups are updated from added and removed rows; None if they cannot
    be. ``choosing``: the SELECTs on whose choices other parts depend. ``whole``: the construct because of which any
    change of a source replaces all rows; None for all other queries. If ``reading.qualified`` is empty, nothing but the
    names of the sources is known.
    """

    reading: Reading
    tree: Tree
    key: tuple[str, ...]
    of_rows: bool
    columns: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    chooses: bool = False
    column_types: Mapping[str, str] = field(default_factory=dict)
    summary: SummaryDelta | None = None
    choosing: frozenset[op.Project] = frozenset()
    whole: Refusal | None = None

    @property
    def types(self) -> Mapping[str, Mapping[str, str]]:
        """The types of its tables' columns, by the tables' names in the tree."""
        return self.tree.schema

    @property
    def sorts(self) -> Mapping[TableName, int]:
        """How often the rows of each table are sorted for windows, or multiplied for aggregates of distinct values."""
        found: Counter[TableName] = Counter()
        for node in op.all_nodes(self.tree.root, self.tree.subqueries):
            match node:
                case op.Window():
                    times = 1
                case op.Group():
                    times = sum(each.find(exp.Distinct) is not None for each in node.measures)
                case _:
                    continue
            below = {each.table for each in op.all_nodes(node, self.tree.subqueries) if isinstance(each, op.Scan)}
            for name in below:
                found[self.reading.tables[name]] += times
        return found

    @property
    def looks_back(self) -> bool:
        """Whether it has windows of which only the rows from the first changed one on are affected."""
        nodes = op.all_nodes(self.tree.root, self.tree.subqueries)
        return any(isinstance(each, op.Window) and look_back(each, self.tree.types) is not None for each in nodes)

    def as_whole(self, because: Refusal) -> IncrementalQuery:
        """The query, with all rows replaced after each change."""
        return replace(self, key=(), alone=(), chooses=True, summary=None, whole=because)

    def changes(
        self,
        states: Mapping[TableName, TableStates],
        prefix: str,
        broadcast: Broadcast = lambda alias, rows, types: "",
        clock: ClockStates | None = None,
    ) -> Changes:
        """The changes of a run. ``prefix``, ``broadcast``, ``clock``: as in ``Changes``."""
        tables = {name: states[table] for name, table in self.reading.tables.items()}
        return Changes(self.tree, tables, prefix, broadcast, clock)

    def narrower(self) -> list[IncrementalQuery]:
        """The query with each narrower key that may be cheaper: first single columns, then columns of one source."""
        if len(self.key) < 2:
            return []
        keys: list[tuple[str, ...]] = [(name,) for name in self.alone]
        if self.of_rows:
            by_source: dict[str, list[str]] = {}
            for name, value in self._expressions().items():
                if name in self.alone and isinstance(value, exp.Column):
                    by_source.setdefault(value.table, []).append(name)
            keys += [tuple(names) for names in by_source.values() if 1 < len(names) < len(self.key)]
        return [replace(self, key=key, alone=()) for key in keys]

    def by(self, key: tuple[str, ...]) -> IncrementalQuery | None:
        """The query with some columns of its key as the key. None if they cannot be one."""
        if key == self.key:
            return self
        return replace(self, key=key, alone=()) if key and {*key} <= {*self.alone} else None

    def keyed_by(self, columns: Collection[str]) -> IncrementalQuery:
        """The query with those columns of its key that are among some columns, such as those of the table."""
        known = {name.lower() for name in columns}
        key, alone = (tuple(name for name in names if name.lower() in known) for names in (self.key, self.alone))
        return replace(self, key=key, alone=alone)

    def _expressions(self) -> dict[str, exp.Expr]:
        """The expressions of the key columns."""
        select = select_of(self.tree.root)
        assert select is not None
        found = {name.lower(): each for name, each in select.outputs}
        return {name: found[name.lower()] for name in self.key}

    def source_rows(self) -> list[SourceRows]:
        """The rows of the sources that are read for some keys."""
        return rows_for_keys(self.tree, {each: each for each in self.key})

    def affected(self, changes: Changes, name: str) -> list[KeyView]:
        """The views of a run, in the order of their creation. The last view, ``name``, has the affected keys."""
        found = self._affected(changes)
        listed = ", ".join(map(sql_name, self.key))
        selects = [f"select {listed} from ({changes.sql(each)})" for each in found]
        nothing = f"select {', '.join(f'null as {sql_name(each)}' for each in self.key)} where false"
        sql = "\nunion all\n".join(selects) or nothing
        view = KeyView(name, f"select distinct * from (\n{sql}\n)", self.key)
        return [*changes.views, view]

    def _affected(self, changes: Changes) -> list[op.Result]:
        """The queries that return the affected keys."""
        wanted = {each: each for each in self.key}
        if self.choosing:
            return keys_of_choices(self.tree.root, wanted, changes, self.choosing) or []
        if self.of_rows:
            select = select_of(self.tree.root)
            assert select is not None
            keys = changes.keys_of(select, self._expressions())
            return [] if keys is None else [keys]
        root = unsorted(self.tree.root)
        if isinstance(root, (op.Distinct, op.SetOperation)):  # their rows depend on the values of changed rows alone
            values = changes.values_of(op.children_of(root), op.names_of(root))  # type: ignore[arg-type] # results
            return [] if values is None else [values]
        found = [changes.changed(root, each) for each in (State.OLD, State.NEW)]
        return [each for each in found if each is not None]

    def finds_keys(self, changed: Mapping[TableName, bool], clock: ClockStates | None = None) -> bool:
        """Whether the keys that a change of some tables affects can be determined. If not, any row may be affected."""
        if not self.key:
            return False
        if not self.choosing:
            return True
        wanted = {each: each for each in self.key}
        return keys_of_choices(self.tree.root, wanted, self._estimated(changed, clock), self.choosing) is not None

    def first_rows(self, changes: Changes, table: str, types: Mapping[str, str]) -> FirstRows | None:
        """Whether changes may alter the rows of a LIMIT at the end of the query, as in ``first_rows``.

        ``table``: the table. ``types``: those of its columns. None also if they differ from those of the query, or for
        values that can differ.
        """
        limit, same = self._first_rows_of, {name: self.column_types.get(name) for name in self.columns} == types
        return first_rows(changes, limit, table) if limit is not None and same else None

    @property
    def _first_rows_of(self) -> op.Limit | None:
        root = self.tree.root
        return root if isinstance(root, op.Limit) and is_comparable(root) and not self.chooses else None

    def added(self, changes: Changes) -> str | None:
        """The exact rows that were added to the result, as a relation. None if the query chooses among rows.

        New rows would otherwise depend on other choices than the existing rows.
        """
        found = None if self.chooses else added(changes, self.tree.root)
        return None if found is None else f"({changes.sql(found)})"

    def scans(self, changed: Mapping[TableName, bool], clock: ClockStates | None = None) -> Scans:
        """How many times the views of the affected keys read each table as a whole.

        ``changed``: the changed tables, each with whether it only gained rows.
        """
        changes = self._estimated(changed, clock)
        found = self._affected(changes)
        return self._scans(changes, [*changes.view_queries, *found])

    def scans_to_continue(self, changed: Mapping[TableName, bool], clock: ClockStates | None = None) -> Scans | None:
        """How many times the changes of groups read each table as a whole. None if groups cannot be updated."""
        changes = self._estimated(changed, clock)
        found = None if self.summary is None else self.summary.delta(changes)
        return None if found is None else self._scans(changes, [each for _, each in found])

    def scans_of_first_rows(self, changed: Mapping[TableName, bool], clock: ClockStates | None = None) -> Scans | None:
        """How many times ``first_rows`` reads each table as a whole. None if it cannot tell."""
        if (limit := self._first_rows_of) is None:
            return None
        changes = self._estimated(changed, clock)
        found = changed_rows(changes, limit)
        return self._scans(changes, [*changes.view_queries, *found])

    def _scans(self, changes: Changes, nodes: Sequence[op.Result]) -> Scans:
        found = scans(nodes, changes.tree.subqueries)
        return {table: found[name] for name, table in self.reading.tables.items()}

    def operators(self, *, counts_scans: bool = True) -> tuple[Operator, ...]:
        """The operators of the query, as if all of its tables had changed. None for one that is computed as a whole."""
        if self.whole is not None and not self.reading.qualified:
            return ()
        of_root: How | None = None if self.key else "opaque" if self.summary is None else "grouped"
        changes = self._estimated(dict.fromkeys(self.reading.tables.values(), False), None)
        return operators(changes, of_root=of_root, counts_scans=counts_scans)

    def _estimated(self, changed: Mapping[TableName, bool], clock: ClockStates | None) -> Changes:
        """The changes of a run of which only the changed tables are known."""
        states = {
            table: TableStates("t", "t", "t" if table in changed else None, changed.get(table, False))
            for table in self.reading.tables.values()
        }
        return self.changes(states, "", clock=clock)

    def all_rows_sql(self, relations: Callable[[TableName], str], clock: ClockStates | None) -> str | None:
        """The query for all rows, with complete orders of windows, and without long frames. None if it is the text.

        Spark must interpret the text like ``reading.qualified``. ``relations``: returns the relation of a table.
        """
        root = with_short_frames(self.tree.root, self.tree.subqueries, self.tree.types)
        if root is self.tree.root and not self.reading.complete:
            return None
        text = Writer(self.tree.subqueries, lambda name, state: relations(self.reading.tables[name])).query(root)
        return text if clock is None else clock.sql(text)

    def rows_sql(self, changes: Changes, keys: Keys) -> str:
        """The query for the rows of the result that have some keys. ``keys``: a view with the key's column names."""
        root, select = self.tree.root, select_of(self.tree.root)
        if self.of_rows and select is not None:
            wanted = [(each, name) for name, each in self._expressions().items()]
            kept: op.Result = replace(select, child=only(select.child, wanted, keys, changes.tree))
            return changes.sql(op.Distinct(kept) if is_distinct(root) else kept)
        rows = restricted(root, {each: each for each in self.key}, keys, changes.tree)
        alias = "ip_rows"
        listed = tuple((name, column((alias, name))) for name in op.names_of(root))
        pairs = tuple((name, column((alias, name))) for name in self.key)
        return changes.sql(op.Project(op.Keyed(op.Alias(rows, alias), keys, pairs), listed))


def incremental_query(
    sql: str,
    columns: Mapping[TableName, Columns],
    catalog: str,
    types: Mapping[str, str],
    unique_key: Sequence[str] = (),
    describe: Describe = lambda sql: {},
    functions: Collection[str] = (),
) -> IncrementalQuery:
    """Determine how a query is updated incrementally.

    ``columns``: the columns of each relation that it may read. ``catalog``: the default for names without a catalog.
    ``types``: the types of the result's columns, by name, as Spark returns them. ``unique_key``: the columns by which
    rows are replaced, if possible. ``describe``: returns the types of the columns of a part that is computed as a
    whole, by name. ``functions``: those of the user's that are deterministic. Raises NotAFunction for a query whose
    result does not depend on these relations alone, and Refusal for one that cannot be parsed.
    """
    declared = {name.lower() for name in functions}
    try:
        return _of_parts(sql, columns, catalog, types, unique_key, describe, declared)
    except NotAFunction:
        raise
    except Refusal as refusal:
        return _of_whole(sql, columns, catalog, types, declared, refusal)


def _function_in(sql: str, columns: Mapping[TableName, Columns], declared: Collection[str]) -> exp.Query:
    """The parsed SQL. Raises NotAFunction if its result does not depend on relations with some columns alone."""
    found = parsed(sql)
    require_function(found, declared)
    require_columns(found, {name.lower() for names in columns.values() for name in names})
    return found


def _of_whole(
    sql: str,
    columns: Mapping[TableName, Columns],
    catalog: str,
    types: Mapping[str, str],
    declared: Collection[str],
    refusal: Refusal,
) -> IncrementalQuery:
    """A query all of whose rows are replaced when a source has changed. ``refusal``: why."""
    parsed_sql = _function_in(sql, columns, declared)
    require_no_moment(parsed_sql)
    tables = {f"ip_table_{number}": table for number, table in enumerate(relations_of(sql, columns, catalog))}
    try:
        text = complete_text(sql, columns, catalog)
    except NotAFunction:
        raise
    except Refusal as error:
        raise not_a_function(f"LIMIT with {error.construct}", parsed_sql, error.instead) from error
    reading = Reading(text, "", tuple(types), tables, ("", ""), catalog)
    known = {name: columns[table] for name, table in tables.items()}
    tree = Tree(op.Project(op.One(), ()), tables, known, op.ColumnTypes(), {}, {})
    return IncrementalQuery(reading, tree, (), True, tuple(types), chooses=True, whole=refusal)


def _of_parts(
    sql: str,
    columns: Mapping[TableName, Columns],
    catalog: str,
    types: Mapping[str, str],
    unique_key: Sequence[str],
    describe: Describe,
    declared: Collection[str],
) -> IncrementalQuery:
    text = complete_text(sql, columns, catalog)
    parsed_sql = _function_in(text, columns, declared)
    tree = build(parsed_sql, columns, catalog, list(types), describe, declared)
    if isinstance(root := unsorted(tree.root), op.Opaque):
        raise root.because
    reading = _reading(text, tree, catalog)
    tree = without_orders(tree)
    complete = with_complete_windows(tree)
    if complete is not tree:
        reading, tree = replace(reading, complete=_qualified(complete)), complete
    _require_known(tree)
    stability = Stability(tree)
    key, of_rows = key_of(tree, types, stability, unique_key, parsed_sql)
    if (found := stability.refusal(key)) is not None and key:
        raise found
    alone = tuple(name for name in key if stability.refusal([name]) is None)
    unstable, chooses = stability.columns, stability.chooses
    summary = None if chooses else summary_delta(tree.root, types, usable_columns(types, unstable), unstable)
    total = None if key else total_of(tree.root, parsed_sql)
    whole = total if total is not None and total.construct else None
    return IncrementalQuery(
        reading, tree, key, of_rows, tuple(types), alone, chooses, types, summary, stability.choosing, whole
    )


def _reading(text: str, tree: Tree, catalog: str) -> Reading:
    qualified = _qualified(tree)
    has_values = "values" in text.lower()
    values = (listed_values_sql(text), listed_values_sql(qualified)) if has_values else ("", "")
    return Reading(text, qualified, op.names_of(tree.root), tree.tables, values, catalog)


def _qualified(tree: Tree) -> str:
    """A tree as SQL."""
    return Writer(tree.subqueries, lambda name, state: tree.tables[name].sql).query(tree.root)


def _require_known(tree: Tree) -> None:
    """Raise Refusal for values that cannot be compared, or that stand for a time."""
    for node in op.all_nodes(tree.root, tree.subqueries):
        _require_comparable(node, tree)
        _require_plain_order(node)
        require_no_moment(*op.expressions_of(node), types=tree.types)
    for found in tree.subqueries.values():
        for value, type_ in zip(found.values, tree.types.of_result(found.query), strict=False):
            compared = ("ip_in", f"{type_}")
            tree.types.columns[compared] = type_
            require_no_moment(exp.EQ(this=value.copy(), expression=column(compared)), types=tree.types)


def _require_plain_order(node: op.Node) -> None:
    """Raise Refusal for a window in the ORDER BY of a LIMIT, since rows that are equal in the window may be chosen."""
    for each in op.expressions_of(node) if isinstance(node, op.Sort) else ():
        if each.find(exp.Window) is not None:
            raise refused("a window in ORDER BY before LIMIT", each, "compute it in a CTE, and order by its column")


def _require_comparable(node: op.Node, tree: Tree) -> None:
    """Raise Refusal for rows that belong together by a map, which Spark cannot compare, or by a subquery."""
    listed: list[exp.Expr] = []
    if isinstance(node, op.Group):
        listed = list(node.keys)
    elif isinstance(node, op.Window):
        listed = [part for each in node.functions for part in each.args.get("partition_by") or ()]
    types = (
        tree.types.of_result(node) if isinstance(node, (op.Distinct, op.SetOperation)) else map(tree.types.of, listed)
    )
    if any((type_ or "").startswith("map<") for type_ in types):
        raise refused("a map in GROUP BY, DISTINCT or PARTITION BY", None, "use array_sort(map_entries(…))")
    for each in listed:
        if not is_of_row(each):
            raise refused("a subquery in GROUP BY or PARTITION BY", each, "compute it in a CTE")
