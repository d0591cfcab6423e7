"""The files of snapshots and the differences between snapshots, from a table's metadata document and manifests.

Functions raise KeyError for a snapshot that is not in the document, and the errors of ``read`` and of the Avro decoder.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from ..table.files import ChangedFiles, Content, FileDifference, LiveFile, LiveFiles, ManifestSize
from ..table.layout import LiveSpec, fields_of_spec
from . import FilesAt
from .manifest_files import (
    ADDED,
    DATA,
    DELETES,
    Manifest,
    ManifestEntry,
    ReadBytes,
    content_of,
    data_file_of,
    entries_of,
    manifest_of,
    manifests_of,
    rows_of,
)
from .table_metadata import clustered_by, columns_at, partition_specs, renamed_since


def changed_files(
    document: Mapping[str, Any], start: int, end: int, read: ReadBytes, *, may_repeat: bool = True
) -> ChangedFiles:
    """The columns of two snapshots of a table, and the data files that differ between them.

    ``may_repeat``: whether the table may list one of these files more than once. If so, all manifests that may list it
    are read, including those that are the same at both snapshots.
    """
    snapshots = _snapshots(document)
    columns = [columns_at(document, snapshots[each]) for each in (start, end)]
    lists = [snapshots[each].get("manifest-list") for each in (start, end)]
    manifests = [{} if each is None else manifests_of(each, read) for each in lists]
    present = columns_at(document, {})
    have_deletes = [any(each.content == DELETES for each in known.values()) for known in manifests]
    return ChangedFiles(
        start=columns[0],
        end=columns[1],
        files=None if None in lists else _difference(document, manifests[0], manifests[1], read, may_repeat),
        clustered_by=clustered_by(document),
        start_has_row_ids=snapshots[start].get("first-row-id") is not None
        and all(each.has_row_ids for each in manifests[0].values() if each.content == DATA),
        without_deletes=not any(have_deletes),
        has_present_columns=columns[1] == present,
        renamed=renamed_since(document, columns[1]),
        start_has_deletes=have_deletes[0],
        present=present,
    )


def data_files(document: Mapping[str, Any], asked: FilesAt, read: ReadBytes) -> ChangedFiles | None:
    """The requested data files. None if a snapshot has no manifest list.

    If the document lacks snapshot ``asked.since``, the columns at the start are those at the end.
    """
    snapshots, added_by, added_after = _snapshots(document), asked.added_by, asked.added_after
    specs, files = partition_specs(document), []
    for each in [asked.snapshot_id] if added_by is None else added_by:
        location = snapshots[each].get("manifest-list")
        if location is None:
            return None
        for manifest in manifests_of(location, read).values():
            if manifest.content != DATA or (added_by is not None and manifest.added_by != each):
                continue
            if added_after is not None and manifest.sequence_number <= added_after:
                continue  # a manifest lists no files that are newer than itself
            files += [
                entry.file
                for entry in entries_of(manifest, specs, read)
                if (added_by is None or entry.status == ADDED) and (added_after is None or entry.added_at > added_after)
            ]
    columns = columns_at(document, snapshots[asked.snapshot_id])
    return ChangedFiles(
        start=columns_at(document, snapshots[asked.since]) if asked.since in snapshots else columns,
        end=columns,
        files=FileDifference((), tuple(files), ()),
        clustered_by=clustered_by(document),
        renamed=renamed_since(document, columns),
        present=columns_at(document, {}),
    )


def live_specs(document: Mapping[str, Any], snapshot: int, read: ReadBytes) -> list[LiveSpec]:
    """The partition specs of the live data files at a snapshot, from its manifest list alone if it has counts."""
    location = _snapshots(document)[snapshot].get("manifest-list")
    known, files = partition_specs(document), Counter[int]()
    for row in [] if location is None else rows_of(read(location)):
        manifest = manifest_of(row)
        if manifest.content != DATA:
            continue
        counts = [row.get(f"{kind}_files_count", row.get(f"{kind}_data_files_count")) for kind in ("added", "existing")]
        counted = [count for count in counts if count is not None]  # format v1 may omit them
        files[manifest.spec_id] += sum(counted) if len(counted) == 2 else len(list(entries_of(manifest, known, read)))
    names = {column.field_id: column.name for column in columns_at(document, {})}
    specs = {spec["spec-id"]: spec for spec in document.get("partition-specs") or ()}
    current = document.get("default-spec-id", 0)
    return [
        LiveSpec(number, count, fields_of_spec(specs[number], names) if number in specs else None, number == current)
        for number, count in sorted(files.items())
        if count
    ]


def live_files(document: Mapping[str, Any], snapshot: int, read: ReadBytes) -> LiveFiles | None:
    """All files of a table at a snapshot. None if the snapshot has no manifest list."""
    location = _snapshots(document)[snapshot].get("manifest-list")
    if location is None:
        return None
    specs, files, manifests = partition_specs(document), [], {}
    for manifest in manifests_of(location, read).values():
        listed = [_live_file(entry, manifest) for entry in entries_of(manifest, specs, read)]
        if listed:  # the next commit removes a manifest that has only deleted entries
            files += listed
            manifests[manifest.path] = ManifestSize(manifest.spec_id, manifest.size, manifest.content == DELETES)
    return LiveFiles(tuple(files), manifests, document.get("default-spec-id", 0))


def _snapshots(document: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    return {each["snapshot-id"]: each for each in document["snapshots"]}


def _live_file(entry: ManifestEntry, manifest: Manifest) -> LiveFile:
    content = content_of(entry.row.get("content") or DATA, entry.row.get("file_format") or "")
    return LiveFile(
        content,
        entry.file.path,
        entry.spec_id,
        entry.file.partition,
        entry.file.records,
        entry.file.size,
        None if content is Content.DATA else data_file_of(entry),
        manifest.path,
    )


def _difference(
    document: Mapping[str, Any],
    at_start: Mapping[str, Manifest],
    at_end: Mapping[str, Manifest],
    read: ReadBytes,
    may_repeat: bool,
) -> FileDifference:
    specs = partition_specs(document)
    shared = at_start.keys() & at_end.keys()  # the entries of a manifest never change, so these are at both ends

    def entries(manifests: Mapping[str, Manifest], content: int) -> dict[tuple[object, ...], list[ManifestEntry]]:
        found: dict[tuple[object, ...], list[ManifestEntry]] = {}
        for path, manifest in manifests.items():
            if path not in shared and manifest.content == content:
                for entry in entries_of(manifest, specs, read):
                    found.setdefault(entry.key, []).append(entry)
        return found

    def beyond(
        here: Mapping[tuple[object, ...], list[ManifestEntry]], there: Mapping[tuple[object, ...], list[ManifestEntry]]
    ) -> list[ManifestEntry]:
        """The entries that ``here`` has and ``there`` lacks, or has less often. A table may list a file twice."""
        return [entry for key, found in here.items() for entry in found[len(there.get(key, ())) :]]

    before, after = entries(at_start, DATA), entries(at_end, DATA)
    deletes_before, deletes_after = entries(at_start, DELETES), entries(at_end, DELETES)
    other_deletes = [*beyond(deletes_before, deletes_after), *beyond(deletes_after, deletes_before)]
    both = (entry for key, found in before.items() for entry in found[: len(after.get(key, ()))])
    touched = _Touched(other_deletes)
    found = [entry.file for entry in both if touched(entry)]
    removed, added = beyond(before, after), beyond(after, before)
    moved = _Moved([*removed, *added])
    repeated = any(moved.has_repeated(chain(*known.values())) for known in (before, after))
    data = [at_start[path] for path in shared if at_start[path].content == DATA]
    for manifest in data:
        is_touched = touched.may_be_in(manifest)
        repeats = may_repeat and not repeated and moved.may_be_in(manifest)
        for entry in entries_of(manifest, specs, read) if is_touched or repeats else ():
            if is_touched and touched(entry):
                found.append(entry.file)
            repeated = repeated or (repeats and moved(entry))
    listed = {entry.file.path for known in (before, after) for entry in chain(*known.values())}
    missing = touched.paths - listed - {file.path for file in found}
    if missing:
        others = (entries_of(each, specs, read) for each in data if not touched.may_be_in(each))
        found += [entry.file for entry in chain.from_iterable(others) if entry.file.path in missing]
    return FileDifference(
        at_start=tuple(entry.file for entry in removed),
        at_end=tuple(entry.file for entry in added),
        with_other_deletes=tuple(found),
        has_repeated=repeated,
    )


class _Moved:
    """Finds other entries of the files that were added or removed."""

    def __init__(self, entries: Iterable[ManifestEntry]) -> None:
        self._paths: set[str] = set()
        self._partitions: set[tuple[int, tuple[Any, ...]]] = set()
        for entry in entries:
            self._paths.add(entry.file.path)
            self._partitions.add((entry.spec_id, entry.file.partition))

    def __call__(self, entry: ManifestEntry) -> bool:
        return entry.file.path in self._paths

    def has_repeated(self, entries: Iterable[ManifestEntry]) -> bool:
        """Whether the entries list one of the files more than once."""
        times = Counter(entry.file.path for entry in entries if self(entry))
        return any(count > 1 for count in times.values())

    def may_be_in(self, manifest: Manifest) -> bool:
        """Whether a manifest may list one of the files. Uses its partition summaries if all files have its spec."""
        specs = {spec_id for spec_id, _ in self._partitions}
        return bool(specs) and (specs != {manifest.spec_id} or _may_list(manifest, self._partitions))


class _Touched:
    """Finds the data files to which delete files may apply. The result may include other files, but omits none.

    ``paths``: the data files that delete files name. DuckDB 1.5 gives such a delete file the current partition spec,
    also if its data file has an older one.
    """

    def __init__(self, deletes: Iterable[ManifestEntry]) -> None:
        self.paths: set[str] = set()
        self._partitions: set[tuple[int, tuple[Any, ...]]] = set()
        self._of_paths: set[tuple[int, tuple[Any, ...]]] = set()
        self._everywhere = False
        for entry in deletes:
            partition = (entry.spec_id, entry.file.partition)
            path = data_file_of(entry)
            if path is not None:
                self.paths.add(path)
                self._of_paths.add(partition)
            elif all(field.transform == "void" for field in entry.file.spec):
                self._everywhere = True  # equality deletes of an unpartitioned spec apply to all partitions
            else:
                self._partitions.add(partition)

    def __call__(self, entry: ManifestEntry) -> bool:
        partition = (entry.spec_id, entry.file.partition)
        return self._everywhere or entry.file.path in self.paths or partition in self._partitions

    def may_be_in(self, manifest: Manifest) -> bool:
        """Whether a manifest is likely to list an affected data file, from its partition summaries.

        Another manifest may still list a file of ``paths``.
        """
        return self._everywhere or _may_list(manifest, (*self._partitions, *self._of_paths))


def _may_list(manifest: Manifest, partitions: Iterable[tuple[int, tuple[Any, ...]]]) -> bool:
    """Whether a manifest may list a file of one of these (spec, partition) pairs, from its partition summaries."""
    return any(
        spec_id == manifest.spec_id
        and all(_may_hold(each, value) for each, value in zip(manifest.summaries, values, strict=False))
        for spec_id, values in partitions
    )


def _may_hold(summary: tuple[bytes | None, bytes | None, bool], value: Any) -> bool:
    """Whether a partition value is within a manifest's summary of its field. True if unknown."""
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
