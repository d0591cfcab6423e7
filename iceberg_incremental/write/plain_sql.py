"""Keeping a table equal to its SQL: the affected keys, and the statements that replace the rows that have them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from ..capture.run import Run
from ..errors import StatementError
from ..explain import plain_sql_errors
from ..expose.groups import broadcast
from ..expose.plain_sql import Source
from ..expose.same_key import same_key
from ..expose.value_range import ends_sql, has_ends
from ..metadata import FilesAt, MetadataReader
from ..plan.rebuild_cost import Choice, Reads, choose, rebuild_at_once
from ..publish.publisher import Check, Published, Publisher
from ..query import plans
from ..query.changed import Changes, KeyView
from ..query.kept import KeptQuery
from ..query.restricted import Keys
from ..query.states import OldStateGoneError
from ..spark.port import Spark, holding, under
from ..sql import sql_name, sql_names
from ..table.changed_files import ChangedFiles
from ..table.commits import total, written
from ..table.history import History, Snapshot, TableName
from .changelog import Bound, bound_of, files_within, useful
from .columns import Typed
from .kept_plan import Affected, KeptPlan, Summary
from .narrow_key import narrowed
from .replacement import TARGET

_STATIC = {"spark.sql.sources.partitionOverwriteMode": "static"}
_CASE_SENSITIVE = "spark.sql.caseSensitive"
_SETTINGS = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.ansi.enabled",
    "spark.sql.ansi.relationPrecedence",
    _CASE_SENSITIVE,
    "spark.sql.groupByOrdinal",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.session.timeZone",
    "spark.sql.timestampType",
)
"""Settings that decide what a query returns. Under others the table is rebuilt."""

_KEY = "DBT_INTERNAL_KEY"
_OF_VALUES = re.compile(r"SQLSTATE: 22")
"""In Spark's errors of values, such as a text that is no number, under ``spark.sql.ansi.enabled``."""


class PlainSqlWriter:
    """Writes one run of a table that is kept equal to its SQL.

    ``check``: raises where what was staged must not be published. ``checked``: gives the query of the rows of a
    relation that fails for a row which the table must not have.
    """

    def __init__(
        self,
        run: Run,
        spark: Spark,
        reader: MetadataReader,
        sources: Mapping[TableName, Source],
        check: Check,
        checked: Callable[[str], str] = "select * from {}".format,
    ) -> None:
        self._checked = checked
        self._run = run
        self._plan = run.plan
        self._spark = spark
        self._reader = reader
        self._sources = sources
        self._check = check
        self._publisher = Publisher(spark, reader)

    def reading_digest(self, kept: KeptQuery) -> str:
        """The digest of how a query is read, and of the settings that decide what it returns."""
        settings = self._spark.settings(_SETTINGS)
        parts = [kept.reading.qualified, version("sqlglot"), *(f"{key}={settings.get(key)}" for key in _SETTINGS)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    def require_read_alike(self, kept: KeptQuery) -> None:
        """Raise NotIncrementalError unless Spark reads the query as this package does."""
        if not is_read_alike(self._spark, kept):
            raise plain_sql_errors.read_differently(self._plan.model, map(str, kept.reading.tables.values()))

    def apply(self, plan: KeptPlan, query: str, columns: Sequence[Typed]) -> Published:
        """Carry out a plan: replace the affected rows, or all of them.

        ``query``: that of all rows. ``columns``: of the table, that the query gives values for.
        """
        if plan.choice.rebuilds:
            return self._rebuild(query, columns)
        if plan.added is not None:
            return self._append(plan.added, columns)
        if plan.affected is None or not plan.affected.keys.keys:
            return self._publisher.advance(self._run)
        return self._replace(plan.affected, columns)

    def _rebuild(self, query: str, columns: Sequence[Typed]) -> Published:
        """Replace all rows by those of the query, in one statement and in the same table."""
        self._run.plan = self._plan = replace(self._plan, reads_all=True)
        listed = sql_names([column.name for column in columns])
        sql = f"insert overwrite {self._staged} ({listed})\nselect {listed} from (\n{query}\n)"
        return self._publisher.apply(self._run, sql, _STATIC, None, self._check)

    @contextmanager
    def planned(self, kept: KeptQuery, columns: Sequence[Typed], *, counts_keys: bool = False) -> Iterator[KeptPlan]:
        """Which rows the sources' changes affect, and whether it is estimated to be cheaper to replace all of them.

        Meanwhile Spark holds the affected keys. Nothing is written.
        ``columns``: of the table, that the query gives values for. ``counts_keys``: whether to count the affected keys
        also where their number cannot change the choice.
        """
        with ExitStack() as held:
            yield self._planned(kept, columns, held, counts_keys=counts_keys)

    def _planned(self, kept: KeptQuery, columns: Sequence[Typed], held: ExitStack, *, counts_keys: bool) -> KeptPlan:
        if not kept.key:
            return KeptPlan(Choice(True, "each change affects all rows"))
        if self._plan.policy.rebuild_above == 0:
            return KeptPlan(Choice(True, "rebuild_above is 0"))
        try:
            # only rows that came can add rows alone, and to read the others costs something already
            came = all(source.only_came for source in self._sources.values() if source.has_changed)
            changes = self._changes(kept, {}) if came else None
            added = None if changes is None else kept.added(changes)
            if added is not None:
                return KeptPlan(Choice(False, "the sources only gained rows, which only add rows to the result"), added)
            reads = self._reads(kept)
            at_once = rebuild_at_once(reads) if self._plan.policy.rebuild_above is None else None
            if at_once is not None and not counts_keys:
                return KeptPlan(at_once)
            changes = changes or self._changes(kept, {})
            changes, views = self._affected(kept, changes, held)
        except OldStateGoneError:
            return KeptPlan(Choice(True, "the state at the checkpoint has expired"))
        types = {column.name.lower(): column.dtype for column in columns}
        try:
            for view in views:
                held.enter_context(holding(self._spark, view.name, view.sql))
            found = self._summary(views[-1].name, kept, [types[name.lower()] for name in kept.key])
        except StatementError as error:
            # changed rows meet rows of the other state here, so that it may fail where the query itself does not
            if _OF_VALUES.search(str(error)) is None:
                raise
            return KeptPlan(Choice(True, "to find the affected keys, its SQL fails for a value"))
        choice = at_once or (self._choice(kept, found, reads) if found.keys else Choice(False, "no row is affected"))
        if not choice.rebuilds:
            kept, found = narrowed(kept, found, self._spark)
        return KeptPlan(choice, None, Affected(kept, changes, found))

    def _append(self, added: str, columns: Sequence[Typed]) -> Published:
        listed = sql_names([column.name for column in columns])
        sql = f"insert into {self._staged} ({listed})\nselect {listed} from (\n{self._checked(added)}\n)"
        return self._publisher.apply(self._run, sql, {}, None, self._check)

    def files_affected(self, found: Summary) -> tuple[int, int] | None:
        """How many of the table's data files may have rows of some keys, by the bounds of these, of how many files.

        None where the files are too many to look at, or not known.
        """
        target = self._plan.target
        files = None if target is None else self._files(target, target.current)
        if files is None or files.files is None:
            return None
        return len(files_within(found.bounds, files)), len(files.files.all)

    @property
    def _staged(self) -> str:
        return f"{self._plan.name.sql}.{sql_name(f'branch_{self._plan.branch}')}"

    def _changes(self, kept: KeptQuery, views: Mapping[TableName, str]) -> Changes:
        """The changes of the query's parts. ``views``: those of sources' changes that are held."""
        exact = self._spark.scans
        states = {
            table: source.states(views.get(table) or source.changes_sql(exact) if source.has_changed else "")
            for table, source in self._sources.items()
        }
        return kept.changes(states, self._plan.branch)

    def _affected(self, kept: KeptQuery, changes: Changes, held: ExitStack) -> tuple[Changes, list[KeyView]]:
        """The views of the affected keys; of a source whose changes they read more than once, Spark keeps the rows."""
        name = f"{self._plan.branch}_keys"
        texts = "".join(view.sql for view in kept.affected(changes, name))
        views: dict[TableName, str] = {}
        for number, (table, source) in enumerate(self._sources.items()):
            if source.has_changed and texts.count(sql := source.changes_sql(self._spark.scans)) > 1:
                views[table] = f"{self._plan.branch}_changes_{number}"
                held.enter_context(holding(self._spark, views[table], f"select * from {sql}"))
        changes = self._changes(kept, views) if views else changes
        return changes, kept.affected(changes, name)

    def _summary(self, view: str, kept: KeptQuery, types: Sequence[str]) -> Summary:
        """What is known of the affected keys."""
        key, alone = kept.key, kept.alone if len(kept.key) > 1 else ()
        columns = [f"count(*) as {_KEY}"]
        columns += [f"count({sql_name(name)})" for name in key]
        bounded = [(name, type_) for name, type_ in zip(key, types, strict=True) if has_ends(type_)]
        for name, type_ in bounded:
            columns += ends_sql(type_, f"min({sql_name(name)})", f"max({sql_name(name)})")
        columns += [f"approx_count_distinct({sql_name(name)})" for name in alone]
        ((count, *rest),) = self._spark.rows(f"select {', '.join(columns)} from {view}")
        keys = int(str(count))
        present = dict(zip(key, (int(str(each)) for each in rest[: len(key)]), strict=True))
        ends = rest[len(key) :]
        found = []
        for place, (name, type_) in enumerate(bounded):
            low, high = ends[2 * place : 2 * place + 2]
            found.append(bound_of(name, type_, low, high, keys - present[name]))
        return Summary(
            view,
            keys,
            any(each < keys for each in present.values()),
            tuple(types),
            tuple(bound for bound in found if bound is not None),
            dict(zip(alone, (int(str(each)) for each in ends[2 * len(bounded) :]), strict=True)),
        )

    def _choice(self, kept: KeptQuery, found: Summary, reads: Reads) -> Choice:
        above = self._plan.policy.rebuild_above
        if above is not None and above < 1:
            listed = sql_names(kept.key)
            ((keys,),) = self._spark.rows(f"select count(*) from (select distinct {listed} from {self._plan.name.sql})")
            share = found.keys / max(int(str(keys)), 1)
            text = f"{found.keys:,} of {int(str(keys)):,} keys are affected, rebuild_above is {above:g}"
            return Choice(share > above, text)
        found_choice = choose(reads, found.keys)
        return replace(found_choice, rebuilds=False) if above == 1 else found_choice

    def _reads(self, kept: KeptQuery) -> Reads:
        """What both ways read and write."""
        target, tables = self._plan.target, kept.reading.tables.values()
        changed = {table: source for table, source in self._sources.items() if source.has_changed}
        views, scans = kept.scans(changed)
        return Reads(
            _rows(None if target is None else target.current),
            tuple(_rows(self._sources[table].planned.end) for table in tables),
            sum(source.rows_searched for source in changed.values()),
            views,
            tuple(scans[table] for table in tables),
        )

    def _replace(self, affected: Affected, columns: Sequence[Typed]) -> Published:
        """Delete the rows that have an affected key, and insert those that the query returns for these."""
        kept, changes, found = affected.kept, affected.changes, affected.keys
        hint = broadcast("ip_keys", found.keys, found.types)
        keys = Keys(found.view, (), found.nulls, self._bounds(kept, found), hint)
        listed = sql_names([column.name for column in columns])
        rows = self._checked(f"(\n{kept.rows_sql(changes, keys)}\n)")
        insert = f"insert into {self._staged} ({listed})\nselect {listed} from (\n{rows}\n)"
        published = self._publisher.apply(
            self._run, self._delete_sql(kept, found), {}, lambda target, commit: insert, self._check
        )
        return replace(published, rows=0 if published.snapshot is None else written(published.snapshot))

    def _delete_sql(self, kept: KeptQuery, found: Summary) -> str:
        target = self._plan.target
        files = None if target is None else self._files(target, target.current)
        alias = "ip_keys"
        same = same_key(TARGET, alias, kept.key, found.types, nulls=found.nulls)
        bounds = [bound.sql for bound in useful(found.bounds, files)]
        hint = broadcast(alias, found.keys, found.types)
        exists = f"exists (select {hint}1 from {found.view} as {alias} where {same})"
        return f"delete from {self._staged} as {TARGET} where {' and '.join([*bounds, exists])}"

    def _bounds(self, kept: KeptQuery, found: Summary) -> Any:
        """Gives the conditions by which a source's files can be told apart."""
        known = {bound.column.lower(): bound for bound in found.bounds}

        def bound(key: str, source: str, column: str) -> str | None:
            table, mine = kept.reading.tables.get(source), known.get(key.lower())
            if table is None or mine is None:
                return None
            files = self._files(self._sources[table].history, self._sources[table].planned.end)
            here = Bound(column, mine.sql, mine.interval)
            return mine.of_column(column) if files is not None and useful([here], files) else None

        return bound

    def _files(self, history: History, snapshot: Snapshot | None) -> ChangedFiles | None:
        """The files of a table at a snapshot; None where they are too many to look at, or not known."""
        if snapshot is None or snapshot.snapshot_id not in history.snapshots or total(snapshot)[0] > _MOST_FILES:
            return None
        return self._reader.data_files(history, FilesAt(snapshot.snapshot_id))


_MOST_FILES = 10_000


def _rows(snapshot: Snapshot | None) -> int:
    return 0 if snapshot is None else total(snapshot)[1]


def is_read_alike(spark: Spark, kept: KeptQuery) -> bool:
    """Whether Spark reads a query as this package does."""
    with under(spark, plans.SETTINGS):
        texts = (
            plans.numbered(kept.reading.text, kept.columns),
            plans.numbered(kept.reading.qualified, kept.reading.tree.named_selects),
        )
        cased = spark.settings((_CASE_SENSITIVE,)).get(_CASE_SENSITIVE, "").lower() == "true"
        explained = [str(spark.rows(plans.explain_sql(each))[0][0]) for each in texts]
    shown = [plans.canonical(each, case_sensitive=cased) for each in explained]
    return shown[0] is not None and shown[0] == shown[1]
