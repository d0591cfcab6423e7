"""The methods for models with the strategy ``auto``: ``adapter.ip.auto``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from dbt.adapters.base.column import Column
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.capture.reads import capture, has_same_columns
from iceberg_incremental.capture.run_plan import Read
from iceberg_incremental.errors import NotIncrementalError, StatementError, ViewError
from iceberg_incremental.explain import auto_errors, rebuild_reasons
from iceberg_incremental.expose.source_states import Source
from iceberg_incremental.metadata.describe import describe
from iceberg_incremental.metadata.views import View, view_shown
from iceberg_incremental.plan.configs import ModelConfigs
from iceberg_incremental.plan.learned import NOTHING
from iceberg_incremental.plan.policy import OnNotIncremental
from iceberg_incremental.plan.rebuild_cost import Choice
from iceberg_incremental.publish.publisher import Published
from iceberg_incremental.query.plan import IncrementalQuery, incremental_query
from iceberg_incremental.query.text.clock import ClockStates
from iceberg_incremental.query.text.parsing import mentions, replaced, spark_text, without_end
from iceberg_incremental.query.text.refusal import OtherRelation, Refusal, not_a_function
from iceberg_incremental.spark.port import TIME_ZONE, Spark
from iceberg_incremental.sql import sql_name
from iceberg_incremental.table.clock import UnknownTimeZoneError
from iceberg_incremental.table.history import TableName
from iceberg_incremental.write.auto.read_alike import is_read_alike, reads_no_others
from iceberg_incremental.write.auto.update_plan import UpdatePlan, log_line
from iceberg_incremental.write.auto.writer import AutoWriter
from iceberg_incremental.write.columns.table_columns import Column as Written
from iceberg_incremental.write.columns.table_columns import key_columns, require_readable
from iceberg_incremental.write.columns.unique_keys import in_key_order_sql

from ..project.auto_sql import AutoSql, auto_sql
from ..project.graph import Node
from ..project.own_table import reads_itself
from ..relations.contracts import select_list
from ..relations.relation import SparkIcebergColumn
from .adapter import Adapter
from .audit import AuditHooks
from .invocation import Invocations, ModelContext, ModelRun, Namespace
from .recorded_reading import compared_otherwise, note_no_update_method, note_update_method, reading_of, why_it_differs

logger = AdapterLogger("SparkIceberg")


_ORDINALS = "spark.sql.orderByOrdinal"
"""The setting without which a LIMIT cannot be ordered by all columns."""


_DESCRIBED = re.compile(r'"sqlFunction\.createTime":"\d+"')
"""The time at which Spark describes a SQL function, although it has the name of another one."""


class AutoHooks(Namespace):
    """Models whose tables always equal the result of their SQL."""

    def __init__(self, adapter: Adapter, invocations: Invocations, audits: AuditHooks) -> None:
        super().__init__(adapter, invocations)
        self._audits = audits

    def capture(self, compiled_code: str, context: Mapping[str, Any]) -> None:
        """Capture the changes of the relations in a model's compiled SQL.

        Raises NotIncrementalError unless the policy is to rebuild, Spark's error for wrong SQL, and the errors of a
        capture.
        """
        model = ModelContext(**context)
        found = self._invocations.of("auto", model)
        if model.partial:
            found.run.plan = replace(found.run.plan, passes_through=True)
            return
        found.plain = plain = self.read(compiled_code, model)
        refusal = plain.refusal
        fails = found.run.plan.policy.on_not_incremental is OnNotIncremental.FAIL
        names_itself = isinstance(refusal, OtherRelation) and reads_itself(model.node, found.run.plan.name)
        if found.run.plan.name in {each.relation for each in plain.mentions} or (fails and names_itself):
            raise auto_errors.reads_own_table(model.unique_id)
        if refusal is not None:
            # Otherwise only a rebuild sends the SQL to Spark, and a run without new commits sends no statement.
            if fails or not self._invocations.tables_of(model):
                require_valid_sql(self._adapter, plain.sql, model.node)
            self._refuse(found, refusal)
        self.capture_sources(found, plain, model)
        if refusal is None and plain.refusal is not None:  # of a LIMIT, or of a column that reads the clock
            self._refuse(found, plain.refusal)

    def read(self, compiled_code: str, model: ModelContext) -> AutoSql:
        """A model's SQL, with a refusal if it is not incremental.

        Raises the errors of the metadata reader and of Spark.
        """
        functions = ModelConfigs(model.node["config"]).deterministic_functions
        tables = self._invocations.tables_of(model)
        return auto_sql(compiled_code, self._catalog, tables, self._view, functions, self._definition)

    def capture_sources(self, found: ModelRun, plain: AutoSql, model: ModelContext) -> None:
        """Capture the changes of the relations in a model's SQL. Raises the errors of a capture."""
        cuts = self._invocations.current().cuts
        named = {each.relation for each in plain.mentions} or set(self._invocations.tables_of(model))
        for table in sorted(named):
            found.run.plan = capture(found.run.plan, cuts, table, Read.NET)
        plan = found.run.plan
        for table in sorted(named):
            cut, planned = cuts.of(table), plan.changelogs[table]
            assert cut is not None
            same = plan.is_rebuild or has_same_columns(cuts, cut, planned)
            plain.sources = {**plain.sources, table: Source(planned, cut.history, same)}
        self.complete(plain)
        if plain.has_limit and self._adapter.spark.settings((_ORDINALS,)).get(_ORDINALS, "").lower() == "false":
            plain.refusal = not_a_function(f"LIMIT while {_ORDINALS} is false", None, f"set {_ORDINALS} to true")
        found.run.plan = replace(plan, differs=why_it_differs(found, model.node))
        self._read_clock(found, plain)

    def complete(self, plain: AutoSql) -> None:
        """Complete the orders of LIMIT in SQL, and give it the time of the invocation if it reads the clock.

        Raises ConfigError for an unknown time zone.
        """
        plain.complete(lambda table: self._columns_of_source(plain, table), self._catalog)
        if plain.clock_parts:
            spark = self._adapter.spark
            zone = spark.settings((TIME_ZONE,)).get(TIME_ZONE) or str(spark.rows("select current_timezone()")[0][0])
            try:
                plain.clock = ClockStates(self._invocations.clock(zone))
            except UnknownTimeZoneError as error:
                raise auto_errors.unknown_time_zone(str(error)) from error

    def _read_clock(self, found: ModelRun, plain: AutoSql) -> None:
        """Compare the clock with that of the last run, and record it."""
        parts, plan = plain.clock_parts, found.run.plan
        if plain.clock is None:
            return
        now, recorded = plain.clock.new, None if plan.checkpoint is None else plan.checkpoint.clock
        plain.clock = ClockStates(now, None if recorded is None else recorded[0])
        try:
            moved = not plan.is_rebuild and bool(plain.clock.moved(parts))
        except UnknownTimeZoneError:  # of the last run, in another environment
            plain.clock, recorded, moved = ClockStates(now), None, not plan.is_rebuild
        found.run.state.clock = now, parts
        differs = plan.differs or (rebuild_reasons.UNKNOWN_TIME if moved and recorded is None else "")
        found.run.plan = replace(plan, clock_moved=moved, differs=differs)

    @property
    def _catalog(self) -> str:
        """The catalog of names without a catalog."""
        return str(self._adapter.config.credentials.database)

    def _view(self, name: TableName) -> View | None:
        """The current definition of a view. None if it is not a view.

        Raises Refusal if the definition is unknown, and the errors of the metadata reader and of Spark.
        """
        try:
            self._invocations.current().cuts.of(name)
        except ViewError:
            pass
        else:
            return None
        return self._adapter.metadata_reader().view(name) or view_by_spark(self._adapter.spark, name)

    def _definition(self, function: str) -> str:
        """The definition of a function, as Spark shows it. Empty if it does not exist."""
        name = ".".join(map(sql_name, function.split(".")))
        try:
            rows = self._adapter.spark.rows(f"describe function extended {name}")
        except StatementError:  # the SQL that calls it fails with Spark's error
            return ""
        return _DESCRIBED.sub("", "\n".join(str(row[0]) for row in rows))

    def query(self, node: Node, compiled_code: str) -> str:
        """A model's SQL, with each relation pinned at the invocation's cut."""
        plain = self._invocations.opened(node).plain
        if plain is None:  # with --empty and --sample
            text = without_end(compiled_code)
            with suppress(Refusal):
                return spark_text(text)
            return text
        return plain.pinned(plain.relation)

    def columns(self, query: str) -> list[Column]:
        """The columns of a query. Raises the errors of Spark."""
        return [SparkIcebergColumn(name, type_) for name, type_ in self._adapter.spark.columns(query)]

    def built_rows(self, node: Node, rows: str) -> str:
        """The query of a table that is built as a whole. It sorts the rows of a table without an order if that pays.

        Raises NotIncrementalError for SQL that is not updated incrementally, unless the policy is to rebuild, and the
        errors of Spark.
        """
        found = self._invocations.opened(node)
        columns = self.columns(rows)
        require_readable(columns, node["unique_id"], replaces_rows=True)
        kept = self._kept(found, self._types(found, node, columns))
        if kept is None:
            return rows
        if not self._is_read_alike(found, kept):
            return rows
        note_update_method(found, kept, reading_of(found, kept, self._adapter.spark))
        rows = self.all_rows(found, kept, rows)
        has_order = bool(node["config"].get("partition_by") or node["config"].get("sort_by"))
        if has_order or not kept.key or not self._writer(found).begin_build(kept):
            return rows
        return in_key_order_sql(f"({rows}\n)", kept.key)

    def all_rows(self, found: ModelRun, kept: IncrementalQuery, rows: str) -> str:
        """The query for all rows, as in ``IncrementalQuery``. ``rows``: that of the model's text, with a contract."""
        plain = found.plain
        sql = None if plain is None else kept.all_rows_sql(plain.relation, plain.clock)
        if plain is None or sql is None:
            return rows
        text = plain.pinned(plain.relation)
        if text not in rows:  # rows of incomplete windows would later be taken for those of complete ones
            raise RuntimeError(f"{found.run.plan.model}: its rows are not those of its SQL")
        return rows.replace(text, sql)

    def apply(self, node: Node, query: str, given: Sequence[Column], synced: Mapping[str, Any]) -> Published:
        """Update a model's table to the result of its SQL, with the checkpoint in the commit that publishes the rows.

        ``query``: returns all rows. ``given``: its columns. ``synced``: the table's columns under on_schema_change.
        """
        found = self._invocations.opened(node)
        with self.planned(found, self._types(found, node, given), synced) as plan:
            rows = query if plan.kept is None else self.all_rows(found, plan.kept, query)
            published = self._writer(found, node).apply(plan, rows, synced["written"])
        logger.info(log_line(found.run.plan.model, plan, found.run.state.way))
        return published

    @contextmanager
    def planned(
        self, found: ModelRun, types: Mapping[str, str], synced: Mapping[str, Any], *, counts_keys: bool = False
    ) -> Iterator[UpdatePlan]:
        """The plan of a run's changes to a model's table, as in ``AutoWriter.planned``. Raises NotIncrementalError.

        ``types``: the types of the columns of its SQL, in order. ``synced``: the table's columns under
        on_schema_change.
        """
        kept = self._kept(found, types)
        if kept is not None:  # with on_schema_change: ignore, the table may lack new columns
            kept = kept.keyed_by([column.name for column in synced["written"]])
        reason: str | None = "its SQL is not updated incrementally"
        if kept is not None and not self._is_known(found, kept):
            kept, reason = None, "Spark interprets its SQL differently"
        if kept is not None:
            reason = self._reason_to_rebuild(found, kept, types, synced)
        if kept is None or reason is not None:
            found.run.state.learned = NOTHING  # about other SQL
            yield UpdatePlan(Choice(True, reason or ""), kept=kept)
            return
        has_changed = found.run.plan.clock_moved or (
            found.plain is not None and any(each.has_changed for each in found.plain.sources.values())
        )
        if found.plain is not None and not has_changed:
            yield UpdatePlan(Choice(False, "no source has new rows"))
            return
        with self._writer(found).planned(kept, synced["written"], counts_keys=counts_keys) as plan:
            yield plan

    def files_affected(self, found: ModelRun, plan: UpdatePlan) -> tuple[int, int] | None:
        """The number of the table's data files that may contain affected rows, and of all its data files.

        None if unknown.
        """
        return None if plan.keys is None else self._writer(found).files_affected(plan.keys)

    def _is_known(self, found: ModelRun, kept: IncrementalQuery) -> bool:
        """Whether Spark interprets the SQL as this package does: as in the last run, or as its plans show."""
        reading = reading_of(found, kept, self._adapter.spark)
        note_update_method(found, kept, reading)
        return found.run.plan.recorded_reading == reading or self._is_read_alike(found, kept)

    def _reason_to_rebuild(
        self, found: ModelRun, kept: IncrementalQuery, types: Mapping[str, str], synced: Mapping[str, Any]
    ) -> str | None:
        recorded = found.run.plan.recorded_reading
        if recorded != found.run.state.reading:
            differs = "its rows were written with another text of its SQL, view, session setting or version"
            return rebuild_reasons.UNKNOWN_TEXT if recorded is None else differs
        if synced["changes"].alters:
            return rebuild_reasons.OTHER_SCHEMA
        if other := compared_otherwise(kept, types, synced["written"]):
            return f"its table has other types for {', '.join(other)} than its SQL returns"
        return found.run.plan.differs or None

    def _is_read_alike(self, found: ModelRun, kept: IncrementalQuery) -> bool:
        """Whether Spark interprets the model's SQL as this package does. If not, each change replaces all rows.

        Raises NotIncrementalError, as in _note, if Spark reads other relations.
        """
        spark, model = self._adapter.spark, found.run.plan.model
        if is_read_alike(spark, kept, {} if found.plain is None else found.plain.renamed):
            return True
        if reads_no_others(spark, kept):
            logger.info(
                f"{model}: each change of a source replaces all rows, because Spark and sqlglot, the parser of this "
                "package, interpret its SQL differently. To update only the affected rows: qualify each column with "
                "the alias of its relation, add an alias to each computed column, and write explicit casts"
            )
        else:
            self._note(found, auto_errors.reads_others(model, map(str, kept.reading.tables.values())))
        note_no_update_method(found)
        return False

    def kept(self, plain: AutoSql, types: Mapping[str, str], unique_key: Sequence[str]) -> IncrementalQuery:
        """How SQL is updated incrementally. ``types``: the types of its columns, in order.

        Raises Refusal, and ConfigError if ``unique_key`` names a column that the SQL does not return.
        """
        key_columns([Written(name, dtype) for name, dtype in types.items()], unique_key)
        if plain.refusal is not None:
            raise plain.refusal
        self._require_same_types(plain)
        named = dict.fromkeys([*plain.sources, *(each.relation for each in plain.mentions)])
        columns = {table: self._columns_of_source(plain, table) for table in named}

        def describe(sql: str) -> Mapping[str, str]:
            named = mentions(sql, self._catalog)
            return self.columns_of(replaced(sql, named, [plain.relation(each.relation) for each in named]))

        return incremental_query(plain.sql, columns, self._catalog, types, unique_key, describe, plain.functions)

    def _columns_of_source(self, plain: AutoSql, table: TableName) -> Mapping[str, str]:
        """The columns of a table as a run reads it. Those of a snapshot are requested once per invocation."""
        relation, source = plain.relation(table), plain.sources.get(table)
        known = self._invocations.current().columns
        found = known.get(relation)
        if found is None:
            found = self.columns_of(f"select * from {relation}")
            if source is not None and source.planned.end is not None:
                known[relation] = found
        return found

    def columns_of(self, query: str) -> dict[str, str]:
        """The columns of a query with their Spark types."""
        return {column.name: column.dtype for column in self.columns(query)}

    def _types(self, found: ModelRun, node: Node, given: Sequence[Column]) -> Mapping[str, str]:
        """The types of the columns of a model's SQL, in order. ``given``: the columns of the rows that it writes."""
        contract = node["config"].get("contract") or {}
        if found.plain is not None and contract.get("enforced"):  # the rows have the columns in the contract's order
            return self.columns_of(found.plain.pinned(found.plain.relation))
        return {column.name: column.dtype for column in given}

    def _kept(self, found: ModelRun, types: Mapping[str, str]) -> IncrementalQuery | None:
        """How the model's SQL is updated incrementally. None if it is not, and the policy is to rebuild."""
        plain = found.plain
        if plain is None:
            return None
        try:
            return self.kept(plain, types, found.run.plan.policy.unique_key)
        except Refusal as refusal:
            if plain.refusal is None:
                plain.refusal = refusal
                self._refuse(found, refusal)
        note_no_update_method(found)
        return None

    def _require_same_types(self, plain: AutoSql) -> None:
        """Raise Refusal for a view whose columns have other types than its query returns, because Spark casts them."""
        for name, (view, text) in plain.views.items():
            if list(self.columns_of(f"select * from {text}").values()) != list(view.columns.values()):
                raise Refusal(
                    f"the view {name}, whose query returns other types than when it was created",
                    None,
                    "create the view again",
                )

    def _refuse(self, found: ModelRun, refusal: Refusal) -> None:
        self._note(found, auto_errors.not_incremental(found.run.plan.model, str(refusal), refusal.instead))

    def _note(self, found: ModelRun, error: NotIncrementalError) -> None:
        """Raise the error for SQL that is not updated incrementally, or log it if the policy is to rebuild."""
        if found.run.plan.policy.on_not_incremental is OnNotIncremental.FAIL:
            raise error
        logger.info(error.msg)

    def _writer(self, found: ModelRun, node: Node | None = None) -> AutoWriter:
        """The writer of a model's table. ``node``: the model with its contract; needed only if rows are written."""
        assert found.plain is not None
        contract = {} if node is None else node["config"].get("contract") or {}
        listed = ", ".join(select_list(node)) if node is not None and contract.get("enforced") else "*"
        return AutoWriter(
            found.run,
            self._adapter.spark,
            self._adapter.metadata_reader(),
            found.plain.sources,
            lambda: self._audits.judge_staged(found),
            lambda rows: f"select {listed} from {rows} as model_subq",
            found.plain.clock,
        )


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


_VIEW = "ip_analyzed"
_UNKNOWN_NAMES = ("TABLE_OR_VIEW_NOT_FOUND", "UNRESOLVED_ROUTINE")
"""Spark's errors for the name of a relation or function that does not exist."""


def require_valid_sql(adapter: Adapter, sql: str, node: Node) -> None:
    """Raise Spark's error for SQL that Spark does not accept as a query. The query is only analyzed.

    A name that Spark does not know is no error if the model has a hook or a header, which may define it later.
    """
    config = node["config"]
    defines_names = bool(config.get("pre-hook") or config.get("sql_header"))
    try:
        adapter.execute(f"create or replace temporary view {sql_name(_VIEW)} as\n{sql}")
    except DbtDatabaseError as error:
        if not (defines_names and any(name in str(error) for name in _UNKNOWN_NAMES)):
            raise
