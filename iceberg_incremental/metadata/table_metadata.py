"""A table's metadata file, as in the Iceberg specification: history, columns and partition specs.

The JSON is read directly. PyIceberg's models reject a whole file if they do not know a part of it, even if a history
does not need this part. An example is a ``variant`` column in PyIceberg 0.12.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..table.files import PartitionField, TableColumn, fields_by_path, has_other_names
from ..table.history import MAIN, History, Retention, Snapshot, TableName
from ..table.layout import DescribedColumn, Layout, names_by_id, spark_type, transform_sql
from ..table.types import fields_of

_GZIP_MAGIC = b"\x1f\x8b"
_NO_SNAPSHOT = -1
_FIRST_FILE = re.compile(r"/(?:00000-|v1\.)[^/]*$")
_FOREIGN = re.compile(r"time$|timestamp(tz)?_ns$|geometry|geography")
_FOLDERS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
"""The properties that set folders for new files."""


def parse(content: bytes) -> dict[str, Any]:
    """Parse the JSON document of a metadata file, which may be gzip-compressed. Raises ValueError if it is invalid."""
    if content.startswith(_GZIP_MAGIC):
        content = gzip.decompress(content)
    document = json.loads(content)
    if not isinstance(document, dict) or "format-version" not in document:
        raise ValueError("not an Iceberg metadata file: it has no format-version")
    return document


def to_history(table: TableName, document: Mapping[str, Any]) -> History:
    """The history in a table's metadata document (format v1 to v3)."""
    known = _fields_by_schema(document)
    present = known.get(document.get("current-schema-id", 0), {})
    names = {number: path for path, number in present.items()}
    renamed = {number: has_other_names(fields, present) for number, fields in known.items()}
    ids, partitioned = (
        {*present.values()},
        [each for spec in partition_specs(document).values() for each in spec.values()],
    )
    snapshots = [
        replace(_snapshot(each), fields=known.get(number, {}), has_other_names=renamed.get(number, False))
        for each in document.get("snapshots") or ()
        for number in [each.get("schema-id", document.get("current-schema-id", 0))]  # optional in format v1
    ]
    current = document.get("current-snapshot-id")
    if current == _NO_SNAPSHOT:
        current = None
    listed, log = document.get("refs") or {}, document.get("metadata-log") or ()
    refs = {name: ref["snapshot-id"] for name, ref in listed.items()}
    if current is not None:
        refs[MAIN] = current  # refs are optional in format v1
    return History(
        table=table,
        table_uuid=document.get("table-uuid"),
        format_version=document["format-version"],
        current_snapshot_id=current,
        snapshots={each.snapshot_id: each for each in snapshots},
        refs=refs,
        properties=document.get("properties") or {},
        metadata_log=tuple(entry["metadata-file"] for entry in log),
        ref_ages={name: ref["max-ref-age-ms"] for name, ref in listed.items() if ref.get("max-ref-age-ms") is not None},
        branches={MAIN: Retention()}
        | {
            name: Retention(ref.get("min-snapshots-to-keep"), ref.get("max-snapshot-age-ms"))
            for name, ref in listed.items()
            if ref.get("type") == "branch"
        },
        updated_ms=document.get("last-updated-ms"),
        location=document.get("location"),
        rolled_back_ms=_rolled_back_ms(document),
        created_ms=created_ms(log[0]["metadata-file"], log[0]["timestamp-ms"]) if log else None,
        fields=present,
        lost_partition=bool(present) and any(each.source_id not in ids for each in partitioned),
        partitioned_by=_partition_fields(document, names),
        sorted_by=_sorted_by(document, names),
        foreign=_foreign(_schema(document)["fields"]) if present else {},
    )


def _partition_fields(document: Mapping[str, Any], names: Mapping[int, str]) -> tuple[str, ...]:
    """The fields of the default partition spec in Spark's notation. ``names``: the column names by id."""
    spec = partition_specs(document).get(document.get("default-spec-id", 0), {})
    found = (transform_sql(field.transform, names.get(field.source_id, "?")) for field in spec.values())
    return tuple(field for field in found if field is not None)


def _foreign(fields: Iterable[Mapping[str, Any]], prefix: str = "") -> dict[str, str]:
    """The types of columns and fields that Spark 4.1 or Iceberg 1.12 for Spark lacks, by path."""
    found: dict[str, str] = {}
    for each in fields:
        path, type_ = f"{prefix}{each['name']}", each["type"]
        for nested in ("element", "key", "value"):
            if isinstance(type_, Mapping) and nested in type_:
                found |= _foreign([{"name": nested, "type": type_[nested]}], f"{path}.")
        if isinstance(type_, Mapping):
            found |= _foreign(type_.get("fields") or (), f"{path}.")
        elif _FOREIGN.match(type_):
            found[path] = type_
    return found


def _sorted_by(document: Mapping[str, Any], names: Mapping[int, str]) -> tuple[str, ...]:
    """The fields of the default sort order in Spark's notation. ``names``: the column names by id."""
    return tuple(
        f"{by} {field['direction']} {field['null-order'].replace('-', ' ')}"
        for field in _sort_fields(document)
        if (by := transform_sql(field["transform"], names.get(field["source-id"], "?"))) is not None
    )


def created_ms(file: str, timestamp_ms: int) -> int | None:
    """When a table was created, from the oldest entry of its metadata log. None if the log begins later.

    Iceberg's catalogs number metadata files: the first one is ``00000-<uuid>.metadata.json``, or in a hadoop catalog,
    ``v1.metadata.json``.
    """
    return timestamp_ms if _FIRST_FILE.search(file) else None


def _fields_by_schema(document: Mapping[str, Any]) -> dict[int, dict[str, int]]:
    """The ids of the columns of each schema, and of their fields, by path."""
    schemas = document.get("schemas") or [document[key] for key in ("schema",) if key in document]
    return {schema.get("schema-id", 0): fields_by_path(_columns(schema)) for schema in schemas}


def _rolled_back_ms(document: Mapping[str, Any]) -> int | None:
    """When the current snapshot was last set to one that had been current before. None if it was not."""
    seen: set[int] = set()
    found = None
    for entry in document.get("snapshot-log") or ():
        if entry["snapshot-id"] in seen:
            found = entry["timestamp-ms"]
        seen.add(entry["snapshot-id"])
    return found


def folders_of(location: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """The folders of a table's files: its location, and the folders that its properties set for new files."""
    return (location, *(properties[key] for key in _FOLDERS if key in properties))


def _snapshot(document: Mapping[str, Any]) -> Snapshot:
    summary = dict(document.get("summary") or {})
    operation = summary.pop("operation", None)
    return Snapshot(
        snapshot_id=document["snapshot-id"],
        parent_id=document.get("parent-snapshot-id"),
        sequence_number=document.get("sequence-number", 0),  # missing in format v1; the specification reads it as 0
        timestamp_ms=document["timestamp-ms"],
        operation=operation,
        summary=summary,
        has_row_ids=document.get("first-row-id") is not None,
    )


def columns_at(document: Mapping[str, Any], snapshot: Mapping[str, Any]) -> tuple[TableColumn, ...]:
    """The columns of a snapshot. For an empty mapping, the current columns.

    In format v1, a snapshot may lack a schema id. Spark then uses the current schema.
    """
    return _columns(_schema(document, snapshot.get("schema-id")))


def columns_by_schema(document: Mapping[str, Any]) -> dict[int, tuple[TableColumn, ...]]:
    """The columns of each schema in the document, by schema id."""
    schemas = document.get("schemas") or [{"schema-id": 0, **document["schema"]}]
    return {schema["schema-id"]: _columns(schema) for schema in schemas}


def _columns(schema: Mapping[str, Any]) -> tuple[TableColumn, ...]:
    fields = schema["fields"]
    return tuple(TableColumn(each["id"], each["name"], each["type"], each.get("initial-default")) for each in fields)


def _schema(document: Mapping[str, Any], schema_id: int | None = None) -> Mapping[str, Any]:
    """The schema with an id, by default the table's current schema."""
    schemas = {schema.get("schema-id", 0): schema for schema in document.get("schemas") or [document["schema"]]}
    found: Mapping[str, Any] = schemas[document.get("current-schema-id", 0) if schema_id is None else schema_id]
    return found


def layout_of(document: Mapping[str, Any]) -> Layout:
    """The table's current columns, and the partitioning and sort order of new files."""
    schema = _schema(document)
    names = dict(names_by_id(schema))
    return Layout(
        tuple(DescribedColumn(each["name"], spark_type(each["type"]), each.get("doc")) for each in schema["fields"]),
        _partition_fields(document, names),
        _sorted_by(document, names),
    )


def renamed_since(document: Mapping[str, Any], columns: Iterable[TableColumn]) -> frozenset[int]:
    """The ids of the given columns that were renamed or dropped since, or whose fields were altered."""
    present = {column.field_id: column for column in columns_at(document, {})}
    return frozenset(each.field_id for each in columns if not _has_same_names(each, present.get(each.field_id)))


def _has_same_names(column: TableColumn, other: TableColumn | None) -> bool:
    if other is None or other.name != column.name:
        return False
    return list(fields_of(other.type).items()) == list(fields_of(column.type).items())


def partition_specs(document: Mapping[str, Any]) -> dict[int, dict[int, PartitionField]]:
    """The partition specs by id. Each maps field ids to fields."""
    specs = document.get("partition-specs") or [{"spec-id": 0, "fields": document.get("partition-spec") or []}]
    return {
        spec["spec-id"]: {
            number: PartitionField(number, each["source-id"], each["transform"])
            for place, each in enumerate(spec["fields"])
            for number in [each.get("field-id", 1000 + place)]
        }
        for spec in specs
    }


def clustered_by(document: Mapping[str, Any]) -> tuple[int, ...]:
    """The source columns of all partition specs, followed by those of the default sort order."""
    partitioned = [field.source_id for spec in partition_specs(document).values() for field in spec.values()]
    return tuple(dict.fromkeys([*partitioned, *(each["source-id"] for each in _sort_fields(document))]))


def _sort_fields(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The fields of the default sort order."""
    orders = {order["order-id"]: order for order in document.get("sort-orders") or ()}
    order: Mapping[str, Any] = orders.get(document.get("default-sort-order-id", 0), {"fields": []})
    fields: Sequence[Mapping[str, Any]] = order["fields"]
    return fields
