"""The errors of source freshness from metadata."""

from __future__ import annotations

from iceberg_incremental.errors import HistoryBreakError, NotIcebergError, SourceMissingError
from iceberg_incremental.explain.wording import described
from iceberg_incremental.table.history import Snapshot, TableName

_ASK_SPARK = "set loaded_at_field or loaded_at_query for this source, so that dbt queries Spark"


def freshness_of_no_table(source: TableName) -> SourceMissingError:
    """The source does not exist."""
    return SourceMissingError(
        f"The freshness of {source} is unknown, because the source does not exist.",
        expected="an Iceberg table.",
        found=f"no table or view of this name in catalog '{source.catalog}'.",
        fix="create the table, or correct the name (database is the catalog, schema the namespace) in the source's "
        "definition.",
    ).named("freshness-of-no-table")


def freshness_of_no_iceberg_table(error: NotIcebergError, source: TableName) -> NotIcebergError:
    """The source is a view, or a table of another format."""
    return NotIcebergError(
        f"The freshness of {source} cannot be read from metadata.",
        expected="an Iceberg table, whose commits have timestamps.",
        found=error.msg,
        fix=f"{_ASK_SPARK}.",
    ).named("freshness-of-no-iceberg-table")


def last_change_expired(source: TableName, known: Snapshot | None) -> HistoryBreakError:
    """The commit that last changed rows has expired. ``known``: the oldest commit that has not expired."""
    found = (
        "the current snapshot is not in the table's metadata"
        if known is None
        else f"it was before {described(known)}, the oldest commit that has not expired; no later commit changed rows"
    )
    return HistoryBreakError(
        f"The time at which rows of {source} last changed is no longer known.",
        expected="the last commit that changed rows, in the table's history or in an older metadata file.",
        found=f"{found}.",
        fix=f"{_ASK_SPARK}; or keep snapshots for longer than the source's error_after.",
    ).named("last-change-expired")
