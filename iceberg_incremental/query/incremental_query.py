"""A query that is updated incrementally: the columns by which rows of its result are replaced, and a run's SQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from ..names import sql_name, sql_names
from ..table.history import TableName
from . import normal
from .blocks import ROOT, Block, blocks_of
from .changed import Changes
from .choices import keys_of_choices
from .clock import ClockStates
from .differences import added_sql
from .limits import is_limited
from .moments import require_no_moment
from .reading import Columns, Reading, complete_text, parsed, read, relations_of
from .refusal import NotAFunction, Refusal, not_a_function, refused
from .restricted import Keys, restricted_block_sql, restricted_sql
from .sql_parts import nothing_sql
from .stable import Stability
from .states import Broadcast, KeyView, State, TableStates
from .subqueries import subqueries
from .summary_delta import SummaryDelta, summary_delta
from .supported import is_aggregate, is_of_row, require_columns, require_function
from .together import has_distinct_aggregate, kept_together, partitions, windows_of
from .types import Types

_KEYS = ("tinyint", "smallint", "int", "bigint", "decimal", "string", "date", "timestamp", "boolean")
"""Types whose values are compared exactly, including by Iceberg's column bounds."""


@dataclass(frozen=True)
class Scans:
    """The number of views that a run creates, and of times that they read each table as a whole."""

    views: int
    tables: Mapping[TableName, int]


@dataclass(frozen=True)
class IncrementalQuery:
    """How a query is updated incrementally.

    ``columns``: the names of the result's columns. ``key``: the columns by which rows are replaced; if empty, any
    change replaces all rows. ``of_rows``: whether the values of the key can be computed from the rows that the query
    reads. Otherwise, they are read from the result. ``alone``: the columns of the key that could be a key on their own.
    ``chooses``: whether the query may return other rows or values each time, although no source has changed.
    ``summary``: how groups are updated from added and removed rows; None if they cannot be. ``choosing``: the names of
    the blocks on whose choices other blocks depend. ``whole``: the construct because of which any change of a source
    replaces all rows, and nothing but the names of the sources is known. None for all other queries.
    """

    reading: Reading
    blocks: tuple[Block, ...]
    types: Mapping[str, Mapping[str, str]]
    key: tuple[str, ...]
    of_rows: bool
    columns: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    chooses: bool = False
    summary: SummaryDelta | None = None
    choosing: frozenset[str] = frozenset()
    whole: Refusal | None = None

    @cached_property
    def root(self) -> Block:
        """The block of the query itself."""
        return self.blocks[-1]

    @cached_property
    def sorted_tables(self) -> frozenset[TableName]:
        """The tables whose rows are sorted for windows, or multiplied for aggregates of distinct values."""
        read: dict[str, set[str]] = {name: {name} for name in self.reading.tables}
        found: set[str] = set()
        for block in self.blocks:
            mine = read[block.name] = set().union(*(read[name] for name in block.reads))
            if any(windows_of(each) or has_distinct_aggregate(each) for each in block.selects):
                found |= mine
        return frozenset(self.reading.tables[name] for name in found)

    def as_whole(self, because: Refusal) -> IncrementalQuery:
        """The query, with all rows replaced after each change."""
        return replace(self, key=(), alone=(), chooses=True, summary=None, whole=because)

    def expressions(self) -> dict[str, exp.Expr]:
        """The expressions of the key columns."""
        return self.root.outputs(self.key)

    def changes(
        self,
        states: Mapping[TableName, TableStates],
        prefix: str,
        broadcast: Broadcast = lambda alias, rows, types: "",
        clock: ClockStates | None = None,
    ) -> Changes:
        """The changes of a run. ``prefix``, ``broadcast``, ``clock``: as in ``Changes``."""
        tables = {name: states[table] for name, table in self.reading.tables.items()}
        return Changes(self.blocks, tables, self.types, prefix, broadcast, clock)

    def narrower(self) -> list[IncrementalQuery]:
        """The query with each narrower key that may be cheaper: first single columns, then columns of one source."""
        if len(self.key) < 2:
            return []
        keys: list[tuple[str, ...]] = [(name,) for name in self.alone]
        if self.of_rows:
            by_source: dict[str, list[str]] = {}
            for name, value in self.expressions().items():
                if name in self.alone and isinstance(value, exp.Column):
                    by_source.setdefault(value.table, []).append(name)
            keys += [tuple(names) for names in by_source.values() if 1 < len(names) < len(self.key)]
        return [replace(self, key=key, alone=()) for key in keys]

    def keyed_by(self, columns: Collection[str]) -> IncrementalQuery:
        """The query with those columns of its key that are among some columns, such as those of the table."""
        known = {name.lower() for name in columns}
        key, alone = (tuple(name for name in names if name.lower() in known) for names in (self.key, self.alone))
        return replace(self, key=key, alone=alone)

    def affected(self, changes: Changes, name: str) -> list[KeyView]:
        """The views of a run, in the order of their creation. The last view, ``name``, has the affected keys."""
        if self.choosing:
            found_by = keys_of_choices(self.root, {each: each for each in self.key}, changes, self.choosing)
            sql = "\nunion all\n".join(found_by or ()) or nothing_sql(self.key)
        elif self.of_rows:
            sql = changes.keys_sql(ROOT, self.expressions())
        else:
            found = [changes.sql(ROOT, each) for each in (State.REMOVED, State.ADDED)]
            selects = [f"select {sql_names(self.key)} from {each}" for each in found if each is not None]
            sql = "\nunion all\n".join(selects) or nothing_sql(self.key)
        view = KeyView(name, changes.finished(f"select distinct * from (\n{sql}\n)"), self.key)
        return [*changes.views, view]

    def finds_keys(self, changed: Mapping[TableName, bool], clock: ClockStates | None = None) -> bool:
        """Whether the keys that a change of some tables affects can be determined. If not, any row may be affected."""
        if not self.key:
            return False
        changes, _ = self._with_placeholders(changed, clock)
        wanted = {each: each for each in self.key}
        return not self.choosing or keys_of_choices(self.root, wanted, changes, self.choosing) is not None

    def added(self, changes: Changes) -> str | None:
        """The exact rows that were added to the result, as in ``added_sql``. None if the query chooses among rows.

        New rows would otherwise depend on other choices than the existing rows.
        """
        sql = None if self.chooses else added_sql(changes, ROOT)
        return None if sql is None else changes.finished(sql)

    def scans(self, changed: Mapping[TableName, bool], clock: ClockStates | None = None) -> Scans:
        """How many times the views of the affected keys read each table as a whole.

        ``changed``: the changed tables, each with whether it only gained rows.
        """
        changes, placeholders = self._with_placeholders(changed, clock)
        views = self.affected(changes, "")
        return Scans(len(views), _counted("".join(view.sql for view in views), placeholders))

    def scans_to_continue(self, changed: Mapping[TableName, bool], clock: ClockStates | None = None) -> Scans | None:
        """How many times the changes of groups read each table as a whole. None if groups cannot be updated."""
        changes, placeholders = self._with_placeholders(changed, clock)
        delta = None if self.summary is None else self.summary.delta_sql(changes)
        return None if delta is None else Scans(1, _counted(delta, placeholders))

    def _with_placeholders(
        self, changed: Mapping[TableName, bool], clock: ClockStates | None
    ) -> tuple[Changes, dict[TableName, str]]:
        """The changes of a run with a placeholder for each whole table, and the placeholders, to count them in SQL."""
        placeholders = {table: f"<{number}>" for number, table in enumerate(self.reading.tables.values())}
        states = {
            table: TableStates(mark, mark, "changes" if table in changed else None, changed.get(table, False))
            for table, mark in placeholders.items()
        }
        return self.changes(states, "", clock=clock), placeholders

    def rows_sql(self, changes: Changes, keys: Keys) -> str:
        """The query for the rows of the result that have some keys. ``keys``: a view with the key's column names."""
        root = self.root
        if self.of_rows and isinstance(root.query, exp.Select):
            wanted = tuple(self.expressions().items())
            return changes.finished(restricted_sql(root.query, replace(keys, columns=wanted), changes, State.NEW))
        rows = restricted_block_sql(root, {each: each for each in self.key}, keys, changes, State.NEW)
        condition = keys.exists_sql([(each, f"ip_rows.{sql_name(each)}") for each in self.key])
        return changes.finished(f"select * from ({rows}) as ip_rows where {condition}")


def _counted(text: str, placeholders: Mapping[TableName, str]) -> dict[TableName, int]:
    return {table: text.count(mark) for table, mark in placeholders.items()}


def incremental_query(
    sql: str,
    columns: Mapping[TableName, Columns],
    catalog: str,
    types: Mapping[str, str],
    unique_key: Sequence[str] = (),
) -> IncrementalQuery:
    """Determine how a query is updated incrementally.

    ``columns``: the columns of each relation that it may read. ``catalog``: the default for names without a catalog.
    ``types``: the types of the result's columns, by name, as Spark returns them. ``unique_key``: the columns by which
    rows are replaced, if possible. Raises NotAFunction for a query whose result does not depend on these relations
    alone, and Refusal for one that cannot be parsed.
    """
    try:
        return _of_parts(sql, columns, catalog, types, unique_key)
    except NotAFunction:
        raise
    except Refusal as refusal:
        return _of_whole(sql, columns, catalog, types, refusal)


def _of_whole(
    sql: str, columns: Mapping[TableName, Columns], catalog: str, types: Mapping[str, str], refusal: Refusal
) -> IncrementalQuery:
    """A query all of whose rows are replaced when a source has changed. ``refusal``: why."""
    tree = parsed(sql)
    require_function(tree)
    require_columns(tree, {name.lower() for found in columns.values() for name in found})
    require_no_moment(tree)
    tables = {f"ip_table_{number}": table for number, table in enumerate(relations_of(sql, columns, catalog))}
    try:
        text = complete_text(sql, columns, catalog)
    except NotAFunction:
        raise
    except Refusal as error:
        raise not_a_function(f"LIMIT with {error.construct}", tree, error.instead) from error
    reading = Reading(text, tree, tables, "", ("", ""), catalog)
    known = {name: columns[table] for name, table in tables.items()}
    return IncrementalQuery(reading, (), known, (), True, tuple(types), chooses=True, whole=refusal)


def _of_parts(
    sql: str,
    columns: Mapping[TableName, Columns],
    catalog: str,
    types: Mapping[str, str],
    unique_key: Sequence[str],
) -> IncrementalQuery:
    reading = read(sql, columns, catalog)
    tables = {name: {c.lower(): t for c, t in columns[table].items()} for name, table in reading.tables.items()}
    names = list(types)
    tree = _with_names(reading.tree, names)
    blocks = blocks_of(tree, {name: list(found) for name, found in tables.items()})
    unchanged = Changes(blocks, {name: TableStates("t", "t", "t") for name in tables}, tables, "")
    _require_variants(blocks, unchanged)
    known = Types(blocks, tables)
    require_no_moment(*(block.query for block in blocks), types=known)
    stability = Stability(blocks, unchanged, known)
    key, of_rows = _key(blocks[-1], types, stability, unique_key)
    if (found := stability.refusal(key)) is not None and key:
        raise found
    _require_one_choice(reading.tree, blocks, stability.choosing)
    alone = tuple(name for name in key if stability.refusal([name]) is None)
    unstable = stability.columns(ROOT)
    summary = None if stability.chooses else summary_delta(blocks[-1].query, types, _usable(types, unstable), unstable)
    chooses, choosing = stability.chooses, stability.choosing
    return IncrementalQuery(reading, blocks, tables, key, of_rows, tuple(names), alone, chooses, summary, choosing)


def _with_names(tree: exp.Query, names: Sequence[str]) -> exp.Query:
    """The tree with Spark's names for the columns of the result."""
    tree = tree.copy()
    first: exp.Expr = tree
    while not isinstance(first, exp.Select):
        first = first.this
    if len(first.expressions) != len(names):
        raise refused("a result whose columns Spark interprets differently", first)
    for each, name in zip(list(first.expressions), names, strict=True):
        each.replace(exp.alias_(each.unalias().copy(), name, quoted=True))
    return tree


def _require_variants(blocks: Sequence[Block], changes: Changes) -> None:
    """Raise Refusal if the affected rows of a block cannot be determined."""
    for block in blocks:
        _require_uncorrelated(block)
        if isinstance(block.query, exp.Select):
            _require_comparable(block.query, changes.value_types)
            list(changes.variants(block.query))
            if subqueries(block.query) and _has_correlated_aggregate(block.query):
                raise refused("a subquery that reads an aggregate of the outer query", block.query)


def _require_comparable(select: exp.Select, types: Types) -> None:
    """Raise Refusal for rows that belong together by a map. Spark groups by maps, but cannot compare them."""
    together = kept_together(select) or []
    for node in select.walk():
        if node in together and (types.of(node) or "").startswith("map<"):
            raise refused("a map in GROUP BY, DISTINCT or PARTITION BY", node, "use array_sort(map_entries(…))")


def _require_uncorrelated(block: Block) -> None:
    """Raise Refusal for a derived table whose rows depend on a row of an outer query, so that no view has them."""
    selects = list(block.query.find_all(exp.Select))
    own = {alias for select in selects for alias, _, _ in normal.clauses(select)}
    own |= {each.alias_or_name for select in selects for each in select.args.get("laterals") or ()}
    outer = next((each for each in block.query.find_all(exp.Column) if each.table and each.table not in own), None)
    if outer is not None:
        raise refused("a derived table that reads columns of an outer query", outer, "join it as a relation")


def _has_correlated_aggregate(select: exp.Select) -> bool:
    for _, inner in subqueries(select):
        aliases = {each.alias_or_name for each in inner.find_all(exp.Table)}
        for node in inner.walk():
            if is_aggregate(node) and any(
                column.table and column.table not in aliases for column in node.find_all(exp.Column)
            ):
                return True
    return False


def _key(
    root: Block, types: Mapping[str, str], stability: Stability, unique_key: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """The columns by which rows are replaced, and whether their values can be computed from the rows that are read."""
    usable = _usable(types, stability.columns(root.name))
    together = kept_together(root.query) if isinstance(root.query, exp.Select) else None
    values = (
        {each.alias_or_name.lower(): each.unalias() for each in root.query.expressions}
        if isinstance(root.query, exp.Select)
        else {}
    )
    direct = [name for name in usable if _is_direct(values.get(name.lower()), together)]
    by_name = {name.lower(): name for name in types}
    wanted = [by_name[name.lower()] for name in unique_key if name.lower() in by_name]
    if wanted and set(wanted) <= set(usable) and stability.refusal(wanted) is None:
        return tuple(wanted), set(wanted) <= set(direct)
    if together == [] and isinstance(root.query, exp.Select) and not partitions(root.query):
        _require_total(root.query)
        return (), True
    if together is not None and direct:
        return tuple(direct if stability.refusal(direct) is None else stability.covered(direct) or direct), True
    if together is None and values:
        plain = [name for name in direct if isinstance(values[name.lower()], exp.Column)]
        for chosen in (plain or direct, stability.covered(direct)):
            if chosen and stability.refusal(chosen) is None:
                return tuple(chosen), True
    if stability.refusal(usable) is not None and (chosen := stability.covered(usable)):
        return tuple(chosen), False
    return tuple(usable), False


def _require_one_choice(tree: exp.Query, blocks: Sequence[Block], choosing: Collection[str]) -> None:
    """Raise Refusal for a choice among rows that a full join or several grouping sets would compute several times."""
    copying: list[exp.Expr] = [each for each in tree.find_all(exp.Join) if each.side.upper() == "FULL"]
    copying += list(tree.find_all(exp.Rollup, exp.Cube, exp.GroupingSets))
    depending = set(choosing)
    for block in blocks:  # each after those that it reads
        depending |= {block.name} if depending & set(block.reads) else set()
    read = [name for block in blocks for name in block.reads]
    if copying and any(read.count(name) > 1 for name in depending):
        raise refused("a choice among rows below a full join or several grouping sets", copying[0])


def _require_total(select: exp.Select) -> None:
    """Raise Refusal for a SELECT all of whose rows belong together, unless it is a total, which can be continued."""
    if is_limited(select):
        advice = "for the first rows of each group, use row_number() with PARTITION BY and QUALIFY"
        raise refused("LIMIT", select, advice)
    if windows := windows_of(select):
        raise refused("a window without PARTITION BY", windows[0], "partition all windows by columns")


def _usable(types: Mapping[str, str], unstable: Collection[str]) -> list[str]:
    """The columns that can be part of a key."""
    return [name for name, type_ in types.items() if type_.startswith(_KEYS) and name.lower() not in unstable]


def _is_direct(value: exp.Expr | None, together: list[exp.Expr] | None) -> bool:
    """Whether a column's value can be computed from the rows of FROM and WHERE."""
    if value is None:
        return False
    if together is not None:
        return value in together
    return is_of_row(value)
