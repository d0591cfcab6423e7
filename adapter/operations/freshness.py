"""``dbt source freshness`` without a scan: when the rows of a source last changed, by its metadata."""

from __future__ import annotations

from datetime import datetime, timezone

from iceberg_incremental.errors import NotIcebergError
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.table.history import TableName
from iceberg_incremental.table.last_change import Forgotten, last_change

from . import freshness_errors


def last_modified(reader: MetadataReader, source: TableName) -> datetime | None:
    """The time (UTC) of the last commit that changed rows of a table; None where it never had any.

    Raises SourceMissingError, NotIcebergError, HistoryBreakError where that commit has expired, and
    MetadataAccessError.
    """
    try:
        history = reader.load(source)
    except NotIcebergError as error:
        raise freshness_errors.freshness_of_no_iceberg_table(error, source) from error
    if history is None:
        raise freshness_errors.freshness_of_no_table(source)
    found = last_change(history, reader.older(history))
    if isinstance(found, Forgotten):
        raise freshness_errors.last_change_forgotten(source, found.known)
    return None if found is None else datetime.fromtimestamp(found.timestamp_ms / 1000, timezone.utc)
