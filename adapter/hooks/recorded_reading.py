"""What a run of plain SQL records about its text, by which later runs detect that it has changed."""

from __future__ import annotations

from iceberg_incremental.query.incremental_query import IncrementalQuery
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.write.read_alike import reading_digest

from ..status.explanation import update_method_text
from .invocation import ModelRun

_NOT_INCREMENTAL = "not-incremental"
"""Recorded instead of the digest of a query that is not updated incrementally."""


def note_update_method(found: ModelRun, kept: IncrementalQuery, reading: str) -> None:
    """Record in the run's commit how the table is updated incrementally. ``reading``: how the SQL is interpreted."""
    found.run.state.reading, found.run.state.update_method = reading, update_method_text(kept)


def note_no_update_method(found: ModelRun) -> None:
    """Record in the run's commit that the table is not updated incrementally, and a digest of its SQL."""
    assert found.plain is not None
    found.run.state.reading, found.run.state.update_method = f"{_NOT_INCREMENTAL} {found.plain.text_digest}", ""


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
