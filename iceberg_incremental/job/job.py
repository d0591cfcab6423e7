"""A job: a target table, and the runs that keep it up to date from what is new in its sources."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..capture.cuts import Cuts
from ..capture.next_run import NextRun, next_run
from ..capture.open import open_run
from ..capture.run_plan import RunPlan
from ..capture.target_checkpoint import target_checkpoint
from ..errors import IncrementalError
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
    """A job of PySpark that writes one table, incrementally.

    A run captures one consistent cut of its sources, from where the last one has ended; it publishes its rows and the
    position in one Iceberg commit. The position is the one that dbt models of this package keep: a job that has the
    ``name`` of such a model, its unique id, continues its table, and the model continues the job's.
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
        hold_source: timedelta | None = None,
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        metadata_reader: str = "auto",
        catalog_properties: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Set up a job; nothing is read yet.

        ``target``: as ``catalog.namespace.table``. ``name``: who writes it, ``job.<target>`` by default.
        ``on_source_rewrite``, ``on_history_break``, ``on_missing_checkpoint``, ``on_schema_change``,
        ``max_snapshots_per_run``, ``max_bytes_per_run``, ``hold_source``: as the configs of a dbt model of these names.
        ``partitioned_by``, ``properties``: of the table where a run creates it. ``metadata_reader``: ``auto``,
        ``pyiceberg`` or ``spark``; ``catalog_properties``: PyIceberg's, by catalog, where Spark's do not suffice.
        Raises ConfigError for a name or an option that is not known.
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

    @contextmanager
    def run(self, *, full_refresh: bool = False, sources: Sequence[str] = ()) -> Iterator[JobRun]:
        """One run: what is written in the block is published where it ends, and nothing if it raises.

        ``full_refresh``: whether the table is built anew from all rows of the sources. ``sources``: the tables that
        are read, so that even a first run sees them all as of one moment; later ones know them from the last.
        Raises as ``open_run`` does, and as the methods of the run do.
        """
        with called_by(Caller.JOB):
            cuts = Cuts(lambda: self._reader)
            given = [options.table("source", each) for each in sources]
            cuts.take_together(lambda: {*self._known_sources(), *given})
            plan = self._opened(cuts, full_refresh=full_refresh)
            run = JobRun(plan, cuts, self._session, self._spark, self._reader, self._layout)
            try:
                yield run
                run.publish()
            finally:
                run.close()

    @called_by(Caller.JOB)
    def status(self) -> NextRun:
        """The plan of the next run, by metadata alone. Raises as ``open_run`` does."""
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
        """The tables that the last run has read."""
        try:
            target = self._reader.load(self._target)
            checkpoint = None if target is None else target_checkpoint(target, self._reader).checkpoint
        except IncrementalError:
            return []  # opening the run says what is wrong
        names = () if checkpoint is None else checkpoint.sources
        return [table for name in names if (table := TableName.parse(name)) is not None]
