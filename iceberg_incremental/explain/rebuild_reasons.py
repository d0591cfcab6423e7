"""Why a table is built as a whole, as the log and ``ip_status`` say it."""

from __future__ import annotations

from ..errors import NotIcebergError
from ..plan.breaks import Break
from ..plan.changes import Rewritten
from ..table.history import TableName
from .wording import reason_text, rewrites

FIRST_BUILD = "first build"
FULL_REFRESH = "full refresh"
REPLACED_BY_A_VIEW = "a view is in the place of its table, as dbt clone makes it; the table replaces it"
PARTIAL_BUILD = "first build: the table was built under --empty or --sample"


def no_iceberg_table(error: NotIcebergError) -> str:
    """A table of another format is in the place of the model's."""
    return f"first build: {error}"


def no_checkpoint(target: TableName) -> str:
    """A policy rebuilds a table that has no checkpoint."""
    return f"{target} has no current checkpoint."


def logic_changed(after: int) -> str:
    """A policy rebuilds a table of other logic."""
    return f"its logic has changed since run {after}."


def of_source(source: str, found: Break | Rewritten) -> str:
    """A policy rebuilds the model for what happened to a source."""
    if isinstance(found, Break):
        return f"{source}: {reason_text(found)} ({found.cause.value})."
    return f"{source}: {rewrites(found)}."
