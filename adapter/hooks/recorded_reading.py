"""What a run of plain SQL records about its text, by which later runs detect that it has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbt.adapters.base.column import Column

from iceberg_incremental.capture.next_run import READS_OTHERS, other_view
from iceberg_incremental.explain import rebuild_reasons
from iceberg_incremental.query.plan import IncrementalQuery
from iceberg_incremental.query.text.refusal import OtherRelation
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.table.types import compares_alike
from iceberg_incremental.write.auto.read_alike import reading_digest

from ..project.auto_sql import AutoSql
from ..project.graph import Node
from ..project.own_table import reads_itself
from ..status.explanation import update_method_text
from .invocation import ModelRun

_NOT_INCREMENTAL = "not-incremental"
"""Recorded instead of the digest of a query that is not updated incrementally."""


def note_update_method(found: ModelRun, kept: IncrementalQuery, reading: str) -> None:
    """Record in the run's commit how the table is updated incrementally. ``reading``: how the SQL is interpreted."""
    _note(found, reading, update_method_text(kept))


def note_no_update_method(found: ModelRun) -> None:
    """Record in the run's commit that the table is not updated incrementally, and a digest of its SQL."""
    assert found.plain is not None
    kind = READS_OTHERS if found.plain.reads_others else _NOT_INCREMENTAL
    _note(found, f"{kind} {found.plain.text_digest}", "")


def _note(found: ModelRun, reading: str, update_method: str) -> None:
    state = found.run.state
    state.reading, state.update_method = reading, update_method
    state.definitions = {} if found.plain is None else found.plain.definitions


def reading_of(found: ModelRun, kept: IncrementalQuery, spark: Spark) -> str:
    """How a model's SQL is interpreted: a digest of the query with the relevant settings, and a digest of its text."""
    assert found.plain is not None
    return f"{reading_digest(spark, kept)} {found.plain.text_digest}"


def text_has_changed(found: ModelRun) -> bool:
    """Whether a model's compiled SQL or its views differ from those with which its rows were written, or may differ."""
    plain, recorded = found.plain, found.run.plan.recorded_reading
    if plain is None or found.run.plan.is_rebuild:
        return False
    return recorded is None or recorded.rpartition(" ")[2] != plain.text_digest


def compared_otherwise(kept: IncrementalQuery, types: Mapping[str, str], columns: Sequence[Column]) -> list[str]:
    """The key columns whose types in the table compare values differently from those of the SQL.

    ``types``: the types of the columns of the SQL. ``columns``: the columns of the table.
    """
    known = {column.name.lower(): column.dtype for column in columns}
    return [name for name in kept.key if not compares_alike(types[name], known[name.lower()])]


def why_it_differs(found: ModelRun, node: Node) -> str:
    """``RunPlan.differs`` of a captured model. Notes whether its SQL names other relations."""
    plain = found.plain
    if plain is not None and isinstance(plain.refusal, OtherRelation):
        plain.reads_others = not reads_itself(node, found.run.plan.name)
    if found.run.plan.is_rebuild:
        return ""
    sources = {} if plain is None else plain.sources
    view = other_view(found.run.plan.recorded_definitions, lambda name: _definition(plain, name))
    if view is not None:
        return rebuild_reasons.other_definition(view)
    if plain is not None and found.run.plan.recorded_reading is None:
        return rebuild_reasons.UNKNOWN_TEXT
    if text_has_changed(found):
        return rebuild_reasons.OTHER_TEXT
    new = [table for table, source in sources.items() if source.planned.start is None]
    if new:
        return f"its SQL did not read {', '.join(map(str, new))} before"
    if plain is not None and plain.reads_others:
        return rebuild_reasons.OTHER_RELATION
    if not found.run.plan.is_as_left:
        return rebuild_reasons.OTHER_WRITER
    if found.run.plan.altered is not None:
        return rebuild_reasons.other_table(found.run.plan.altered)
    altered = [table for table, source in sources.items() if not source.has_same_columns]
    return rebuild_reasons.other_columns(altered) if altered else ""


def _definition(plain: AutoSql | None, name: str) -> str | None:
    """The digest of a view that SQL reads. Empty if the name is now that of a table, and None if it is not read."""
    if plain is None:
        return None
    tables = {str(table) for table in plain.sources}
    return plain.definitions.get(name, "" if name in tables else None)
