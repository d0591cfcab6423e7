"""The branches that runs stage on: which are left by crashed runs, and which may belong to a run that is under way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from ..table.history import History
from ..table.own_names import epoch_of, is_dead

LONGEST_RUN = timedelta(days=1)
"""The time after which a branch is taken for that of a crashed run."""


@dataclass(frozen=True)
class OwnBranches:
    """The branches of a model's table that runs made. ``left``: by runs that ended; ``fresh``: maybe under way."""

    left: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()


def alive(history: History, epoch: int) -> list[str]:
    """The branches of runs that can still be published, given the epoch of the table's checkpoint."""
    return sorted(name for name in history.refs if epoch_of(name) is not None and not is_dead(name, epoch))


def seen_since(names: Iterable[str], known: Iterable[History]) -> dict[str, int]:
    """Since when, at the latest, each of some branches is there: the time (ms) of the earliest metadata that has it.

    ``known``: the table's histories, newest first. One whose time is not known is passed over.
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
    """Whether what a run has made since a time is there for longer than a run takes; no where that is not known."""
    return since_ms is not None and now_ms - since_ms >= LONGEST_RUN // timedelta(milliseconds=1)


def own_branches(history: History, epoch: int, since: Mapping[str, int], now_ms: int) -> OwnBranches:
    """Sort a table's branches. ``since``: what ``seen_since`` says of those that are alive."""
    own = [name for name in history.refs if epoch_of(name) is not None]
    left = [name for name in own if is_dead(name, epoch) or is_left(since.get(name), now_ms)]
    return OwnBranches(tuple(sorted(left)), tuple(sorted(set(own) - set(left))))
