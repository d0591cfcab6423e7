"""A table's metadata file, as the Iceberg specification lays it down, to a History.

The JSON is read as it is rather than through PyIceberg's models: these refuse a whole file for one part that they do
not know (PyIceberg 0.12: a ``variant`` column), of which a history needs nothing.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

from ..table.history import History, Snapshot, TableName

_GZIP_MAGIC = b"\x1f\x8b"
_NO_SNAPSHOT = -1


def parse(content: bytes) -> dict[str, Any]:
    """The JSON document of a metadata file, gzip-compressed or not. Raises ValueError if it is not one."""
    if content.startswith(_GZIP_MAGIC):
        content = gzip.decompress(content)
    document = json.loads(content)
    if not isinstance(document, dict) or "format-version" not in document:
        raise ValueError("not an Iceberg metadata file: it has no format-version")
    return document


def to_history(table: TableName, document: Mapping[str, Any]) -> History:
    """The history that a table's metadata document (format v1 to v3) tells."""
    snapshots = [_snapshot(each) for each in document.get("snapshots") or ()]
    current = document.get("current-snapshot-id")
    if current == _NO_SNAPSHOT:
        current = None
    refs = {name: ref["snapshot-id"] for name, ref in (document.get("refs") or {}).items()}
    if current is not None:
        refs["main"] = current  # format v1 needs no refs
    return History(
        table=table,
        table_uuid=document.get("table-uuid"),
        format_version=document["format-version"],
        current_snapshot_id=current,
        snapshots={each.snapshot_id: each for each in snapshots},
        refs=refs,
        properties=document.get("properties") or {},
        metadata_log=tuple(entry["metadata-file"] for entry in document.get("metadata-log") or ()),
    )


def _snapshot(document: Mapping[str, Any]) -> Snapshot:
    summary = dict(document.get("summary") or {})
    operation = summary.pop("operation", None)
    return Snapshot(
        snapshot_id=document["snapshot-id"],
        parent_id=document.get("parent-snapshot-id"),
        sequence_number=document.get("sequence-number", 0),  # format v1 has none, and the specification reads it as 0
        timestamp_ms=document["timestamp-ms"],
        operation=operation,
        summary=summary,
        has_row_ids=document.get("first-row-id") is not None,
    )
