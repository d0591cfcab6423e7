"""The effect of a commit on a table's rows, from its summary alone, and the last commit that changed rows.

The operation is not sufficient, because Iceberg uses ``overwrite`` for a MERGE that changed nothing and for an INSERT
OVERWRITE of an empty partition. The counts decide. Keys and operations are those of Iceberg's ``SnapshotSummary`` and
``DataOperations``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from .history import History, Snapshot
from .releases import Capability, has, version_of

PART_KEY = "ip.part-of-epoch"
"""The summary key of a run's commits before the last one, which has the checkpoint. The value is the epoch."""


class Effect(Enum):
    """The effect of a commit on the rows of its table."""

    NONE = "none"
    """No row was added, removed or changed, as in an empty commit or a compaction."""

    APPEND = "append"
    """Rows were added, and Iceberg's append scan returns them."""

    ADDITION = "addition"
    """Rows were added and none were removed, in an ``overwrite`` commit, which Iceberg's append scan skips."""

    REWRITE = "rewrite"
    """Rows were changed or deleted, or may have been."""


_REMOVALS = (
    "deleted-data-files",
    "deleted-records",
    "added-delete-files",
    "added-position-delete-files",
    "added-equality-delete-files",
    "added-position-deletes",
    "added-equality-deletes",
    "added-dvs",
    "removed-delete-files",
    "removed-position-delete-files",
    "removed-equality-delete-files",
    "removed-position-deletes",
    "removed-equality-deletes",
    "removed-dvs",
)
_ADDITIONS = ("added-data-files", "added-records")
_COUNTS_ALL, _COUNTS_MUCH = "changed-partition-count", "total-delete-files"
"""Keys of writers that write only the counts that are not zero. Iceberg's library writes the first one and counts
everything. Writers with only the second one count additions. Some of them, such as Sail 0.7, count no removals in an
INSERT OVERWRITE. Writers without both keys count less. For example, DuckDB 1.5 counts delete files as data files, and
for an UPDATE, it writes only the totals."""

_MERGED = ("inserted", "updated", "deleted")
_WRITERS = ("spark.app.id", "flink.job-id", "trino_query_id")
"""The summary keys in which engines name the job that wrote the files. Spark's add_files sets none of them."""


def effect(snapshot: Snapshot) -> Effect:
    """The effect of a commit. Without complete counts, its operation decides, and in doubt, the effect is a rewrite."""
    operation = snapshot.operation
    if operation == "replace":
        return Effect.NONE  # by Iceberg's specification, files were replaced without changing the table's data
    if operation not in ("append", "overwrite", "delete") or any(_count(snapshot, key) for key in _REMOVALS):
        return Effect.REWRITE
    if not has_counts(snapshot):
        return Effect.APPEND if operation == "append" else Effect.REWRITE
    if not any(_count(snapshot, key) for key in _ADDITIONS):
        return Effect.NONE
    if operation == "append":
        return Effect.APPEND
    return Effect.ADDITION if operation == "overwrite" else Effect.REWRITE


def same_rows(history: History, start: int | None, end: int | None) -> bool:
    """Whether a table is known to have the same rows at two snapshots. None stands for a table without a snapshot.

    This is the case if only compactions and empty commits lead from ``start`` to ``end``.
    """
    last = None if end is None else history.snapshots.get(end)
    if last is None:
        return start == end
    commits = history.commits_since(start, last)
    if commits is None or (start is None and not begins_table(commits[0])):
        return False
    return all(effect(commit) is Effect.NONE for commit in commits)


def is_first(snapshot: Snapshot) -> bool:
    """Whether a snapshot is known to be the first one of its table: without a parent, and only with rows that it added.

    When PyIceberg 0.12 expires a snapshot, it removes the parent from the child snapshot.
    """
    if snapshot.parent_id is not None or effect(snapshot) is Effect.REWRITE or snapshot.operation == "replace":
        return False
    return all(there <= new for there, new in zip(total(snapshot)[:2], added(snapshot)[:2], strict=True))


def begins_table(snapshot: Snapshot) -> bool:
    """Whether a snapshot is known to be the first one since its table was created, without a replacement since.

    The first write to a branch starts the totals in its summary at zero. After PyIceberg has expired its parent, only
    the sequence number shows that the table had rows before.
    """
    return is_first(snapshot) and (snapshot.sequence_number or 1) <= 1


def _count(snapshot: Snapshot, key: str) -> int:
    """A count in the summary; 0 if absent. A value that is not a number counts as 1, so that it is a rewrite."""
    number = snapshot.number(key)
    return int(key in snapshot.summary) if number is None else number


def added(snapshot: Snapshot) -> tuple[int, int, int]:
    """What a commit added: (data files, rows, bytes). 0 if the summary does not contain the count."""
    return _three(snapshot, "added-data-files", "added-records", "added-files-size")


def written(snapshot: Snapshot, *, deleted: bool = True) -> int:
    """The number of rows that a statement inserted and changed and, with ``deleted``, that a MERGE deleted.

    A copy-on-write MERGE also adds the unchanged rows of the files that it rewrites, so Spark's own counts are
    preferred.
    """
    merged = merged_rows(snapshot)
    return added(snapshot)[1] if merged is None else sum(merged[: 3 if deleted else 2])


def merged_rows(snapshot: Snapshot) -> tuple[int, int, int] | None:
    """The numbers of rows that a Spark MERGE inserted, updated and deleted. None for other commits."""
    inserted, updated, deleted = (snapshot.number(f"spark.merge-into.num-target-rows-{each}") for each in _MERGED)
    if inserted is None or updated is None or deleted is None:
        return None
    return inserted, updated, deleted


def has_counts(snapshot: Snapshot) -> bool:
    """Whether the summary counts everything that a commit added and removed. Missing counts are then zero."""
    if _COUNTS_ALL in snapshot.summary:
        return True
    counts_removals = snapshot.operation == "append" or any(_count(snapshot, key) for key in _REMOVALS)
    return _COUNTS_MUCH in snapshot.summary and counts_removals


def removed(snapshot: Snapshot) -> tuple[int, int, int]:
    """What a commit removed: (data files, rows, bytes). 0 if the summary does not contain the count."""
    return _three(snapshot, "deleted-data-files", "deleted-records", "removed-files-size")


def moves_files(snapshot: Snapshot) -> bool:
    """Whether a commit may have moved existing rows to other data files, as a compaction does."""
    counts_nothing = "total-data-files" not in snapshot.summary
    return snapshot.operation == "replace" and (counts_nothing or _count(snapshot, "added-data-files") > 0)


def keeps_row_ids(snapshot: Snapshot) -> bool:
    """Whether a commit of format v3 is known to preserve the ids of the rows that it moved to other files.

    Appends move no rows, but a file that was written for another table may contain that table's ids. Spark's writers
    are trusted if their release of Iceberg is known to preserve ids. Other engines are not trusted: they use Iceberg's
    library for the commit, but have their own writers.
    """
    if effect(snapshot) is Effect.APPEND:
        return writes_new_files(snapshot)
    is_spark_3 = snapshot.summary.get("engine-version", "").startswith("3.")
    moving = Capability.MOVES_ROWS_WITH_IDS_ON_SPARK_3 if is_spark_3 else Capability.MOVES_ROWS_WITH_IDS
    if snapshot.summary.get("engine-name") != "spark" or not is_able(snapshot, moving):
        return False
    if is_able(snapshot, Capability.REWRITES_MANIFESTS_WITH_IDS):
        return True
    # Only a commit that removed something is known not to be a rewrite of manifests.
    return snapshot.operation != "replace" or any(_count(snapshot, key) for key in _REMOVALS)


def keeps_sequence_numbers(snapshot: Snapshot) -> bool:
    """Whether a commit also does not increase the sequence numbers of rows that it did not change.

    A writer that cannot read row lineage from some format gives the sequence number of their file to the rows that it
    moves, and the format of a file that no longer exists is unknown. Net changes then contain more rows, which cancel
    out. Rows read only by their sequence numbers would be returned again.
    """
    if not keeps_row_ids(snapshot):
        return False
    return effect(snapshot) is Effect.APPEND or is_able(snapshot, Capability.READS_LINEAGE_FROM_ALL)


def writes_new_files(snapshot: Snapshot) -> bool:
    """Whether the files that a commit added were written for it, so that the table did not have them before.

    ``add_files`` adds existing files. Without its check for duplicates, it can add a file twice.
    """
    if snapshot.operation == "replace" or any(key in snapshot.summary for key in _WRITERS):
        return True
    return has_counts(snapshot) and not _count(snapshot, "added-data-files")


def has_only_own_files(history: History, snapshot_id: int | None) -> bool:
    """Whether all known commits up to a snapshot wrote their own files."""
    return all(map(writes_new_files, history.ancestors(snapshot_id)))


def may_repeat_files(history: History, snapshot_id: int) -> bool:
    """Whether a table may have a file twice. Excluded only if all commits are known and wrote their own files."""
    commits = list(history.ancestors(snapshot_id))
    return not is_first(commits[-1]) or not all(map(writes_new_files, commits))


def may_undelete(snapshot: Snapshot) -> bool:
    """Whether rows that were deleted in place may exist again after a commit, because it removed delete files.

    Engines and compactions copy the positions of the delete files that they remove into new ones.
    """
    if snapshot.operation == "replace" or any(key in snapshot.summary for key in _WRITERS):
        return False
    removals = [key for key in _REMOVALS if key.startswith("removed-")]
    return not has_counts(snapshot) or any(_count(snapshot, key) for key in removals)


def changes_delete_files(snapshot: Snapshot) -> bool:
    """Whether a commit added or removed delete files, or may have done so because its summary has no counts."""
    deletes = [key for key in _REMOVALS if "delete-files" in key or key.endswith(("deletes", "dvs"))]
    return not has_counts(snapshot) or any(_count(snapshot, key) for key in deletes)


def units(commits: Sequence[Snapshot]) -> Iterator[tuple[Snapshot, ...]]:
    """Commits grouped by run, because one run may consist of several commits.

    Between the commits of a run, the table has an intermediate state: new rows are next to the rows that they replace.
    """
    unit: list[Snapshot] = []
    for snapshot in commits:
        unit.append(snapshot)
        if PART_KEY not in snapshot.summary:
            yield tuple(unit)
            unit = []
    if unit:
        yield tuple(unit)


def is_able(snapshot: Snapshot, capability: Capability) -> bool:
    """Whether Iceberg's own library wrote a commit, in a release that is known to have a capability."""
    return has(version_of(snapshot.summary.get("iceberg-version", "")), capability)


def total(snapshot: Snapshot) -> tuple[int, int, int]:
    """What the table contains at a snapshot: (data files, rows, bytes). 0 if the summary does not contain the count."""
    return _three(snapshot, "total-data-files", "total-records", "total-files-size")


def _three(snapshot: Snapshot, files: str, records: str, size: str) -> tuple[int, int, int]:
    return snapshot.number(files) or 0, snapshot.number(records) or 0, snapshot.number(size) or 0


_NO_ROW = (0, 0, 0)


@dataclass(frozen=True)
class LastChangeExpired:
    """The commit that last changed rows has expired. It was before ``known``, the oldest remaining commit.

    ``known``: None if not even the table's current snapshot is known.
    """

    known: Snapshot | None


def last_change(history: History, older: Iterable[History] = ()) -> Snapshot | LastChangeExpired | None:
    """The last commit on ``main`` that added, changed or deleted rows. None if the table never had any.

    Compactions and empty commits are skipped. If a parent has expired, ``older`` histories (newest first, read only in
    this case) complete the history.
    """
    remaining = iter(older)
    known = dict(history.snapshots)
    wanted, reached = history.current_snapshot_id, None
    while wanted is not None:
        while wanted not in known:
            earlier = next(remaining, None)
            if earlier is None:
                return LastChangeExpired(reached)
            if earlier.table_uuid == history.table_uuid:
                known = {**earlier.snapshots, **known}
        reached = known[wanted]
        if changes_rows(reached):
            return reached
        wanted = reached.parent_id
    return None if reached is None or is_first(reached) else LastChangeExpired(reached)


def changes_rows(commit: Snapshot) -> bool:
    """Whether a commit changed rows, or may have because its summary has no counts.

    A copy-on-write MERGE may rewrite files without changing a row. Spark's own counts show this.
    """
    return effect(commit) is not Effect.NONE and merged_rows(commit) != _NO_ROW
