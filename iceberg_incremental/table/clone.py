"""Clones: separate tables in the catalog that use the files of another table.

A clone has the snapshots, the checkpoint and the UUID of its origin, so readers of the origin can continue with the
clone. A clone must never remove files, because they belong to its origin. A branch of the origin keeps these files
until it expires.
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
"""How long an origin keeps the files of a clone by default."""
_BRANCH = "ip_cloned_by."
_UNFINISHED = re.compile(r"(.+)__ip_clone_([0-9a-f]{11})[0-9a-f]{6}", re.DOTALL)
_LONGEST_CLONE_MS = 3_600_000
"""The age in milliseconds after which an unfinished clone is considered the leftover of a crash."""
_MINUTE_MS = 60_000
NO_REMOVAL = {
    "gc.enabled": "false",  # with these, Iceberg refuses to expire snapshots, to remove orphan files, and to purge
    "write.metadata.delete-after-commit.enabled": "false",
}
_FOLDERS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
"""The properties that would make a clone write into folders of its origin."""


@dataclass(frozen=True)
class Clone:
    """The properties of a clone. ``kept_until_ms``: until when the origin keeps the files; None if unknown."""

    origin: TableName
    kept_until_ms: int | None


@dataclass(frozen=True)
class KeepingBranch:
    """The branch of an origin that keeps the files of a clone.

    ``snapshots``: the number of snapshots, from the newest one back. ``minutes``: the retention of the branch, counted
    from its newest commit, as in Iceberg.
    """

    name: str
    head: int
    snapshots: int
    minutes: int

    def sql(self, origin: TableName) -> str:
        """The statement that creates or replaces the branch."""
        return (
            f"ALTER TABLE {origin.sql} CREATE OR REPLACE BRANCH {sql_name(self.name)} AS OF VERSION {self.head} "
            f"RETAIN {self.minutes} MINUTES WITH SNAPSHOT RETENTION {self.snapshots} SNAPSHOTS"
        )


def clone_of(history: History) -> Clone | None:
    """The origin of a table, from its properties. None if the table is not a clone."""
    origin = TableName.parse(history.properties.get(ORIGIN_KEY, ""))
    kept = history.properties.get(KEPT_KEY, "")
    return None if origin is None else Clone(origin, int(kept) if kept.isdecimal() else None)


def clone_token(now_ms: int, chance: str) -> str:
    """The suffix of names in one attempt to clone. ``chance``: six random hexadecimal digits."""
    return f"{now_ms:011x}{chance}"


def unfinished(clone: TableName, token: str) -> TableName:
    """The temporary name of a clone that is not complete. Each attempt has its own name."""
    return replace(clone, name=f"{clone.name}__ip_clone_{token}")


def is_left_unfinished(clone: TableName, name: str, now_ms: int) -> bool:
    """Whether a table with this name is the leftover of a crashed attempt to create a clone."""
    match = _UNFINISHED.fullmatch(name)
    if match is None or match[1].lower() != clone.name.lower():
        return False
    return now_ms - int(match[2], 16) > _LONGEST_CLONE_MS


def keeping_branch(
    origin: History, clone: TableName, token: str, time: timedelta, now_ms: int, head: int | None = None
) -> KeepingBranch | None:
    """The branch that keeps an origin's snapshots for a period from now. None for a table without a snapshot.

    Each clone has its own branch, identified by ``token``, because other tables may use the files of a clone that is
    replaced. ``head``: the newest snapshot to keep, by default the current one.
    """
    newest = origin.current if head is None else origin.snapshots.get(head)
    if newest is None:
        return None
    age_ms = max(now_ms - newest.timestamp_ms, 0) + time / timedelta(milliseconds=1)
    snapshots = sum(1 for _ in origin.ancestors(newest.snapshot_id))
    return KeepingBranch(f"{_BRANCH}{clone}.{token}", newest.snapshot_id, snapshots, math.ceil(age_ms / _MINUTE_MS))


def properties_of(origin: History, time: timedelta, now_ms: int) -> Mapping[str, str]:
    """The properties that a clone has in addition to those of its origin."""
    until_ms = now_ms + time // timedelta(milliseconds=1)
    of_origin = clone_of(origin)
    if of_origin is not None and of_origin.kept_until_ms is not None:
        until_ms = min(until_ms, of_origin.kept_until_ms)
    return {**NO_REMOVAL, ORIGIN_KEY: str(origin.table), KEPT_KEY: str(until_ms)}


def still_forbidden(table: History | None, wanted: Collection[str]) -> Mapping[str, str]:
    """The properties that a table must keep when it is replaced. Empty unless the table is a clone.

    The log of a clone that is replaced still lists metadata files of its origin, including the current one. ``wanted``:
    the names of the properties of the new table.
    """
    if table is None or clone_of(table) is None:
        return {}
    return {key: value for key, value in NO_REMOVAL.items() if key in wanted}


def may_remove_files(table: History) -> bool:
    """Whether the properties of a clone let Iceberg remove files, which may belong to its origin."""
    if clone_of(table) is None:
        return False
    removes = {"gc.enabled": "true", **table.properties}  # Iceberg's default
    return any(removes.get(key, "").lower() == "true" for key in NO_REMOVAL)


def folders_of(origin: History) -> list[str]:
    """The properties of an origin that its clone must not have."""
    return [key for key in _FOLDERS if key in origin.properties]


def refs_to_drop(history: History) -> Mapping[str, bool]:
    """The origin's branches and tags, which have no meaning in the clone, and whether each is a branch."""
    return {name: name in history.branches for name in sorted(history.refs) if name != MAIN}


def in_clones(checkpoint: Checkpoint, sources: Mapping[TableName, History]) -> Checkpoint:
    """The checkpoint of a cloned table, in which cloned sources have the names of their clones.

    ``sources``: the current histories of the sources that the model reads. A clone has the snapshots of its origin.
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
