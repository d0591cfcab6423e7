"""Runs of tables that are kept equal to their SQL: what it reads, how Spark interprets it, and its plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ...capture.cuts import Cuts
from ...capture.reads import capture, has_same_columns
from ...capture.run import Run
from ...capture.run_plan import Read
from ...errors import NotIncrementalError, StatementError, ViewError
from ...explain import auto_errors, rebuild_reasons
from ...expose.source_states import Source
from ...metadata import MetadataReader
from ...metadata.describe import describe
from ...metadata.views import View, view_shown
from ...plan.learned import NOTHING
from ...plan.policy import OnNotIncremental
from ...plan.rebuild_cost import Choice
from ...publish.publisher import Check, Published
from ...query.plan import IncrementalQuery, incremental_query
from ...query.text.clock import ClockStates
from ...query.text.parsing import mentions, replaced
from ...query.text.refusal import Refusal, not_a_function
from ...spark.port import TIME_ZONE, Spark
from ...sql import sql_name
from ...table.clock import Clock, UnknownTimeZoneError
from ...table.history import TableName
from ..columns.table_columns import Column, SchemaChanges, key_columns
from ..columns.unique_keys import in_key_order_sql
from .auto_sql import AutoSql, auto_sql
from .read_alike import is_read_alike, reads_no_others
from .recorded_reading import compared_otherwise, note_no_update_method, note_update_method, reading_of, why_it_differs
from .update_plan import UpdatePlan, log_line
from .writer import AutoWriter

_ORDINALS = "spark.sql.orderByOrdinal"
"""The setting without which a LIMIT cannot be ordered by all columns."""
_DESCRIBED = re.compile(r'"sqlFunction\.createTime":"\d+"')
"""The time at which Spark describes a SQL function, although it has the name of another one."""


@dataclass(frozen=True)
class Synced:
    """The columns of a table under on_schema_change. ``written``: those that a run writes. ``columns``: all of them."""

    changes: SchemaChanges[Any]
    written: Sequence[Any]
    columns: Sequence[Any]


@dataclass(frozen=True)
class AutoRuns:
    """The runs of an invocation.

    ``catalog``: that of names without a catalog. ``clock``: returns the time of the invocation in a time zone.
    ``columns``: those of tables at a snapshot, by the SQL that reads it, if known. ``log``: logs a line.
    """

    spark: Spark
    reader: MetadataReader
    cuts: Cuts
    catalog: str
    clock: Callable[[str], Clock]
    columns: dict[str, Mapping[str, str]]
    log: Callable[[str], None]

    # The SQL

    def read(self, sql: str, parents: Collection[TableName] | None, functions: Collection[str]) -> AutoSql:
        """A table's SQL, with a refusal if it is not incremental. ``parents``, ``functions``: as in ``auto_sql``.

        Raises the errors of the metadata reader and of Spark.
        """
        return auto_sql(sql, self.catalog, parents, self._view, functions, self._definition)

    def _view(self, name: TableName) -> View | None:
        """The current definition of a view. None if it is not a view.

        Raises Refusal if the definition is unknown, and the errors of the metadata reader and of Spark.
        """
        try:
            self.cuts.of(name)
        except ViewError:
            pass
        else:
            return None
        return self.reader.view(name) or view_by_spark(self.spark, name)

    def _definition(self, function: str) -> str:
        """The definition of a function, as Spark shows it. Empty if it does not exist."""
        name = ".".join(map(sql_name, function.split(".")))
        try:
            rows = self.spark.rows(f"describe function extended {name}")
        except StatementError:  # the SQL that calls it fails with Spark's error
            return ""
        return _DESCRIBED.sub("", "\n".join(str(row[0]) for row in rows))

    def complete(self, plain: AutoSql) -> None:
        """Complete the orders of LIMIT in SQL, and give it the time of the invocation if it reads the clock.

        Raises ConfigError for an unknown time zone.
        """
        plain.complete(lambda table: self._columns_of_source(plain, table), self.catalog)
        if plain.clock_parts:
            zone = self.spark.settings((TIME_ZONE,)).get(TIME_ZONE)
            zone = zone or str(self.spark.rows("select current_timezone()")[0][0])
            try:
                plain.clock = ClockStates(self.clock(zone))
            except UnknownTimeZoneError as error:
                raise auto_errors.unknown_time_zone(str(error)) from error

    def kept(self, plain: AutoSql, types: Mapping[str, str], unique_key: Sequence[str]) -> IncrementalQuery:
        """How SQL is updated incrementally. ``types``: the types of its columns, in order.

        Raises Refusal, and ConfigError if ``unique_key`` names a column that the SQL does not return.
        """
        key_columns([Column(name, dtype) for name, dtype in types.items()], unique_key)
        if plain.refusal is not None:
            raise plain.refusal
        self._require_same_types(plain)
        named = dict.fromkeys([*plain.sources, *(each.relation for each in plain.mentions)])
        columns = {table: self._columns_of_source(plain, table) for table in named}

        def described(sql: str) -> Mapping[str, str]:
            named = mentions(sql, self.catalog)
            return self.columns_of(replaced(sql, named, [plain.relation(each.relation) for each in named]))

        return incremental_query(plain.sql, columns, self.catalog, types, unique_key, described, plain.functions)

    def columns_of(self, query: str) -> dict[str, str]:
        """The columns of a query with their Spark types."""
        return dict(self.spark.columns(query))

    def _columns_of_source(self, plain: AutoSql, table: TableName) -> Mapping[str, str]:
        """The columns of a table as a run reads it. Those of a snapshot are requested once per invocation."""
        relation, source = plain.relation(table), plain.sources.get(table)
        found = self.columns.get(relation)
        if found is None:
            found = self.columns_of(f"select * from {relation}")
            if source is not None and source.planned.end is not None:
                self.columns[relation] = found
        return found

    def _require_same_types(self, plain: AutoSql) -> None:
        """Raise Refusal for a view whose columns have other types than its query returns, because Spark casts them."""
        for name, (view, text) in plain.views.items():
            if list(self.columns_of(f"select * from {text}").values()) != list(view.columns.values()):
                raise Refusal(
                    f"the view {name}, whose query returns other types than when it was created",
                    None,
                    "create the view again",
                )

    # The captures

    def capture(self, run: Run, plain: AutoSql, tables: Collection[TableName] = ()) -> None:
        """Capture the changes of the relations in SQL. ``tables``: those that it reads if it cannot be parsed.

        Raises the errors of a capture.
        """
        named = {each.relation for each in plain.mentions} or set(tables)
        for table in sorted(named):
            run.plan = capture(run.plan, self.cuts, table, Read.NET)
        plan = run.plan
        for table in sorted(named):
            cut, planned = self.cuts.of(table), plan.changelogs[table]
            assert cut is not None
            same = plan.is_rebuild or has_same_columns(self.cuts, cut, planned)
            plain.sources = {**plain.sources, table: Source(planned, cut.history, same)}
        self.complete(plain)
        if plain.has_limit and self.spark.settings((_ORDINALS,)).get(_ORDINALS, "").lower() == "false":
            plain.refusal = not_a_function(f"LIMIT while {_ORDINALS} is false", None, f"set {_ORDINALS} to true")
        run.plan = replace(plan, differs=why_it_differs(plan, plain))
        _read_clock(run, plain)

    # The plan

    def kept_or_refused(self, run: Run, plain: AutoSql, types: Mapping[str, str]) -> IncrementalQuery | None:
        """How SQL is updated incrementally. None if it is not, and the policy is to rebuild.

        Raises NotIncrementalError otherwise.
        """
        try:
            return self.kept(plain, types, run.plan.policy.unique_key)
        except Refusal as refusal:
            if plain.refusal is None:
                plain.refusal = refusal
                self.refuse(run, refusal)
        note_no_update_method(run, plain)
        return None

    def refuse(self, run: Run, refusal: Refusal) -> None:
        """Raise NotIncrementalError for SQL that is not incremental, or log it if the policy is to rebuild."""
        self._note(run, auto_errors.not_incremental(run.plan.model, str(refusal), refusal.instead))

    def _note(self, run: Run, error: NotIncrementalError) -> None:
        if run.plan.policy.on_not_incremental is OnNotIncremental.FAIL:
            raise error
        self.log(error.msg)

    def built_rows(self, run: Run, plain: AutoSql, rows: str, types: Mapping[str, str], *, has_order: bool) -> str:
        """The query of a table that is built as a whole. It sorts the rows of a table without an order if that pays.

        ``rows``: as in ``all_rows``. ``types``: as in ``kept``. ``has_order``: whether the table has an order or
        partitions. Raises NotIncrementalError for SQL that is not updated incrementally, unless the policy is to
        rebuild, and the errors of Spark.
        """
        kept = self.kept_or_refused(run, plain, types)
        if kept is None or not self._is_read_alike(run, plain, kept):
            return rows
        note_update_method(run, plain, kept, reading_of(plain, kept, self.spark))
        rows = all_rows(run, plain, kept, rows)
        if has_order or not kept.key or not self.writer(run, plain).begin_build(kept):
            return rows
        return in_key_order_sql(f"({rows}\n)", kept.key)

    @contextmanager
    def planned(
        self, run: Run, plain: AutoSql | None, types: Mapping[str, str], synced: Synced, *, counts_keys: bool = False
    ) -> Iterator[UpdatePlan]:
        """The plan of a run's changes to a table, as in ``AutoWriter.planned``. Raises NotIncrementalError.

        ``types``: as in ``kept``.
        """
        kept = None if plain is None else self.kept_or_refused(run, plain, types)
        if plain is None or kept is None:
            yield self._rebuilt(run, "its SQL is not updated incrementally")
            return
        # with on_schema_change: ignore, the table may lack new columns
        kept = kept.keyed_by([column.name for column in synced.written])
        if not self._is_known(run, plain, kept):
            yield self._rebuilt(run, "Spark interprets its SQL differently")
            return
        reason = _reason_to_rebuild(run, kept, types, synced)
        if reason is not None:
            yield replace(self._rebuilt(run, reason), kept=kept)
            return
        if not run.plan.clock_moved and not any(each.has_changed for each in plain.sources.values()):
            yield UpdatePlan(Choice(False, "no source has new rows"))
            return
        with self.writer(run, plain).planned(kept, synced.written, counts_keys=counts_keys) as plan:
            yield plan

    def _rebuilt(self, run: Run, reason: str) -> UpdatePlan:
        run.state.learned = NOTHING  # about other SQL
        return UpdatePlan(Choice(True, reason))

    def _is_known(self, run: Run, plain: AutoSql, kept: IncrementalQuery) -> bool:
        """Whether Spark interprets the SQL as this package does: as in the last run, or as its plans show."""
        reading = reading_of(plain, kept, self.spark)
        note_update_method(run, plain, kept, reading)
        return run.plan.recorded_reading == reading or self._is_read_alike(run, plain, kept)

    def _is_read_alike(self, run: Run, plain: AutoSql, kept: IncrementalQuery) -> bool:
        """Whether Spark interprets SQL as this package does. If not, each change replaces all rows.

        Raises NotIncrementalError, as in ``refuse``, if Spark reads other relations.
        """
        model = run.plan.model
        if is_read_alike(self.spark, kept, plain.renamed):
            return True
        if reads_no_others(self.spark, kept):
            self.log(
                f"{model}: each change of a source replaces all rows, because Spark and sqlglot, the parser of this "
                "package, interpret its SQL differently. To update only the affected rows: qualify each column with "
                "the alias of its relation, add an alias to each computed column, and write explicit casts"
            )
        else:
            self._note(run, auto_errors.reads_others(model, map(str, kept.reading.tables.values())))
        note_no_update_method(run, plain)
        return False

    # The rows

    def apply(
        self, run: Run, plain: AutoSql, rows: str, types: Mapping[str, str], synced: Synced, writer: AutoWriter
    ) -> Published:
        """Update a table to the result of its SQL, with the checkpoint in the commit that publishes the rows.

        ``rows``: as in ``all_rows``. ``types``: as in ``kept``.
        """
        with self.planned(run, plain, types, synced) as plan:
            if plan.kept is not None:
                rows = all_rows(run, plain, plan.kept, rows)
            published = writer.apply(plan, rows, synced.written)
        self.log(log_line(run.plan.model, plan, run.state.way))
        return published

    def writer(
        self,
        run: Run,
        plain: AutoSql,
        check: Check = lambda: None,
        checked: Callable[[str], str] = "select * from {}".format,
    ) -> AutoWriter:
        """The writer of a table. ``check``, ``checked``: as in ``AutoWriter``; needed only if rows are written."""
        return AutoWriter(run, self.spark, self.reader, plain.sources, check, checked, plain.clock)


def all_rows(run: Run, plain: AutoSql, kept: IncrementalQuery, rows: str) -> str:
    """The query for all rows, as in ``IncrementalQuery``. ``rows``: a query that contains the text of the SQL.

    Raises RuntimeError if it does not.
    """
    sql = kept.all_rows_sql(plain.relation, plain.clock)
    if sql is None:
        return rows
    text = plain.pinned(plain.relation)
    if text not in rows:  # rows of incomplete windows would later be taken for those of complete ones
        raise RuntimeError(f"{run.plan.model}: its rows are not those of its SQL")
    return rows.replace(text, sql)


def view_by_spark(spark: Spark, name: TableName) -> View:
    """The current definition of a view. Raises Refusal if Spark does not show it, and the errors of Spark."""
    described = describe(spark.rows(f"describe table extended {name.sql}"))
    if "View Text" in described.details:
        instead = "create the view in an Iceberg catalog"
        raise Refusal(f"the view {name}, which Spark evaluates with the settings of its creation", None, instead)
    found = view_shown(described, str(spark.rows(f"show create table {name.sql}")[0][0]))
    if found is None:
        raise Refusal(f"the view {name}, which has a property with a line AS", None, "remove the property")
    return found


def _read_clock(run: Run, plain: AutoSql) -> None:
    """Compare the clock with that of the last run, and record it."""
    parts, plan = plain.clock_parts, run.plan
    if plain.clock is None:
        return
    now, recorded = plain.clock.new, None if plan.checkpoint is None else plan.checkpoint.clock
    plain.clock = ClockStates(now, None if recorded is None else recorded[0])
    try:
        moved = not plan.is_rebuild and bool(plain.clock.moved(parts))
    except UnknownTimeZoneError:  # of the last run, in another environment
        plain.clock, recorded, moved = ClockStates(now), None, not plan.is_rebuild
    run.state.clock = now, parts
    differs = plan.differs or (rebuild_reasons.UNKNOWN_TIME if moved and recorded is None else "")
    run.plan = replace(plan, clock_moved=moved, differs=differs)


def _reason_to_rebuild(run: Run, kept: IncrementalQuery, types: Mapping[str, str], synced: Synced) -> str | None:
    recorded = run.plan.recorded_reading
    if recorded != run.state.reading:
        differs = "its rows were written with another text of its SQL, view, session setting or version"
        return rebuild_reasons.UNKNOWN_TEXT if recorded is None else differs
    if synced.changes.alters:
        return rebuild_reasons.OTHER_SCHEMA
    if other := compared_otherwise(kept, types, synced.written):
        return f"its table has other types for {', '.join(other)} than its SQL returns"
    return run.plan.differs or None
