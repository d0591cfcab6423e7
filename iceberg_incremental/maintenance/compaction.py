"""Plans compaction: which files of a table to rewrite, and into how many files.

The rules are those of Iceberg's procedures, given the sizes that are passed to them. A file is a candidate because of
its size or its deleted rows. The candidates of a partition are rewritten together if there are enough of them. See
Iceberg's ``SizeBasedFileRewritePlanner`` and ``BinPackRewriteFilePlanner``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..table.files import Content, LiveFile, LiveFiles

MIN_FILES = 5
"""A partition is rewritten if it has at least this many candidates. Iceberg's default."""
SMALL = 0.25
"""A file below this share of the target size is small. For Iceberg's default of 512 MiB, this is one Spark split."""
LARGE = 1.8
"""A file above this multiple of the target size is split. Iceberg's default."""
DELETED = 0.3
"""A data file is rewritten if at least this share of its rows is deleted. Iceberg's default."""
MIN_MANIFESTS = 20
"""Manifests are rewritten if there are at least this many, and at most a quarter of them would remain."""

_MANIFESTS_LEFT = 0.25
_DELETES_LEFT = 0.5
_MIB = 1 << 20
_TARGET, _DELETE_TARGET = "write.target-file-size-bytes", "write.delete.target-file-size-bytes"
_MANIFEST_TARGET = "commit.manifest.target-size-bytes"


@dataclass(frozen=True)
class DataRewrite:
    """Data files to rewrite.

    ``files`` of all ``of_files`` data files, with ``size`` bytes in ``partitions``, become about ``files_after`` files.
    ``small``, ``large``: the numbers of files with a wrong size. ``deleted``: the number of files with many deleted
    rows. ``rows_deleted``: the deleted rows of all files to rewrite. ``target``: the size of new files in bytes.
    ``below``: the size in bytes below which a file is small. ``paths``: the locations of the files.
    """

    of_files: int
    files: int
    files_after: int
    size: int
    partitions: int
    small: int
    large: int
    deleted: int
    rows_deleted: int
    target: int
    below: int
    paths: frozenset[str]


@dataclass(frozen=True)
class DeleteRewrite:
    """Position delete files (format v2) to merge. ``files`` become about ``files_after``.

    ``dangling``: the number of delete files whose data files no longer exist. ``target``, ``below``: as in DataRewrite.
    """

    files: int
    files_after: int
    dangling: int
    target: int
    below: int


@dataclass(frozen=True)
class ManifestRewrite:
    """Manifests to merge. ``manifests`` become about ``manifests_after``. ``size``: in bytes."""

    manifests: int
    manifests_after: int
    size: int


def plan_data(live: LiveFiles, properties: Mapping[str, str]) -> DataRewrite | None:
    """The data files to rewrite. None if a rewrite is not worthwhile. ``properties``: the table's properties."""
    target = _bytes(properties, _TARGET, 512 * _MIB)
    below, above = int(SMALL * target), int(LARGE * target)
    deleted = deleted_rows(live)
    groups: dict[Hashable, list[LiveFile]] = defaultdict(list)
    for file in live.data:
        if not below <= file.size <= above or _is_deleted(file, deleted):
            groups[_group(file, live)].append(file)
    chosen = [
        group
        for group in groups.values()
        if _is_enough(group, target, above) or any(_is_deleted(file, deleted) for file in group)
    ]
    files = [file for group in chosen for file in group]
    if not files:
        return None
    return DataRewrite(
        of_files=len(live.data),
        files=len(files),
        files_after=sum(_files_after(group, deleted, target, below, above) for group in chosen),
        size=sum(file.size for file in files),
        partitions=len(chosen),
        small=sum(file.size < below for file in files),
        large=sum(file.size > above for file in files),
        deleted=sum(_is_deleted(file, deleted) for file in files),
        rows_deleted=sum(deleted[file.path] for file in files),
        target=target,
        below=below,
        paths=frozenset(file.path for file in files),
    )


def plan_deletes(
    live: LiveFiles, properties: Mapping[str, str], rewritten: Collection[str] = ()
) -> DeleteRewrite | None:
    """The position delete files to merge. None if a merge is not worthwhile.

    The delete files of ``rewritten`` data files are excluded, because the rewrite removes them. There can be many
    delete files, because Spark writes one for each data file with deleted rows.
    """
    target = _bytes(properties, _DELETE_TARGET, 64 * _MIB)
    below = int(SMALL * target)
    groups: dict[Hashable, list[LiveFile]] = defaultdict(list)
    for file in live.deletes:
        if file.content is Content.POSITION_DELETES and file.size < below and file.of not in rewritten:
            groups[_group(file, live)].append(file)
    chosen = [group for group in groups.values() if len(group) >= MIN_FILES]
    present = {file.path for file in live.data}
    files = [file for group in chosen for file in group]
    dangling = sum(file.of is not None and file.of not in present for file in files)
    after = sum(len({file.of for file in group if file.of is None or file.of in present}) for group in chosen)
    if not files or after > _DELETES_LEFT * len(files):
        return None
    return DeleteRewrite(len(files), after, dangling, target, below)


def plan_manifests(
    live: LiveFiles, properties: Mapping[str, str], rewritten: Collection[str] = ()
) -> ManifestRewrite | None:
    """The manifests to merge after some data files have been ``rewritten``. None if a merge is not worthwhile.

    Iceberg merges only manifests of the current partition spec. It merges data and delete manifests separately.
    """
    target = _bytes(properties, _MANIFEST_TARGET, 8 * _MIB)
    removed = set(rewritten)
    emptied = live.manifests.keys() & {file.manifest for file in live.data if file.path in removed}
    emptied -= {file.manifest for file in live.files if file.path not in removed and file.manifest is not None}
    kept = [each for path, each in live.manifests.items() if path not in emptied and each.spec_id == live.spec_id]
    count = len(kept) + (1 if removed else 0)
    sizes = Counter[bool]()
    for each in kept:
        sizes[each.lists_deletes] += each.size
    after = sum(max(1, -(-size // target)) for size in sizes.values())
    if count < MIN_MANIFESTS or after > _MANIFESTS_LEFT * count:
        return None
    return ManifestRewrite(count, after, sum(sizes.values()))


def deleted_rows(live: LiveFiles) -> Counter[str]:
    """The number of deleted rows of each data file by path, from deletes that refer only to this file."""
    by_vector, by_file = Counter[str](), Counter[str]()
    for file in live.deletes:
        if file.of is not None:
            (by_vector if file.content is Content.DELETION_VECTOR else by_file)[file.of] += file.records
    return Counter({**by_file, **by_vector})  # a deletion vector replaces the earlier delete files of its data file


def _is_deleted(file: LiveFile, deleted: Mapping[str, int]) -> bool:
    return bool(deleted[file.path]) and deleted[file.path] >= DELETED * file.records


def _group(file: LiveFile, live: LiveFiles) -> Hashable:
    """The files that are rewritten together with a file: its partition, or all files of other specs."""
    return file.partition if file.spec_id == live.spec_id else None


def _is_enough(group: Sequence[LiveFile], target: int, above: int) -> bool:
    size = _size(group)
    return len(group) >= MIN_FILES or (len(group) > 1 and size > target) or size > above


def _files_after(group: Sequence[LiveFile], deleted: Mapping[str, int], target: int, below: int, above: int) -> int:
    """The number of files that Iceberg writes for a group. It distributes a small remainder over the other files."""
    size = _size(group)
    if all(deleted[file.path] >= file.records for file in group):
        return 0
    if size < target:
        return 1
    whole, rest = divmod(size, target)
    spread = rest <= below and size // whole < min(1.1 * target, (target + above) / 2)
    return whole if spread or not rest else whole + 1


def _size(files: Iterable[LiveFile]) -> int:
    return sum(file.size for file in files)


def _bytes(properties: Mapping[str, str], key: str, default: int) -> int:
    text = properties.get(key, "")
    return int(text) if text.isdecimal() and int(text) > 0 else default
