"""The time at which a table's rows last changed, from the summaries of its commits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .commits import Effect, effect, is_first, merged_rows
from .history import History, Snapshot

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
