"""One run of a job whose table is kept equal to the result of a query."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..capture.cuts import Cuts
from ..capture.run import Run
from ..capture.run_plan import Action, RunPlan
from ..explain import auto_errors
from ..metadata import MetadataReader
from ..plan.policy import OnNotIncremental
from ..publish.publisher import Published
from ..publish.source_holds import SourceHolds
from ..query.text.parsing import mentions, spark_text, without_end
from ..query.text.refusal import OtherRelation, Refusal
from ..spark.port import require_settings
from ..spark.session import SessionSpark
from ..table.clock import Clock, now_in, require_zone
from ..table.history import TableName
from ..write.auto.auto_runs import AutoRuns
from ..write.columns.table_columns import Column, require_readable
from ..write.writer import Writer
from .output import Output, TableOptions

logger = logging.getLogger(__name__)
_QUERY = "query-"


@dataclass(frozen=True)
class Query:
    """The SQL of a table, and the deterministic functions of the user's that it may call."""

    sql: str
    functions: Collection[str] = ()


@dataclass(frozen=True)
class QueryLogic:
    """A query as the logic of a table, as in ``capture.logic_change.Logic``."""

    digest: str

    @property
    def fingerprint(self) -> str:
        """The digest of the query, its views and functions."""
        return f"{_QUERY}{self.digest}"

    def encoded(self) -> str | None:
        """None: the text is not stored."""
        return None

    def is_comparable(self, fingerprint: str) -> bool:
        """Whether the table was written by a job. Whether that of a model has the same SQL is compared later."""
        return fingerprint.startswith(_QUERY)

    def differences_since(self, recorded: str | None, fingerprint: str) -> Sequence[str]:
        """Unknown, because the text is not stored."""
        return ()


def tables_of(query: Query, catalog: str) -> list[TableName]:
    """The relations that a query names. Empty if it cannot be parsed. ``catalog``: that of names without one."""
    with suppress(Refusal):
        return [each.relation for each in mentions(spark_text(without_end(query.sql)), catalog)]
    return []


class AutoRun:
    """A run. ``catalog``: that of names without a catalog. Raises the errors of ``AutoRuns.read``."""

    def __init__(self, query: Query, cuts: Cuts, spark: SessionSpark, reader: MetadataReader, catalog: str) -> None:
        self._spark, self._reader, self._now = spark, reader, now_in("UTC")
        self._auto = AutoRuns(spark, reader, cuts, catalog, self._clock, {}, logger.info)
        self._plain = self._auto.read(query.sql, None, query.functions)
        self.logic = QueryLogic(self._plain.text_digest)

    def update(self, plan: RunPlan, layout: TableOptions) -> Published | None:
        """Update the table to the result of the query. None if there was nothing to commit.

        Raises NotIncrementalError, the errors of a capture and of publishing, and the errors of Spark.
        """
        run = Run(plan)
        self._capture(run)
        require_settings(self._spark, run.plan.model)
        holds = SourceHolds(run, self._spark, self._reader)
        holds.hold()
        writer = Writer(run, self._spark, self._reader, reads_own_table=False)
        output = Output(run, writer, self._spark, self._reader, layout)
        published: Published | None
        if run.plan.action is Action.REBUILD:
            published = self._build(run, output)
        elif run.plan.action is Action.APPLY:
            published = self._apply(run, output)
        else:
            published = writer.finish()
        holds.release()
        return published

    def _capture(self, run: Run) -> None:
        """Capture the changes of what the query reads."""
        plain, model, refusal = self._plain, run.plan.model, self._plain.refusal
        if run.plan.name in {each.relation for each in plain.mentions}:
            raise auto_errors.reads_own_table(model)
        if refusal is not None:
            if run.plan.policy.on_not_incremental is OnNotIncremental.FAIL or not plain.mentions:
                self._spark.columns(plain.sql)  # Spark's error for wrong SQL is clearer
            if not plain.mentions:  # the tables that it reads are unknown
                is_unknown = isinstance(refusal, OtherRelation)
                instead = "name a table or view of a catalog, with its schema" if is_unknown else refusal.instead
                raise auto_errors.not_incremental(model, str(refusal), instead)
            self._auto.refuse(run, refusal)
        self._auto.capture(run, plain)
        if refusal is None and plain.refusal is not None:  # of a LIMIT, or of a column that reads the clock
            self._auto.refuse(run, plain.refusal)

    def _clock(self, zone: str) -> Clock:
        """The time of the run in a time zone. Raises UnknownTimeZoneError."""
        return Clock(self._now.instant, require_zone(zone))

    def _build(self, run: Run, output: Output) -> Published | None:
        rows = self._plain.pinned(self._plain.relation)
        types = self._auto.columns_of(rows)
        require_readable(_columns(types), run.plan.model, replaces_rows=True)
        fields = output.fields
        return output.created(self._auto.built_rows(run, self._plain, rows, types, has_order=bool(fields)), fields)

    def _apply(self, run: Run, output: Output) -> Published:
        rows = self._plain.pinned(self._plain.relation)
        types = self._auto.columns_of(rows)
        synced = output.synced(_columns(types))
        output.alter(synced)
        return self._auto.apply(run, self._plain, rows, types, synced, self._auto.writer(run, self._plain))


def _columns(types: Mapping[str, str]) -> list[Column]:
    return [Column(name, type_) for name, type_ in types.items()]
