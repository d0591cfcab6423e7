"""``dbt source freshness`` for sources without ``loaded_at_field``, from metadata alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.impl import FreshnessResponse
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.errors import NotIcebergError
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.table.commits import LastChangeExpired, last_change
from iceberg_incremental.table.history import TableName

from ..as_dbt import raising_dbts
from ..relations.many import over_many
from . import operation_errors

logger = AdapterLogger("SparkIceberg")


def of_many(adapter: Any, sources: Sequence[BaseRelation]) -> dict[BaseRelation, FreshnessResponse]:
    """The freshness of many sources, over separate connections.

    A source that fails is omitted. dbt then requests it separately, and shows its error.
    """
    found: dict[BaseRelation, FreshnessResponse] = {}
    with adapter.connection_named("freshness"):  # dbt calls this method without a connection
        results = over_many(adapter, "freshness", sources, lambda source: of_one(adapter, source))
    for source, result in results:
        if isinstance(result, DbtRuntimeError):
            logger.debug(f"The freshness is unknown for {source}: {result}")
        else:
            found[source] = result
    return found


@raising_dbts
def of_one(adapter: Any, source: BaseRelation) -> FreshnessResponse:
    """The freshness of one source. Raises the errors of ``last_modified``."""
    modified = last_modified(adapter.metadata_reader(), adapter.lookup.table_name(source))
    # dbt treats None as infinitely long ago
    found: FreshnessResponse = adapter._create_freshness_response(modified, datetime.now(timezone.utc))
    return found


def last_modified(reader: MetadataReader, source: TableName) -> datetime | None:
    """The time (UTC) of the last commit that changed rows of a table. None if it never had any.

    Raises SourceMissingError, NotIcebergError, MetadataAccessError, and HistoryBreakError if that commit has expired.
    """
    try:
        history = reader.load(source)
    except NotIcebergError as error:
        raise operation_errors.freshness_of_no_iceberg_table(error, source) from error
    if history is None:
        raise operation_errors.freshness_of_no_table(source)
    found = last_change(history, reader.older(history))
    if isinstance(found, LastChangeExpired):
        raise operation_errors.last_change_expired(source, found.known)
    return None if found is None else datetime.fromtimestamp(found.timestamp_ms / 1000, timezone.utc)
