"""The reasons for a rebuild, and for comparing whole tables in a dbt snapshot, in the log and in ``ip_status``."""

from __future__ import annotations

from collections.abc import Collection

from ..plan.breaks import Break
from ..plan.changes import Rewritten
from ..table.history import TableName
from .wording import reason_text, rewrites

FIRST_BUILD = "first build"
FULL_REFRESH = "full refresh"
REPLACED_BY_A_VIEW = "a view has the name of its table, as after dbt clone; the table replaces it"
PARTIAL_BUILD = "first build: the table was built with --empty or --sample"
OTHER_TEXT = "its rows were written with another text of its SQL"
UNKNOWN_TEXT = "the SQL that wrote its rows is unknown, as after ip_set_checkpoint"
OTHER_SCHEMA = "on_schema_change alters its columns"
UNKNOWN_TIME = "the time that its SQL read in the last run is unknown"
OTHER_WRITER = "another writer has changed rows of its table since its last run"
OTHER_RELATION = "its SQL names a relation whose changes are not captured"


def of_source(source: str, found: Break | Rewritten) -> str:
    """A policy rebuilds the model after a change in a source."""
    if isinstance(found, Break):
        return f"{source}: {reason_text(found)} ({found.cause.value})."
    return f"{source}: {rewrites(found)}."


def other_definition(view: str) -> str:
    """A view that plain SQL reads was replaced, dropped or created."""
    return f"the definition of the view {view} has changed"


def other_table(altered: Collection[str]) -> str:
    """Another writer may have altered columns of the table. ``altered``: their names; empty if that is unknown."""
    return f"its columns have changed ({', '.join(altered)})" if altered else "its columns may have changed"


def other_columns(sources: Collection[TableName]) -> str:
    """The columns of sources have changed, so the same rows may have other values."""
    return f"the columns of {', '.join(map(str, sources))} have changed"


FIRST_RUN = "its table has no checkpoint yet"
OTHER_MODEL = "the checkpoint of its table belongs to another node"
OTHER_LOGIC = "its SQL, its config, a setting of the session or the version of a package has changed"
OTHER_SOURCE = "its checkpoint is for another source table"
TABLE_CHANGED = "its table has changed since the checkpoint, by another writer or by a run that left no checkpoint"
TABLE_ALTERED = "the columns of its table have changed since the checkpoint, or are unknown"
SOURCE_NOT_COMMITTED = "the columns of the table that it reads have changed since its newest commit, or are unknown"
SOURCE_ALTERED = "the columns of the table that it reads have changed since the checkpoint"
REPEATED_KEYS = "the query returns several rows of a unique_key"
NULL_KEYS = "the query returns NULL in unique_key"
DIVIDED_KEYS = "a column of unique_key contains '|', which dbt uses as a separator in the ids of versions"
