"""What one commit did to a table's rows, judged by its summary alone.

The operation is not enough: Iceberg calls a MERGE that changed nothing ``overwrite``, as it calls an INSERT OVERWRITE
of an empty partition, so the counts decide. Keys and operations: Iceberg's ``SnapshotSummary`` and ``DataOperations``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum

from .history import History, Snapshot

PART_KEY = "ip.part-of-epoch"
"""In the summary of a snapshot that a run committed before the one that carries the checkpoint of this epoch."""


class Effect(Enum):
    """The effect of a commit on the rows of its table."""

    NONE = "none"
    """No row came, went or changed: a commit of nothing, or a compaction."""

    APPEND = "append"
    """Rows came, and Iceberg's append scan sees them."""

    ADDITION = "addition"
    """Rows came and none went, but in an ``overwrite`` commit, which Iceberg's append scan skips."""

    REWRITE = "rewrite"
    """Rows were changed or deleted, or it cannot be excluded that they were."""


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
# Iceberg's writers put the totals into every summary, and the counts of a commit only where they are not zero.
_COUNTED = ("total-records", "total-data-files", "changed-partition-count", *_REMOVALS, *_ADDITIONS)

_MERGED = ("inserted", "updated", "deleted")
_WRITERS = ("spark.app.id", "flink.job-id", "trino_query_id")
"""Keys of the summary by which engines name the job that wrote the files. Spark's add_files sets none of them."""

_LIBRARY = re.compile(r"Apache Iceberg (\d+)\.(\d+)")


def effect(snapshot: Snapshot) -> Effect:
    """Judge a commit. A summary without counts is judged by its operation, and by the worse of what it may mean."""
    operation = snapshot.operation
    if operation == "replace":
        return Effect.NONE  # by Iceberg's specification: files were replaced without changing the table's data
    if operation not in ("append", "overwrite", "delete"):
        return Effect.REWRITE
    if not has_counts(snapshot):
        return Effect.APPEND if operation == "append" else Effect.REWRITE
    if any(_count(snapshot, key) for key in _REMOVALS):
        return Effect.REWRITE
    if not any(_count(snapshot, key) for key in _ADDITIONS):
        return Effect.NONE
    if operation == "append":
        return Effect.APPEND
    return Effect.ADDITION if operation == "overwrite" else Effect.REWRITE


def same_rows(history: History, start: int | None, end: int | None) -> bool:
    """Whether a table is known to have the same rows at two of its snapshots, None being a table without one.

    That is where ``end`` comes from ``start`` by compactions and commits of nothing.
    """
    last = None if end is None else history.snapshots.get(end)
    if last is None:
        return start == end
    commits = history.commits_since(start, last)
    if commits is None or (start is None and not is_first(commits[0])):
        return False
    return all(effect(commit) is Effect.NONE for commit in commits)


def is_first(snapshot: Snapshot) -> bool:
    """Whether a snapshot is known to be the first of its table: it has no parent, and no rows but those it added.

    PyIceberg's expiry (0.12) takes the parent away from a snapshot whose parent it removes.
    """
    if snapshot.parent_id is not None or effect(snapshot) is Effect.REWRITE or snapshot.operation == "replace":
        return False
    return all(there <= new for there, new in zip(total(snapshot)[:2], added(snapshot)[:2], strict=True))


def _count(snapshot: Snapshot, key: str) -> int:
    """A count of the summary, 0 where it is absent; what is not a number counts as 1, which errs towards a rewrite."""
    number = snapshot.number(key)
    return int(key in snapshot.summary) if number is None else number


def added(snapshot: Snapshot) -> tuple[int, int, int]:
    """What a commit added: (data files, records, bytes); 0 where the summary does not say."""
    return _three(snapshot, "added-data-files", "added-records", "added-files-size")


def written(snapshot: Snapshot, *, deleted: bool = True) -> int:
    """How many rows a statement inserted, changed and, if it is a MERGE, ``deleted``.

    A copy-on-write MERGE adds the rows of its files that it left as they are too, so Spark's own counts come first.
    """
    merged = merged_rows(snapshot)
    return added(snapshot)[1] if merged is None else sum(merged[: 3 if deleted else 2])


def merged_rows(snapshot: Snapshot) -> tuple[int, int, int] | None:
    """How many rows a MERGE of Spark's inserted, updated and deleted; None for another commit."""
    inserted, updated, deleted = (snapshot.number(f"spark.merge-into.num-target-rows-{each}") for each in _MERGED)
    if inserted is None or updated is None or deleted is None:
        return None
    return inserted, updated, deleted


def has_counts(snapshot: Snapshot) -> bool:
    """Whether the summary counts what a commit added and removed: it then has the counts that are not zero."""
    return any(key in snapshot.summary for key in _COUNTED)


def removed(snapshot: Snapshot) -> tuple[int, int, int]:
    """What a commit removed: (data files, records, bytes); 0 where the summary does not say."""
    return _three(snapshot, "deleted-data-files", "deleted-records", "removed-files-size")


def moves_files(snapshot: Snapshot) -> bool:
    """Whether a commit may have put rows that were there into other data files, as a compaction does."""
    counts_nothing = "total-data-files" not in snapshot.summary
    return snapshot.operation == "replace" and (counts_nothing or _count(snapshot, "added-data-files") > 0)


def keeps_row_ids(snapshot: Snapshot) -> bool:
    """Whether a commit of format v3 can be trusted with the ids of rows that it moved to other files.

    Appends move none, but a file that was not written for this table may hold the ids of another one. In Spark,
    releases of Iceberg before 1.12 lost some. Of other engines nothing is known: they share Iceberg's library, which
    signs the commit, but bring writers of their own.
    """
    if effect(snapshot) is Effect.APPEND:
        return writes_new_files(snapshot)
    return is_written_by(snapshot, (1, 12)) and snapshot.summary.get("engine-name") == "spark"


def writes_new_files(snapshot: Snapshot) -> bool:
    """Whether the files that a commit added were written for it, so that the table did not have them before.

    ``add_files`` takes files as they are: a second time too, where it is asked not to check that.
    """
    if snapshot.operation == "replace" or any(key in snapshot.summary for key in _WRITERS):
        return True
    return has_counts(snapshot) and not _count(snapshot, "added-data-files")


def may_repeat_files(history: History, snapshot_id: int) -> bool:
    """Whether a table may have a file more than once: unless all commits are known, and wrote their files."""
    commits = list(history.ancestors(snapshot_id))
    return not is_first(commits[-1]) or not all(map(writes_new_files, commits))


def may_undelete(snapshot: Snapshot) -> bool:
    """Whether rows that were deleted in place may be back after a commit: it removed delete files, for unknown reasons.

    Engines and compactions put the positions of the delete files that they remove into new ones.
    """
    if snapshot.operation == "replace" or any(key in snapshot.summary for key in _WRITERS):
        return False
    removals = [key for key in _REMOVALS if key.startswith("removed-")]
    return not has_counts(snapshot) or any(_count(snapshot, key) for key in removals)


def changes_delete_files(snapshot: Snapshot) -> bool:
    """Whether a commit added or removed delete files, or may have: its summary has no counts."""
    deletes = [key for key in _REMOVALS if "delete-files" in key or key.endswith(("deletes", "dvs"))]
    return not has_counts(snapshot) or any(_count(snapshot, key) for key in deletes)


def units(commits: Sequence[Snapshot]) -> Iterator[tuple[Snapshot, ...]]:
    """Commits in the units that their writers meant: a run of ours may make one unit of several.

    Within a unit the table is not what anybody wrote: new rows are there beside those that they replace.
    """
    unit: list[Snapshot] = []
    for snapshot in commits:
        unit.append(snapshot)
        if PART_KEY not in snapshot.summary:
            yield tuple(unit)
            unit = []
    if unit:
        yield tuple(unit)


def is_written_by(snapshot: Snapshot, least: tuple[int, int]) -> bool:
    """Whether a commit says that Iceberg's own library wrote it, in this version (major, minor) or a later one."""
    version = _LIBRARY.match(snapshot.summary.get("iceberg-version", ""))
    return version is not None and (int(version[1]), int(version[2])) >= least


def total(snapshot: Snapshot) -> tuple[int, int, int]:
    """What the table holds at a snapshot: (data files, records, bytes); 0 where the summary does not say."""
    return _three(snapshot, "total-data-files", "total-records", "total-files-size")


def _three(snapshot: Snapshot, files: str, records: str, size: str) -> tuple[int, int, int]:
    return snapshot.number(files) or 0, snapshot.number(records) or 0, snapshot.number(size) or 0
