"""The columns and statistics of a table for ``dbt docs generate``, from its metadata alone."""

from __future__ import annotations

from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.target_checkpoint import target_checkpoint
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.describe import Description, Stats
from iceberg_incremental.table.checkpoint import KEY
from iceberg_incremental.table.history import History, TableName
from iceberg_incremental.table.layout import Layout

from ..hooks import report
from .table_stats import table_stats

logger = AdapterLogger("SparkIceberg")


def documentation(reader: MetadataReader, table: TableName) -> tuple[Description | None, Stats]:
    """A table's columns and comments, and its statistics with the current checkpoint, from its metadata.

    The description is None if the metadata lacks it or cannot be read.
    """
    try:
        found = reader.load_with_layout(table)
    except IncrementalError as error:
        logger.debug(f"The columns of {table} are read from Spark instead of metadata: {error}")
        return None, {}
    if found is None:
        return None, {}
    history, layout = found
    stats = {**table_stats(history, layout), **_checkpoint_stats(history, reader)}
    return None if layout is None else _described(layout, history), stats


def _checkpoint_stats(history: History, reader: MetadataReader) -> Stats:
    if KEY not in history.properties:
        return {}
    try:
        checkpoint = target_checkpoint(history, reader).checkpoint
    except IncrementalError as error:
        logger.debug(f"The documentation omits the checkpoint of {history.table}: {error}")
        return {}
    return {} if checkpoint is None else report.stats(checkpoint)


def _described(layout: Layout, history: History) -> Description:
    details = {"Comment": "comment", "Owner": "owner"}
    return Description(
        layout.columns,
        {name: history.properties[key] for name, key in details.items() if key in history.properties},
    )
