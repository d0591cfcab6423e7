"""A job, which updates a target table from the changes of its sources."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..capture.cuts import Cuts
from ..capture.next_run import NextRun, next_run
from ..capture.open import open_run
from ..capture.run_plan import RunPlan
from ..capture.target_checkpoint import target_checkpoint
from ..errors import IncrementalError
from ..explain import job_errors
from ..explain.caller import Caller, called_by
from ..metadata import MetadataReader
from ..metadata.open import open_reader
from ..spark.session import SessionSpark
from ..table.history import TableName
from . import options
from .job_run import JobRun
from .output import TableOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        self._policy = options.policy(
            on_source_rewrite,
            on_history_break,
            on_missing_checkpoint,
            max_snapshots_per_run,
            max_bytes_per_run,
            hold_source,
        )
        self._layout = TableOptions(
            options.schema_policy(on_schema_change), tuple(partitioned_by), dict(properties or {})
        )
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
            rebuilds = options.flag("full_refresh", full_refresh)
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
    def status(self) -> NextRun:
        """The plan of the next run, from metadata only. Raises the errors of ``open_run``."""
        cuts = Cuts(lambda: self._reader)
        cuts.take_together(self._known_sources)
        return next_run(self._opened(cuts), cuts, self._known_sources())

    def _opened(self, cuts: Cuts, *, full_refresh: bool = False) -> RunPlan:
        return open_run(
            self._reader,
            cuts,
            model=self._name,
            target=self._target,
            policy=self._policy,
            invocation_id=str(uuid.uuid4()),
            full_refresh=full_refresh,
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
