"""Distinguishes staging branches that crashed runs left behind from those that may belong to a run in progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from ..table.history import History
from ..table.own_names import epoch_of, is_dead

LONGEST_RUN = timedelta(days=1)
"""The age at which a branch is assumed to belong to a crashed run."""


@dataclass(frozen=True)
class OwnBranches:
    """The staging branches of a model's table.

    ``left``: branches that runs left behind. ``fresh``: branches that may belong to a run in progress.
    """

    left: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()


def alive(history: History, epoch: int) -> list[str]:
    """The staging branches whose runs can still publish, given the epoch of the table's checkpoint."""
    return sorted(name for name in history.refs if epoch_of(name) is not None and not is_dead(name, epoch))


def seen_since(names: Iterable[str], known: Iterable[History]) -> dict[str, int]:
    """The latest possible creation time (ms) of each branch: the time of the oldest metadata that contains it.

    ``known``: the table's histories, newest first. Histories with an unknown time are skipped.
    """
    since: dict[str, int] = {}
    wanted = set(names)
    for history in known:
        wanted &= history.refs.keys()
        if not wanted:
            break
        if history.updated_ms is not None:
            since |= dict.fromkeys(wanted, history.updated_ms)
    return since


def is_left(since_ms: int | None, now_ms: int) -> bool:
    """Whether a branch or table that a run created is older than the longest run. False if its age is unknown."""
    return since_ms is not None and now_ms - since_ms >= LONGEST_RUN // timedelta(milliseconds=1)


def own_branches(history: History, epoch: int, since: Mapping[str, int], now_ms: int) -> OwnBranches:
    """Classify a table's staging branches. ``since``: the result of ``seen_since`` for the branches in ``alive``."""
    own = [name for name in history.refs if epoch_of(name) is not None]
    left = [name for name in own if is_dead(name, epoch) or is_left(since.get(name), now_ms)]
    return OwnBranches(tuple(sorted(left)), tuple(sorted(set(own) - set(left))))
