"""Clones: tables of their own in the catalog, with the files of another table.

A clone has the snapshots, the checkpoint and the UUID of its origin, so that whatever has read the origin goes on from
there. It must never remove a file: its files are the origin's. The origin keeps them by a branch, until its time is up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from ..names import sql_name
from .checkpoint import Checkpoint
from .history import MAIN, History, TableName

ORIGIN_KEY = "ip.cloned-from"
KEPT_KEY = "ip.files-kept-until"
RETENTION = timedelta(days=7)
"""For how long an origin keeps the files of a clone, unless somebody says otherwise."""
_BRANCH = "ip_cloned_by."
_UNFINISHED = re.compile(r"(.+)__ip_clone_([0-9a-f]{11})[0-9a-f]{6}", re.DOTALL)
_LONGEST_CLONE_MS = 3_600_000
"""The time after which an unfinished clone counts as left by a crash."""
_MINUTE_MS = 60_000
NO_REMOVAL = {
    "gc.enabled": "false",  # so that Iceberg refuses to expire snapshots, to remove orphan files, and to purge
    "write.metadata.delete-after-commit.enabled": "false",
}
_FOLDERS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
"""The properties by which a table would write into the folders of another one."""


@dataclass(frozen=True)
class Clone:
    """What a clone's properties say. ``kept_until_ms``: until when the origin keeps the files; None: not known."""

    origin: TableName
    kept_until_ms: int | None


@dataclass(frozen=True)
class KeepingBranch:
    """The branch by which an origin keeps the files of a clone.

    ``snapshots``: how many, from the head back. ``minutes``: the age that the branch allows, counted from the head's
    commit, as Iceberg does.
    """

    name: str
    head: int
    snapshots: int
    minutes: int

    def sql(self, origin: TableName) -> str:
        """The statement that makes it, or makes it again."""
        return (
            f"ALTER TABLE {origin.sql} CREATE OR REPLACE BRANCH {sql_name(self.name)} AS OF VERSION {self.head} "
            f"RETAIN {self.minutes} MINUTES WITH SNAPSHOT RETENTION {self.snapshots} SNAPSHOTS"
        )


def clone_of(history: History) -> Clone | None:
    """What a table says of its origin; None for one that is no clone."""
    origin = TableName.parse(history.properties.get(ORIGIN_KEY, ""))
    kept = history.properties.get(KEPT_KEY, "")
    return None if origin is None else Clone(origin, int(kept) if kept.isdecimal() else None)


def clone_token(now_ms: int, chance: str) -> str:
    """What the names of one attempt to clone end with. ``chance``: six hexadecimal digits."""
    return f"{now_ms:011x}{chance}"


def unfinished(clone: TableName, token: str) -> TableName:
    """The name that a clone has until it is complete; each attempt has its own."""
    return replace(clone, name=f"{clone.name}__ip_clone_{token}")


def is_left_unfinished(clone: TableName, name: str, now_ms: int) -> bool:
    """Whether a table of this name is what a crash has left of an attempt to make a clone."""
    match = _UNFINISHED.fullmatch(name)
    if match is None or match[1].lower() != clone.name.lower():
        return False
    return now_ms - int(match[2], 16) > _LONGEST_CLONE_MS


def keeping_branch(
    origin: History, clone: TableName, token: str, time: timedelta, now_ms: int, head: int | None = None
) -> KeepingBranch | None:
    """The branch that keeps the snapshots of an origin for a time from now on; None for a table without a snapshot.

    Each clone has a branch of its own, by its ``token``: other tables may have the files of the clone that it replaces.
    ``head``: the newest snapshot, by default the table's own head.
    """
    newest = origin.current if head is None else origin.snapshots.get(head)
    if newest is None:
        return None
    age_ms = max(now_ms - newest.timestamp_ms, 0) + time / timedelta(milliseconds=1)
    snapshots = sum(1 for _ in origin.ancestors(newest.snapshot_id))
    return KeepingBranch(f"{_BRANCH}{clone}.{token}", newest.snapshot_id, snapshots, math.ceil(age_ms / _MINUTE_MS))


def properties_of(origin: History, time: timedelta, now_ms: int) -> Mapping[str, str]:
    """The properties of a clone that its origin does not have."""
    until_ms = now_ms + time // timedelta(milliseconds=1)
    of_origin = clone_of(origin)
    if of_origin is not None and of_origin.kept_until_ms is not None:
        until_ms = min(until_ms, of_origin.kept_until_ms)
    return {**NO_REMOVAL, ORIGIN_KEY: str(origin.table), KEPT_KEY: str(until_ms)}


def still_forbidden(table: History | None, wanted: Collection[str]) -> Mapping[str, str]:
    """The properties that a table must keep although others are wanted when it is replaced; none unless it is a clone.

    The log of a clone that is replaced still names metadata files of its origin, among them the present one.
    ``wanted``: the names of the properties that it is to be made with.
    """
    if table is None or clone_of(table) is None:
        return {}
    return {key: value for key, value in NO_REMOVAL.items() if key in wanted}


def may_remove_files(table: History) -> bool:
    """Whether a clone has properties by which Iceberg removes files, which may be its origin's."""
    if clone_of(table) is None:
        return False
    removes = {"gc.enabled": "true", **table.properties}  # Iceberg's default
    return any(removes.get(key, "").lower() == "true" for key in NO_REMOVAL)


def folders_of(origin: History) -> list[str]:
    """The properties of an origin that its clone must not have."""
    return [key for key in _FOLDERS if key in origin.properties]


def refs_to_drop(history: History) -> Mapping[str, bool]:
    """The branches and tags of an origin, which mean nothing in its clone; of each, whether it is a branch."""
    return {name: name in history.branches for name in sorted(history.refs) if name != MAIN}


def in_clones(checkpoint: Checkpoint, sources: Mapping[TableName, History]) -> Checkpoint:
    """The checkpoint of a cloned table, with the names of clones for the sources that were cloned, too.

    ``sources``: those that the model reads now, as they are. A clone has the snapshots of its origin.
    """
    names: dict[str, str] = {}
    for table, history in sources.items():
        found = clone_of(history)
        if found is not None and str(table) not in checkpoint.sources and str(found.origin) in checkpoint.sources:
            names.setdefault(str(found.origin), str(table))
    if not names:
        return checkpoint
    return replace(
        checkpoint,
        sources={names.get(name, name): position for name, position in checkpoint.sources.items()},
        shares={names.get(name, name): share for name, share in checkpoint.shares.items()},
    )
