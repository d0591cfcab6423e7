"""Plans expiry: which snapshots of a table can expire, given the table's retention and its readers.

Iceberg's own rules (``RemoveSnapshots``), which ``expired`` reproduces, select the snapshots. This module only chooses
the time before which snapshots expire. It is never later than the time of the oldest snapshot that is still needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from ..table.clone import clone_of
from ..table.history import MAIN, History, Retention
from ..table.retention import max_ref_age_ms, max_snapshot_age_ms, min_snapshots_to_keep

_GC = "gc.enabled"
_REMOVED_BYTES = "removed-files-size"


@dataclass(frozen=True)
class Expiry:
    """The snapshots to expire.

    ``of``: the total number of snapshots. ``refs``: the branches and tags that expire. ``older_than_ms``: the time
    before which snapshots expire. ``keeps``: the minimum number of snapshots that remain on each branch. ``size``: the
    bytes of the files that only these snapshots use, as far as commit summaries show them.
    """

    snapshots: tuple[int, ...]
    of: int
    refs: tuple[str, ...]
    older_than_ms: int
    keeps: int
    size: int


@dataclass(frozen=True)
class RetainedForReader:
    """Snapshots that are kept beyond the table's retention. Model ``by`` needs all snapshots since ``since_ms``."""

    by: str
    since_ms: int
    snapshots: int


@dataclass(frozen=True)
class ExpiryRisk:
    """An expiry would remove snapshots that ``by`` still needs, because ``branch`` has its own retention.

    ``by``: a model, or the table itself. ``branch``: None if the cause is commit times that are not in order.
    """

    by: str
    branch: str | None


def is_collected(history: History) -> bool:
    """Whether the files of expired snapshots may be removed. False if other tables may use the same files."""
    return clone_of(history) is None and history.properties.get(_GC, "true").lower() != "false"


def plan_expiry(
    history: History,
    own: frozenset[int],
    needs: Mapping[str, frozenset[int]],
    now_ms: int,
    max_age: timedelta | None = None,
) -> tuple[Expiry | None, RetainedForReader | ExpiryRisk | None]:
    """The expiry to execute, and the reader that restricts it.

    ``own``: the snapshots that the table itself needs. ``needs``: the snapshots that each reader needs, by its name.
    ``max_age``: the maximum age of snapshots, which overrides the table's own value.
    """
    age_ms = max_snapshot_age_ms(history.properties)
    if max_age is not None:
        age_ms = max_age // timedelta(milliseconds=1)
    keeps = min_snapshots_to_keep(history.properties)
    present = {name: ids & history.snapshots.keys() for name, ids in needs.items()}
    oldest = {name: _oldest(history, ids) for name, ids in present.items() if ids}
    due_ms = min(now_ms - age_ms, _oldest(history, own & history.snapshots.keys(), default=now_ms))
    by, since_ms = min(oldest.items(), key=lambda item: item[1], default=("", due_ms))
    older_than_ms = min(due_ms, since_ms)
    expiring = expired(history, older_than_ms, keeps, now_ms)
    for name, ids in {**needs, str(history.table): own}.items():
        if ids & expiring:
            return None, ExpiryRisk(name, _branch_of(history, ids & expiring))
    held = None
    if more := expired(history, due_ms, keeps, now_ms) - expiring:
        held = RetainedForReader(by, since_ms, len(more))
    refs = sorted(history.refs.keys() - _kept_refs(history, now_ms).refs.keys())
    if not expiring and not refs:
        return None, held
    size = _freed(history, expiring)
    return Expiry(tuple(sorted(expiring)), len(history.snapshots), tuple(refs), older_than_ms, keeps, size), held


def expired(history: History, older_than_ms: int, keeps: int, now_ms: int) -> frozenset[int]:
    """The snapshots that Iceberg's ``expire_snapshots`` removes.

    On each remaining branch, it keeps the newest snapshots up to the first one that is older, but at least ``keeps``
    snapshots. A branch's own retention overrides both limits. Other snapshots are kept if they are tagged, or if they
    are on no branch and not older.
    """
    known = _kept_refs(history, now_ms)
    kept = set(known.refs.values())
    on_branches: set[int] = set()
    for name, head in known.refs.items():
        own = known.branches.get(name)
        if own is None:
            continue
        least = keeps if own.min_snapshots is None else own.min_snapshots
        before_ms = older_than_ms if own.max_age_ms is None else now_ms - own.max_age_ms
        is_kept = True
        for number, snapshot in enumerate(known.ancestors(head)):
            on_branches.add(snapshot.snapshot_id)
            is_kept = is_kept and (number < least or snapshot.timestamp_ms >= before_ms)
            if is_kept:
                kept.add(snapshot.snapshot_id)
    kept |= {
        snapshot.snapshot_id
        for snapshot in known.snapshots.values()
        if snapshot.snapshot_id not in on_branches and snapshot.timestamp_ms >= older_than_ms
    }
    return frozenset(known.snapshots.keys() - kept)


def without_branches(history: History, names: tuple[str, ...]) -> History:
    """The history after some branches have been dropped."""
    return replace(history, refs={name: head for name, head in history.refs.items() if name not in names})


def _oldest(history: History, ids: Iterable[int], default: int = 0) -> int:
    """The time of the oldest of several snapshots."""
    return min((history.snapshots[each].timestamp_ms for each in ids), default=default)


def _kept_refs(history: History, now_ms: int) -> History:
    """The history without the refs that are older than their own or the table's maximum age."""
    default = max_ref_age_ms(history.properties)

    def is_kept(name: str, head: int) -> bool:
        snapshot = history.snapshots.get(head)
        age_ms = history.ref_ages.get(name, default)
        return name == MAIN or (snapshot is not None and now_ms - snapshot.timestamp_ms <= age_ms)

    return replace(history, refs={name: head for name, head in history.refs.items() if is_kept(name, head)})


def _branch_of(history: History, ids: frozenset[int]) -> str | None:
    """A branch with its own retention that contains one of these snapshots. None if there is none."""
    for name, own in history.branches.items():
        if own != Retention() and any(each.snapshot_id in ids for each in history.ancestors(history.refs.get(name))):
            return name
    return None


def _freed(history: History, expiring: frozenset[int]) -> int:
    """The bytes of files that were removed by commits whose parents expire. No remaining snapshot of main has them."""
    chain = history.ancestors(history.current_snapshot_id)
    return sum(each.number(_REMOVED_BYTES) or 0 for each in chain if each.parent_id in expiring)
