"""What a run of plain SQL records about its text, by which later runs detect that it has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...capture.next_run import READS_OTHERS, other_view
from ...capture.run import Run
from ...capture.run_plan import RunPlan
from ...explain import rebuild_reasons
from ...query.plan import IncrementalQuery
from ...spark.port import Spark
from ...table.types import compares_alike
from ..columns.table_columns import Typed
from .auto_sql import AutoSql
from .read_alike import reading_digest
from .update_method import update_method_text

_NOT_INCREMENTAL = "not-incremental"
"""Recorded instead of the digest of a query that is not updated incrementally."""


def note_update_method(run: Run, plain: AutoSql, kept: IncrementalQuery, reading: str) -> None:
    """Record in the run's commit how the table is updated incrementally. ``reading``: how the SQL is interpreted."""
    _note(run, plain, reading, update_method_text(kept))


def note_no_update_method(run: Run, plain: AutoSql) -> None:
    """Record in the run's commit that the table is not updated incrementally, and a digest of its SQL."""
    kind = READS_OTHERS if plain.reads_others else _NOT_INCREMENTAL
    _note(run, plain, f"{kind} {plain.text_digest}", "")


def _note(run: Run, plain: AutoSql, reading: str, update_method: str) -> None:
    run.state.reading, run.state.update_method = reading, update_method
    run.state.definitions = plain.definitions


def reading_of(plain: AutoSql, kept: IncrementalQuery, spark: Spark) -> str:
    """How SQL is interpreted: a digest of the query with the relevant settings, and a digest of its text."""
    return f"{reading_digest(spark, kept)} {plain.text_digest}"


def _text_has_changed(plan: RunPlan, plain: AutoSql) -> bool:
    """Whether SQL or its views differ from those with which a table's rows were written, or may differ."""
    return plan.recorded_reading is None or plan.recorded_reading.rpartition(" ")[2] != plain.text_digest


def compared_otherwise(kept: IncrementalQuery, types: Mapping[str, str], columns: Sequence[Typed]) -> list[str]:
    """The key columns whose types in the table compare values differently from those of the SQL.

    ``types``: the types of the columns of the SQL. ``columns``: the columns of the table.
    """
    known = {column.name.lower(): column.dtype for column in columns}
    return [name for name in kept.key if not compares_alike(types[name], known[name.lower()])]


def why_it_differs(plan: RunPlan, plain: AutoSql) -> str:
    """``RunPlan.differs`` after the capture of the sources."""
    if plan.is_rebuild:
        return ""
    view = other_view(plan.recorded_definitions, lambda name: _definition(plain, name))
    if view is not None:
        return rebuild_reasons.other_definition(view)
    if plan.recorded_reading is None:
        return rebuild_reasons.UNKNOWN_TEXT
    if _text_has_changed(plan, plain):
        return rebuild_reasons.OTHER_TEXT
    new = [table for table, source in plain.sources.items() if source.planned.start is None]
    if new:
        return f"its SQL did not read {', '.join(map(str, new))} before"
    if plain.reads_others:
        return rebuild_reasons.OTHER_RELATION
    if not plan.is_as_left:
        return rebuild_reasons.OTHER_WRITER
    if plan.altered is not None:
        return rebuild_reasons.other_table(plan.altered)
    altered = [table for table, source in plain.sources.items() if not source.has_same_columns]
    return rebuild_reasons.other_columns(altered) if altered else ""


def _definition(plain: AutoSql, name: str) -> str | None:
    """The digest of a view that SQL reads. Empty if the name is now that of a table, and None if it is not read."""
    tables = {str(table) for table in plain.sources}
    return plain.definitions.get(name, "" if name in tables else None)
