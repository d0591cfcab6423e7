"""The columns and statistics of a table for ``dbt docs generate``, from its metadata alone."""

from __future__ import annotations

from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.capture.target_checkpoint import target_checkpoint
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.describe import Description, Stats
from iceberg_incremental.quantities import instant
from iceberg_incremental.table.checkpoint import KEY, UPDATE_METHOD_KEY
from iceberg_incremental.table.commits import LastChangeExpired, last_change
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.layout import Layout
from iceberg_incremental.table.row_counts import RowCount, rows_at

from ..hooks import report

logger = AdapterLogger("SparkIceberg")
_TOTALS = {
    "files": ("Data Files", "total-data-files", "Data files of the current snapshot"),
    "delete_files": (
        "Delete Files",
        "total-delete-files",
        "Delete files and deletion vectors of the current snapshot: a compaction removes them",
    ),
    "bytes": ("Size in Bytes", "total-files-size", "Bytes of the current snapshot's data and delete files"),
}


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


def table_stats(history: History, layout: Layout | None) -> Stats:
    """A table's statistics. Statistics that the metadata lacks are omitted."""
    return {
        "format_version": ("Format Version", history.format_version, "Version of the Iceberg format"),
        **_layout_stats(layout),
        "snapshots": ("Snapshots", len(history.snapshots), "Snapshots on all branches that have not expired"),
        **_totals(history),
        **_row_stats(history),
        **_last_modified(history),
        **_update_method(history),
    }


def _update_method(history: History) -> Stats:
    text = history.properties.get(UPDATE_METHOD_KEY)
    return {"update_method": ("Update Method", text, "How runs update the table incrementally")} if text else {}


def _layout_stats(layout: Layout | None) -> Stats:
    if layout is None:
        return {}
    partitions = ", ".join(layout.partitioned_by) or "nothing"
    order = ", ".join(layout.sorted_by) or "nothing"
    return {
        "partitioned_by": ("Partitioned By", partitions, "How new files are partitioned"),
        "sorted_by": ("Sorted By", order, "How rows are sorted within new files"),
    }


def _totals(history: History) -> Stats:
    return {
        key: (label, total, text)
        for key, (label, counted, text) in _TOTALS.items()
        if (total := _total(history, counted)) is not None
    }


def _total(history: History, key: str) -> int | None:
    if history.current_snapshot_id is None:
        return 0
    return None if history.current is None else history.current.number(key)


def _row_stats(history: History) -> Stats:
    """The number of rows. Spark's own statistic includes deleted rows."""
    if _total(history, "total-records") is None:
        return {}
    count = RowCount(0) if history.current is None else rows_at(history, history.current)
    label = "Row Count (at most)" if count.at_most else "Row Count"
    return {"rows": (label, count.rows, "Rows by the table's metadata, without those that were deleted")}


def _last_modified(history: History) -> Stats:
    return {
        "last_modified": (
            "Last Modified",
            _when(last_change(history)),
            "Time of the last commit that changed rows; a compaction does not count",
        )
    }


def _when(change: Snapshot | LastChangeExpired | None) -> str:
    if change is None:
        return "never"
    if isinstance(change, Snapshot):
        return instant(change.timestamp_ms)
    return "unknown" if change.known is None else f"before {instant(change.known.timestamp_ms)}"
