"""Reads manifest lists and manifests, entry by entry.

Fields are read directly, because PyIceberg's classes support only format v2 (PyIceberg 0.12). In format v3, the data
file of each deletion vector is needed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from ..table.files import Content, DataFile, PartitionField

if TYPE_CHECKING:
    from pyiceberg.avro.codecs import AvroCompressionCodec
    from pyiceberg.avro.codecs.codec import Codec
    from pyiceberg.avro.file import AvroFile, AvroFileHeader
    from pyiceberg.avro.reader import Reader
    from pyiceberg.io import InputFile
    from pyiceberg.types import StructType

ReadBytes = Callable[[str], bytes]
"""Returns the content of the file at a location."""

DATA, DELETES = 0, 1
ADDED, _DELETED = 1, 2
EQUALITY_DELETES = 2
_SCHEMA, _CODEC = "avro.schema", "avro.codec"
FILE_PATH_ID = 2147483546
"""The reserved field id of ``file_path`` in position delete files."""


@dataclass(frozen=True)
class Manifest:
    """An entry of a manifest list. ``added_by``: the snapshot that wrote it.

    ``summaries``: lower bound, upper bound and contains_null of each partition field. ``size``: in bytes.
    ``has_row_ids``: whether the rows of its data files have ids (format v3).
    """

    path: str
    spec_id: int
    content: int
    sequence_number: int
    added_by: int | None
    summaries: tuple[tuple[bytes | None, bytes | None, bool], ...]
    size: int = 0
    has_row_ids: bool = False


@dataclass(frozen=True)
class ManifestEntry:
    """A live entry of a manifest. ``row``: its data_file record.

    ``sequence_number``: the data sequence number, which a compaction may preserve. ``added_at``: the sequence number of
    the commit that added the file.
    """

    file: DataFile
    spec_id: int
    sequence_number: int
    added_at: int
    status: int
    row: Mapping[str, Any]

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of an entry, to compare snapshots. Deletion vectors of several files share one path."""
        return (self.file.path, self.sequence_number, self.row.get("content_offset"))


def manifests_of(location: str, read: ReadBytes) -> dict[str, Manifest]:
    """The manifests of a manifest list, by path."""
    return {row["manifest_path"]: manifest_of(row) for row in rows_of(read(location))}


def manifest_of(row: Mapping[str, Any]) -> Manifest:
    """The manifest in a row of a manifest list."""
    return Manifest(
        path=row["manifest_path"],
        spec_id=row.get("partition_spec_id") or 0,
        content=row.get("content") or DATA,
        sequence_number=row.get("sequence_number") or 0,
        added_by=row.get("added_snapshot_id"),
        summaries=tuple(
            (each["lower_bound"], each["upper_bound"], each["contains_null"])
            for each in row.get("partitions") or ()  # format v1 may omit them
        ),
        size=row.get("manifest_length") or 0,
        has_row_ids=row.get("first_row_id") is not None,
    )


def entries_of(
    manifest: Manifest, specs: Mapping[int, Mapping[int, PartitionField]], read: ReadBytes
) -> Iterator[ManifestEntry]:
    """The live entries of a manifest. Missing sequence numbers are inherited, as the specification requires."""
    fields = specs[manifest.spec_id]
    for row in rows_of(read(manifest.path)):
        if row["status"] == _DELETED:
            continue
        file = row["data_file"]
        number = row.get("sequence_number")
        if number is None:
            number = manifest.sequence_number if row["status"] == ADDED else 0
        added_at = row.get("file_sequence_number")
        if added_at is None:
            added_at = manifest.sequence_number if row["status"] == ADDED else number
        partition = file["partition"]
        yield ManifestEntry(
            DataFile(
                path=file["file_path"],
                records=file["record_count"],
                size=file["file_size_in_bytes"],
                spec=tuple(fields[number] for number in partition),
                partition=tuple(map(_equal_to_itself, partition.values())),
                lower=file.get("lower_bounds") or {},
                upper=file.get("upper_bounds") or {},
                nulls=file.get("null_value_counts") or {},
                values=file.get("value_counts") or {},
            ),
            manifest.spec_id,
            number,
            added_at,
            row["status"],
            file,
        )


def content_of(content: int, file_format: str) -> Content:
    """The kind of content of a file, from the number and the format in its entry."""
    if content == DATA:
        return Content.DATA
    if content == EQUALITY_DELETES:
        return Content.EQUALITY_DELETES
    return Content.DELETION_VECTOR if file_format.upper() == "PUFFIN" else Content.POSITION_DELETES


def data_file_of(entry: ManifestEntry) -> str | None:
    """The data file to which a position delete file or deletion vector refers. None if there is no single one."""
    if entry.row.get("content") == EQUALITY_DELETES:
        return None
    named = entry.row.get("referenced_data_file")
    lower, upper = entry.file.lower.get(FILE_PATH_ID), entry.file.upper.get(FILE_PATH_ID)
    if named is None and lower is not None and lower == upper:
        return lower.decode("utf-8")
    return named


def _equal_to_itself(value: Any) -> Any:
    """A partition value, with one shared object for NaN, so that tuples with NaN compare as equal in Python."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def rows_of(content: bytes) -> Iterator[dict[str, Any]]:
    """The records of an Avro file as mappings by field name, and by field id within ``partition``."""
    records, struct = _opened(content)
    for record in records:
        yield _mapping(record, struct)


def _opened(content: bytes) -> tuple[AvroFile[Any], StructType]:
    """The records of an Avro file, and their fields."""
    from pyiceberg.avro.decoder import new_decoder
    from pyiceberg.avro.file import AvroFile

    file = AvroFile[Any](cast("InputFile", None))
    file.decoder = new_decoder(content)
    header = file._read_header()
    file.header = cast("AvroFileHeader", _Header(header.sync, header.meta.get(_CODEC, "null")))
    file.reader, struct = _reader_of(header.meta[_SCHEMA])
    return file, struct


@dataclass(frozen=True)
class _Header:
    """What PyIceberg reads from the header of an Avro file for each block.

    PyIceberg's own header imports its tables to know the default codec, which takes a quarter of a second.
    """

    sync: bytes
    codec: str

    def compression_codec(self) -> type[Codec] | None:
        """The codec. None if blocks are not compressed. Raises ValueError if it is unknown."""
        from pyiceberg.avro.codecs import KNOWN_CODECS

        if self.codec not in KNOWN_CODECS:
            raise ValueError(f"unknown Avro codec: {self.codec}")
        return KNOWN_CODECS[cast("AvroCompressionCodec", self.codec)]


@lru_cache(maxsize=256)
def _reader_of(schema: str) -> tuple[Reader, StructType]:
    """The reader of records with an Avro schema, and their fields.

    PyIceberg creates both again for each file, which takes most of the time of reading a small file.
    """
    from pyiceberg.avro.resolver import resolve_reader
    from pyiceberg.utils.schema_conversion import AvroSchemaConversion

    found = AvroSchemaConversion().avro_to_iceberg(json.loads(schema))
    return resolve_reader(found, found), found.as_struct()


def _mapping(record: Any, of: Any, by_id: bool = False) -> dict[Any, Any]:
    return {
        field.field_id if by_id else field.name: _value(record[place], field.field_type, field.name == "partition")
        for place, field in enumerate(of.fields)
    }


def _value(value: Any, type_: Any, by_id: bool) -> Any:
    if value is None:
        return None
    if type_.is_struct:
        return _mapping(value, type_, by_id)
    if type(type_).__name__ == "ListType" and type_.element_type.is_struct:
        return [_mapping(each, type_.element_type) for each in value]
    return value
