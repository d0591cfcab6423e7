"""A job, which updates a target table from the changes of its sources."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..capture.cuts import Cuts
from ..capture.logic_change import Logic
from ..capture.next_run import NextRun, next_plain_run, next_run
from ..capture.open import open_run, require_same_order
from ..capture.run import Run
from ..capture.run_plan import Action, RunPlan
from ..capture.target_checkpoint import target_checkpoint
from ..errors import IncrementalError
from ..explain import job_errors, wording
from ..explain.caller import Caller, called_by
from ..expose.captures import Captures
from ..expose.value_range import ValueRange
from ..metadata import MetadataReader
from ..metadata.open import open_reader
from ..plan.configs import FLAG, choice
from ..plan.policy import Policy, Strategy
from ..plan.ranges import PER_COMMIT, PER_RANGE
from ..publish.publisher import Published
from ..publish.source_holds import SourceHolds
from ..spark.port import require_settings
from ..spark.session import SessionSpark
from ..table.history import TableName
from ..write.writer import Writer
from . import options
from .auto import AutoRun, Query, tables_of
from .output import Output, TableOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


logger = logging.getLogger(__name__)

_PER = choice(PER_RANGE, PER_COMMIT)

Columns = str | Sequence[str]
"""The name of a column, or several names."""


@dataclass(frozen=True)
class _Write:
    """The rows to write at the end of a run. ``method``: the name of the called method."""

    method: str
    frame: DataFrame


class JobRun:
    """The reads and writes of one run of a job. Its methods raise IncrementalErrors.

    All sources are read as of the same time. Nothing is written before the run ends.
    """

    def __init__(
        self,
        plan: RunPlan,
        cuts: Cuts,
        session: SparkSession,
        spark: SessionSpark,
        reader: MetadataReader,
        layout: TableOptions,
    ) -> None:
        self._run = Run(plan)
        self._cuts = cuts
        self._session = session
        self._spark = spark
        self._reader = reader
        self._layout = layout
        self._write: _Write | None = None
        self._has_ended = False
        self._refreshed: set[TableName] = set()
        self.published: Published | None = None
        """The run's commit. None before the end of the run, or if there was nothing to commit."""

    @property
    def plan(self) -> RunPlan:
        """The plan of the run, with its captures so far."""
        return self._run.plan

    @property
    def is_rebuild(self) -> bool:
        """Whether the run builds the whole table: in the first run, with ``full_refresh``, or because of a policy."""
        return self.plan.is_rebuild

    @property
    def has_changes(self) -> bool:
        """Whether the captured sources have rows to process."""
        return self.plan.action in (Action.APPLY, Action.REBUILD)

    # Reading

    def changes(self, source: str) -> DataFrame:
        """The new rows of a source since the last run, as returned by ``ip_changes``. In a rebuild, all rows."""
        return self._frame(self._captures("changes").changes(self._table(source)))

    def changelog(self, source: str, unique_key: Columns = (), *, per: str = PER_RANGE) -> DataFrame:
        """The changes of a source's rows, with ``_change_type``, as returned by the macro ``ip_changelog``.

        ``per``: ``range`` for the net changes since the last run; ``commit`` for the changes of each commit, with
        ``_commit_snapshot_id``, ``_commit_timestamp`` and ``_commit_order``. Raises ConfigError for another value.
        """
        per, key = options.accepted("per", per, _PER), options.columns("unique_key", unique_key)
        return self._frame(self._captures("changelog").changelog(self._table(source), key, per))

    def signed_changes(self, source: str) -> DataFrame:
        """The added and removed rows, with ``_change_sign`` 1 and -1, as returned by ``ip_signed_changes``."""
        return self._frame(self._captures("signed_changes").signed_changes(self._table(source)))

    def as_of(self, source: str) -> DataFrame:
        """All rows of a source, as of the time of the run."""
        return self._frame(self._captures("as_of").as_of(self._table(source)))

    def changed_groups(self, source: str, keys: Columns, changes_of: str | Sequence[str] = ()) -> DataFrame:
        """All rows of a source whose ``keys`` equal those of a changed row of ``changes_of``, by default the source.

        The run replaces whole groups, so it must ``merge`` by a key that contains these columns.
        """
        names, table = options.columns("keys", keys), self._table(source)
        changing = self._tables("changes_of", changes_of) or [table]
        policy = replace(self.plan.policy, strategy=Strategy.MERGE, unique_key=tuple(names), replaces_rows=True)
        self._run.plan = replace(self.plan, policy=policy)
        captures = self._captures("changed_groups")
        return self._frame(captures.changed_groups(table, names, changing))

    def value_range(self, source: str | Sequence[str], column: str) -> ValueRange:
        """The bounds of a column in the changes of one or more sources, as returned by the macro ``ip_range``."""
        sources, name = self._tables("source", source), options.column("column", column)
        return self._captures("value_range").value_range(sources, name)

    # Writing

    def append(self, frame: DataFrame) -> None:
        """Insert rows."""
        self._will("append", frame, Strategy.APPEND)

    def merge(self, frame: DataFrame, key: Columns, *, sequence_by: Columns = ()) -> None:
        """Insert rows, and delete existing rows with the same ``key``.

        With ``sequence_by``, rows that are older than the existing row of their key are ignored.
        """
        self._will("merge", frame, Strategy.MERGE, key, sequence_by)

    def overwrite_partitions(self, frame: DataFrame) -> None:
        """Replace all partitions that contain new rows by the new rows."""
        self._will("overwrite_partitions", frame, Strategy.INSERT_OVERWRITE)

    def apply_changes(self, frame: DataFrame, key: Columns, *, sequence_by: Columns = ()) -> None:
        """Insert, update and delete rows by ``key``, according to their ``_change_type``."""
        self._will("apply_changes", frame, Strategy.APPLY_CHANGES, key, sequence_by)

    # End

    def publish(self) -> None:
        """Write and publish the rows and the position. Called at the end of the block.

        Other jobs in threads of the same session wait meanwhile. Raises StagingError if the run captured rows but
        called no method that writes.
        """
        with self._spark.alone():
            self._publish()

    def _publish(self) -> None:
        plan = self.plan
        if not plan.captured:
            if self._write is not None:
                raise job_errors.nothing_captured(plan.model)
            return
        if self._write is None and plan.action in (Action.APPLY, Action.REBUILD):
            raise job_errors.nothing_written(plan.model, plan.captured.keys())
        appends = plan.policy.strategy is Strategy.APPEND and plan.reads_whole_tables
        if self._write is not None and appends and not self._reads_target(self._write.frame):
            logger.warning(wording.appends_whole_tables(plan.model))
        require_settings(self._spark, plan.model)
        holds = SourceHolds(self._run, self._spark, self._reader)
        holds.hold()
        writer = Writer(self._run, self._spark, self._reader, reads_own_table=True)
        if plan.action is Action.REBUILD and self._write is not None:
            self.published = self._output(writer).build(self._write.frame)
        elif plan.action is Action.APPLY and self._write is not None:
            if self._reads_target(self._write.frame):
                # The code of the job may have computed rows at any time since the run began, and cannot run again.
                self._run.state.own_rows = plan.target
            self.published = self._output(writer).apply(self._write.frame)
        else:
            self.published = writer.finish()
        holds.release()

    def close(self) -> None:
        """Release the run's temporary views and held rows in Spark.

        Called at the end of the block, including after an error.
        """
        self._has_ended = True
        self._spark.close()

    def _reads_target(self, frame: DataFrame) -> bool:
        """Whether rows are computed from rows of the target, as far as their plan shows."""
        name = re.escape(f"{self.plan.name.namespace}.{self.plan.name.name}".lower())
        return re.search(rf"(?<!\w){name}(?!\w)", self._spark.plan_of(frame).replace("`", "").lower()) is not None

    def _output(self, writer: Writer) -> Output:
        return Output(self._run, writer, self._spark, self._reader, self._layout)

    def _will(
        self, method: str, frame: DataFrame, strategy: Strategy, key: Columns = (), sequence_by: Columns = ()
    ) -> None:
        """Store the rows to write, and set the strategy. Raises ConfigError if the call is not allowed in this run."""
        plan = self.plan
        self._require_open()
        options.require_frame(method, frame)
        names, order = options.columns("key", key), options.columns("sequence_by", sequence_by)
        if self._write is not None:
            raise job_errors.written_twice(plan.model, self._write.method, method)
        if strategy.is_keyed and not names:
            raise job_errors.wrong_argument("key", key, "the column, or the columns, that identify a row")
        if plan.groups is not None and not {each.lower() for each in plan.groups.keys} <= {
            each.lower() for each in names if strategy is Strategy.MERGE and not sequence_by
        }:
            raise job_errors.key_without_groups(plan.model, names, plan.groups.keys)
        policy = replace(
            plan.policy,
            strategy=strategy,
            unique_key=tuple(names),
            sequence_by=tuple(order),
            replaces_rows=strategy.is_keyed,
        )
        self._run.plan = replace(plan, policy=policy)
        if plan.checkpoint is not None:
            require_same_order(self._run.plan, plan.checkpoint)
        self._write = _Write(method, frame)

    def _captures(self, method: str) -> Captures:
        self._require_open()
        return Captures(method, self._run, self._cuts, self._spark, self._types_of)

    def _types_of(self, table: TableName) -> dict[str, str]:
        schema: Any = self._session.table(table.sql).schema
        return {field.name: field.dataType.simpleString() for field in schema.fields}

    def _frame(self, relation: str) -> DataFrame:
        return self._session.sql(f"select * from {relation}")

    def _table(self, name: str) -> TableName:
        return self._current(options.table("source", name))

    def _tables(self, argument: str, names: object) -> list[TableName]:
        return [*map(self._current, options.tables(argument, names))]

    def _current(self, table: TableName) -> TableName:
        if table not in self._refreshed:
            self._refreshed.add(table)
            self._spark.refresh(table)
        return table

    def _require_open(self) -> None:
        if self._has_ended:
            raise job_errors.run_has_ended(self.plan.model)


class Job:
    """A PySpark job that writes one table incrementally.

    A run continues from the previous run, and captures all sources as of the same time. It publishes its rows and the
    position in one Iceberg commit. The position has the same format as that of this package's dbt models. If the
    ``name`` of a job is the unique id of a model, the job and the model can continue each other's table.
    """

    def __init__(
        self,
        spark: SparkSession,
        target: str,
        *,
        name: str | None = None,
        on_source_rewrite: str = "fail",
        on_history_break: str | Mapping[str, str] | None = None,
        on_missing_checkpoint: str = "fail",
        on_schema_change: str = "fail",
        max_snapshots_per_run: int | None = None,
        max_bytes_per_run: int | None = None,
        hold_source: timedelta | str | None = None,
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        metadata_reader: str = "auto",
        catalog_properties: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Create a job. Nothing is read yet.

        ``target``: the table as ``catalog.namespace.table``. ``name``: the name of the writer, by default
        ``job.<target>``. ``on_source_rewrite``, ``on_history_break``, ``on_missing_checkpoint``, ``on_schema_change``,
        ``max_snapshots_per_run``, ``max_bytes_per_run``, ``hold_source``: as the configs with these names in dbt
        models. ``partitioned_by``, ``properties``: the partitioning and properties of a table that a run creates.
        ``metadata_reader``: ``auto``, ``pyiceberg`` or ``spark``. ``catalog_properties``: PyIceberg's properties by
        catalog, if they cannot be derived from Spark's settings. Raises ConfigError for an invalid name or option.
        """
        self._target = options.table("target", target)
        self._name = name or f"job.{self._target}"
        self._options: dict[str, object] = dict(  # noqa: C408 (keywords, as in the signature)
            on_source_rewrite=on_source_rewrite,
            on_history_break=on_history_break,
            on_missing_checkpoint=on_missing_checkpoint,
            on_schema_change=on_schema_change,
            max_snapshots_per_run=max_snapshots_per_run,
            max_bytes_per_run=max_bytes_per_run,
            hold_source=hold_source,
        )
        configs = options.configs(self._name, **self._options)
        self._policy = configs.policy()
        self._layout = TableOptions(configs.on_schema_change, tuple(partitioned_by), dict(properties or {}))
        self._session = spark
        self._spark = SessionSpark(spark)
        self._reader: MetadataReader = open_reader(
            metadata_reader,
            self._spark.all_settings,
            catalog_properties or {},
            self._spark.rows,
            beside_spark=self._spark.is_in_process,
        )

    def run(self, *, full_refresh: bool = False, sources: Sequence[str] = ()) -> AbstractContextManager[JobRun]:
        """One run, as ``with job.run() as run:``.

        The rows written in the block are published at its end, unless the block raises an error.

        ``full_refresh``: whether to rebuild the table from all rows of the sources. ``sources``: the tables to read.
        The first run needs this list to read all tables as of the same time. Later runs find the tables in the
        checkpoint. The block raises the errors of ``open_run``, and of the run's methods.
        """
        return _Block(self._run(full_refresh, sources))

    @contextmanager
    def _run(self, full_refresh: object, sources: object) -> Iterator[JobRun]:
        with called_by(Caller.JOB):
            rebuilds = options.accepted("full_refresh", full_refresh, FLAG)
            cuts = Cuts(lambda: self._reader)
            given = options.sources(sources)
            cuts.take_together(lambda: {*self._known_sources(), *given})
            plan = self._opened(cuts, full_refresh=rebuilds)
            if plan.target is not None:
                self._spark.refresh(self._target)
            run = JobRun(plan, cuts, self._session, self._spark, self._reader, self._layout)
            try:
                yield run
                run.publish()
            finally:
                run.close()

    @called_by(Caller.JOB)
    def auto(
        self,
        sql: str,
        *,
        unique_key: Columns = (),
        rebuild_above: float | None = None,
        on_not_incremental: str = "fail",
        deterministic_functions: Columns = (),
        full_refresh: bool = False,
    ) -> Published | None:
        """Update the table to the result of a query, as in a dbt model with ``incremental_strategy: auto``.

        ``sql``: a SELECT over tables and views of the catalog. All are read as of the same time. ``unique_key``,
        ``rebuild_above``, ``on_not_incremental``, ``deterministic_functions``: as the configs with these names.
        ``full_refresh``: as in ``run``. Returns None if there was nothing to commit. Raises NotIncrementalError for SQL
        that cannot be updated incrementally, ConfigError for a wrong argument, Spark's error for wrong SQL, and the
        errors of ``run``.
        """
        text, rebuilds = options.text("sql", sql), options.accepted("full_refresh", full_refresh, FLAG)
        configs = options.configs(
            self._name,
            **self._options,
            incremental_strategy="auto",
            unique_key=unique_key,
            rebuild_above=rebuild_above,
            on_not_incremental=on_not_incremental,
            deterministic_functions=deterministic_functions,
        )
        query, policy = Query(text, configs.deterministic_functions), configs.policy()
        cuts, catalog = Cuts(lambda: self._reader), str(self._session.catalog.currentCatalog())
        named = tables_of(query, catalog)
        with self._spark.alone():
            cuts.take_together(lambda: {*self._known_sources(), *named})
            for table in named:
                self._spark.refresh(table)
            try:
                run = AutoRun(query, cuts, self._spark, self._reader, catalog)
                plan = self._opened(cuts, full_refresh=rebuilds, policy=policy, logic=run.logic)
                if plan.target is not None:
                    self._spark.refresh(self._target)
                return run.update(plan, self._layout)
            finally:
                self._spark.close()

    @called_by(Caller.JOB)
    def status(self) -> NextRun:
        """The plan of the next run, from metadata only. Raises the errors of ``open_run``."""
        cuts = Cuts(lambda: self._reader)
        cuts.take_together(self._known_sources)
        plan = self._opened(cuts)
        if plan.recorded_reading is None:
            return next_run(plan, cuts, self._known_sources())
        policy = replace(plan.policy, strategy=Strategy.AUTO)  # as in the last run
        return next_plain_run(replace(plan, policy=policy), cuts, self._known_sources(), self._reader)

    def _opened(
        self, cuts: Cuts, *, full_refresh: bool = False, policy: Policy | None = None, logic: Logic | None = None
    ) -> RunPlan:
        return open_run(
            self._reader,
            cuts,
            model=self._name,
            target=self._target,
            policy=policy or self._policy,
            invocation_id=str(uuid.uuid4()),
            full_refresh=full_refresh,
            logic=logic,
        )

    def _known_sources(self) -> list[TableName]:
        """The tables that the last run read. Empty if they cannot be determined."""
        try:
            target = self._reader.load(self._target)
            checkpoint = None if target is None else target_checkpoint(target, self._reader).checkpoint
        except IncrementalError:
            return []  # opening the run reports the error
        names = () if checkpoint is None else checkpoint.sources
        return [table for name in names if (table := TableName.parse(name)) is not None]


class _Block(AbstractContextManager[JobRun]):
    """A run that begins with its ``with`` block. Without one, its methods raise an error that says so."""

    def __init__(self, run: AbstractContextManager[JobRun]) -> None:
        self._run = run

    def __enter__(self) -> JobRun:
        return self._run.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._run.__exit__(kind, error, trace)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(JobRun, name):
            raise job_errors.run_without_block(name)
        raise AttributeError(name)
