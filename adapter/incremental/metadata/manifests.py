"""What differs between two snapshots, from the table's metadata document and the manifests of the two alone.

Manifests are read as they were written, field by field, rather than into PyIceberg's classes: these know format v2 only
(PyIceberg 0.12), and of v3 the data file that a deletion vector belongs to is needed.
"""

from __future__ import annotations

import io
import math
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..table.changed_files import ChangedFiles, DataFile, FileDifference, PartitionField, TableColumn
from ..table.partitions import LiveSpec, specified

if TYPE_CHECKING:
    from pyiceberg.io import InputFile

ReadBytes = Callable[[str], bytes]
"""Gives the content of the file at a location."""

_DATA, _DELETES = 0, 1
_ADDED, _DELETED = 1, 2
_EQUALITY_DELETES = 2
_FILE_PATH_ID = 2147483546
"""The reserved field id of ``file_path`` in files of position deletes."""


def changed_files(document: Mapping[str, Any], start: int, end: int, read: ReadBytes) -> ChangedFiles:
    """The columns of two snapshots of a table, and the data files that differ between them.

    Raises KeyError for a snapshot that the document does not know, and whatever ``read`` and the Avro decoder raise.
    """
    snapshots = {each["snapshot-id"]: each for each in document["snapshots"]}
    columns = [_columns(document, snapshots[each]) for each in (start, end)]
    lists = [snapshots[each].get("manifest-list") for each in (start, end)]
    manifests = [{} if each is None else _manifests(each, read) for each in lists]
    without_deletes = not any(each.content == _DELETES for known in manifests for each in known.values())
    return ChangedFiles(
        start=columns[0],
        end=columns[1],
        files=None if None in lists else _difference(document, manifests[0], manifests[1], read),
        clustered_by=_clustered_by(document),
        start_has_row_ids=snapshots[start].get("first-row-id") is not None,
        without_deletes=without_deletes,
        has_present_columns=columns[1] == _columns(document, {}),
        renamed=_renamed(document, columns[1]),
    )


def data_files(
    document: Mapping[str, Any],
    snapshot: int,
    added_by: Collection[int] | None,
    added_after: int | None,
    since: int | None,
    read: ReadBytes,
) -> ChangedFiles | None:
    """The data files of a table at a snapshot, or those that some commits added; None without manifest lists.

    ``since``: the snapshot whose columns are those of the start, if the document knows it.

    Raises KeyError for a snapshot that the document does not know, and whatever ``read`` and the Avro decoder raise.
    """
    snapshots = {each["snapshot-id"]: each for each in document["snapshots"]}
    specs, files = _specs(document), []
    for each in [snapshot] if added_by is None else added_by:
        location = snapshots[each].get("manifest-list")
        if location is None:
            return None
        for manifest in _manifests(location, read).values():
            if manifest.content != _DATA or (added_by is not None and manifest.added_by != each):
                continue
            if added_after is not None and manifest.sequence_number <= added_after:
                continue  # a manifest lists no file that is newer than itself
            files += [
                entry.file
                for entry in _entries(manifest, specs, read)
                if (added_by is None or entry.status == _ADDED)
                and (added_after is None or entry.added_at > added_after)
            ]
    columns = _columns(document, snapshots[snapshot])
    before = _columns(document, snapshots[since]) if since in snapshots else columns
    difference = FileDifference((), tuple(files), ())
    return ChangedFiles(before, columns, difference, _clustered_by(document), renamed=_renamed(document, columns))


def live_specs(document: Mapping[str, Any], snapshot: int, read: ReadBytes) -> list[LiveSpec]:
    """The partition specs of the live data files at a snapshot, from its manifest list alone where that has counts.

    Raises KeyError for a snapshot that the document does not know, and whatever ``read`` and the Avro decoder raise.
    """
    snapshots = {each["snapshot-id"]: each for each in document["snapshots"]}
    location = snapshots[snapshot].get("manifest-list")
    known, files = _specs(document), Counter[int]()
    for row in [] if location is None else _rows(read(location)):
        manifest = _manifest(row)
        if manifest.content != _DATA:
            continue
        counts = [row.get(f"{kind}_files_count", row.get(f"{kind}_data_files_count")) for kind in ("added", "existing")]
        told = [count for count in counts if count is not None]  # format v1 may leave them out
        files[manifest.spec_id] += sum(told) if len(told) == 2 else len(list(_entries(manifest, known, read)))
    names = {column.field_id: column.name for column in _columns(document, {})}
    specs = {spec["spec-id"]: spec for spec in document.get("partition-specs") or ()}
    current = document.get("default-spec-id", 0)
    return [
        LiveSpec(number, count, specified(specs[number], names) if number in specs else None, number == current)
        for number, count in sorted(files.items())
        if count
    ]


def _columns(document: Mapping[str, Any], snapshot: Mapping[str, Any]) -> tuple[TableColumn, ...]:
    """The columns of a snapshot; format v1 may leave out its schema, and Spark then reads it by the current one."""
    schemas = {schema.get("schema-id", 0): schema for schema in document.get("schemas") or [document["schema"]]}
    current = document.get("current-schema-id", 0)
    fields = schemas[snapshot.get("schema-id", current)]["fields"]
    return tuple(TableColumn(each["id"], each["name"], each["type"], each.get("initial-default")) for each in fields)


def _renamed(document: Mapping[str, Any], columns: Iterable[TableColumn]) -> frozenset[int]:
    """The ids of those columns that the table has under another name now, or not at all."""
    present = {column.field_id: column.name for column in _columns(document, {})}
    return frozenset(column.field_id for column in columns if present.get(column.field_id) != column.name)


def _specs(document: Mapping[str, Any]) -> dict[int, dict[int, PartitionField]]:
    """The partition specs by id, their fields by field id."""
    specs = document.get("partition-specs") or [{"spec-id": 0, "fields": document.get("partition-spec") or []}]
    return {
        spec["spec-id"]: {
            number: PartitionField(number, each["source-id"], each["transform"])
            for place, each in enumerate(spec["fields"])
            for number in [each.get("field-id", 1000 + place)]
        }
        for spec in specs
    }


def _clustered_by(document: Mapping[str, Any]) -> tuple[int, ...]:
    """The source columns of all partition specs, then those of the default sort order."""
    partitioned = [field.source_id for spec in _specs(document).values() for field in spec.values()]
    orders = {order["order-id"]: order for order in document.get("sort-orders") or ()}
    order = orders.get(document.get("default-sort-order-id", 0), {"fields": []})
    return tuple(dict.fromkeys([*partitioned, *(each["source-id"] for each in order["fields"])]))


@dataclass(frozen=True)
class _Manifest:
    """One line of a manifest list. ``added_by``: the snapshot that wrote it.

    ``summaries``: lower and upper bound and contains_null of each partition field.
    """

    path: str
    spec_id: int
    content: int
    sequence_number: int
    added_by: int | None
    summaries: tuple[tuple[bytes | None, bytes | None, bool], ...]


@dataclass(frozen=True)
class _Entry:
    """A live entry of a manifest; ``row`` is its data_file as it was written.

    ``sequence_number``: of its rows; a compaction may give a file that of the rows that it moved. ``added_at``: that of
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
        """What makes it the same entry at both ends; deletion vectors of several files share one path."""
        return (self.file.path, self.sequence_number, self.row.get("content_offset"))


def _difference(
    document: Mapping[str, Any], at_start: Mapping[str, _Manifest], at_end: Mapping[str, _Manifest], read: ReadBytes
) -> FileDifference:
    specs = _specs(document)
    shared = at_start.keys() & at_end.keys()  # the entries of a manifest never change, so these are at both ends

    def entries(manifests: Mapping[str, _Manifest], content: int) -> dict[tuple[object, ...], list[_Entry]]:
        found: dict[tuple[object, ...], list[_Entry]] = {}
        for path, manifest in manifests.items():
            if path not in shared and manifest.content == content:
                for entry in _entries(manifest, specs, read):
                    found.setdefault(entry.key, []).append(entry)
        return found

    def beyond(
        here: Mapping[tuple[object, ...], list[_Entry]], there: Mapping[tuple[object, ...], list[_Entry]]
    ) -> list[_Entry]:
        """The entries of one end that the other has not, or not as often: a table may have a file twice."""
        return [entry for key, found in here.items() for entry in found[len(there.get(key, ())) :]]

    before, after = entries(at_start, _DATA), entries(at_end, _DATA)
    deletes_before, deletes_after = entries(at_start, _DELETES), entries(at_end, _DELETES)
    other_deletes = [*beyond(deletes_before, deletes_after), *beyond(deletes_after, deletes_before)]
    both = (entry for key, found in before.items() for entry in found[: len(after.get(key, ()))])
    touched = _Touched(other_deletes)
    found = [entry.file for entry in both if touched(entry)]
    for path in shared if other_deletes else ():
        manifest = at_start[path]
        if manifest.content == _DATA and touched.may_be_in(manifest):
            found += [entry.file for entry in _entries(manifest, specs, read) if touched(entry)]
    return FileDifference(
        at_start=tuple(entry.file for entry in beyond(before, after)),
        at_end=tuple(entry.file for entry in beyond(after, before)),
        with_other_deletes=tuple(found),
    )


class _Touched:
    """Tells the data files to which some of these delete files may apply, rather too many than too few."""

    def __init__(self, deletes: Iterable[_Entry]) -> None:
        self._paths: set[str] = set()
        self._partitions: set[tuple[int, tuple[Any, ...]]] = set()
        self._of_paths: set[tuple[int, tuple[Any, ...]]] = set()
        self._everywhere = False
        for entry in deletes:
            partition = (entry.spec_id, entry.file.partition)
            path = _referenced(entry)
            if path is not None:
                self._paths.add(path)
                self._of_paths.add(partition)
            elif all(field.transform == "void" for field in entry.file.spec):
                self._everywhere = True  # equality deletes of an unpartitioned spec hold for all partitions
            else:
                self._partitions.add(partition)

    def __call__(self, entry: _Entry) -> bool:
        partition = (entry.spec_id, entry.file.partition)
        return self._everywhere or entry.file.path in self._paths or partition in self._partitions

    def may_be_in(self, manifest: _Manifest) -> bool:
        """Whether a manifest may list a touched data file, by its partition summaries."""
        return self._everywhere or any(
            spec_id == manifest.spec_id
            and all(_may_hold(each, value) for each, value in zip(manifest.summaries, values, strict=False))
            for spec_id, values in (*self._partitions, *self._of_paths)
        )


def _referenced(entry: _Entry) -> str | None:
    """The one data file that a delete file is about, where it says so."""
    if entry.row.get("content") == _EQUALITY_DELETES:
        return None
    named = entry.row.get("referenced_data_file")
    lower, upper = entry.file.lower.get(_FILE_PATH_ID), entry.file.upper.get(_FILE_PATH_ID)
    if named is None and lower is not None and lower == upper:
        return lower.decode("utf-8")
    return named


def _may_hold(summary: tuple[bytes | None, bytes | None, bool], value: Any) -> bool:
    """Whether a partition value lies within a manifest's summary of its field; True where that cannot be told."""
    lower, upper, contains_null = summary
    if value is None:
        return contains_null
    if lower is None or upper is None or isinstance(value, bool):
        return True
    if isinstance(value, int) and len(lower) in (4, 8) and len(upper) in (4, 8):
        low, high = (struct.unpack("<i" if len(each) == 4 else "<q", each)[0] for each in (lower, upper))
        return bool(low <= value <= high)
    if isinstance(value, str):
        return lower <= value.encode("utf-8") <= upper
    return True


def _manifests(location: str, read: ReadBytes) -> dict[str, _Manifest]:
    """The manifests of a manifest list by their paths."""
    return {row["manifest_path"]: _manifest(row) for row in _rows(read(location))}


def _manifest(row: Mapping[str, Any]) -> _Manifest:
    return _Manifest(
        path=row["manifest_path"],
        spec_id=row.get("partition_spec_id") or 0,
        content=row.get("content") or _DATA,
        sequence_number=row.get("sequence_number") or 0,
        added_by=row.get("added_snapshot_id"),
        summaries=tuple(
            (each["lower_bound"], each["upper_bound"], each["contains_null"])
            for each in row.get("partitions") or ()  # format v1 may leave them out
        ),
    )


def _entries(
    manifest: _Manifest, specs: Mapping[int, Mapping[int, PartitionField]], read: ReadBytes
) -> Iterator[_Entry]:
    """The live entries of a manifest. A sequence number that is not written is inherited, as the specification says."""
    fields = specs[manifest.spec_id]
    for row in _rows(read(manifest.path)):
        if row["status"] == _DELETED:
            continue
        file = row["data_file"]
        number = row.get("sequence_number")
        if number is None:
            number = manifest.sequence_number if row["status"] == _ADDED else 0
        added_at = row.get("file_sequence_number")
        if added_at is None:
            added_at = manifest.sequence_number if row["status"] == _ADDED else number
        partition = file["partition"]
        yield _Entry(
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


def _equal_to_itself(value: Any) -> Any:
    """A partition value; NaN as one object for all, which Python takes for equal where it compares tuples."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


class _Content:
    """A file's content as PyIceberg's Avro reader takes it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def open(self, seekable: bool = True) -> io.BytesIO:
        return io.BytesIO(self._content)


def _rows(content: bytes) -> Iterator[dict[str, Any]]:
    """The records of an Avro file as mappings by field name; those of ``partition`` by field id."""
    from pyiceberg.avro.file import AvroFile

    with AvroFile[Any](cast("InputFile", _Content(content))) as reader:
        for record in reader:
            yield _mapping(record, reader.schema.as_struct())


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
