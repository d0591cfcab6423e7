"""Remaining additions: rows that a range added and that still exist at its end, if the range changes no older row.

An append scan also returns rows that a later commit of the range deleted. If the table still has every data file of the
start, with the same deleted rows, then all older rows are unchanged. The rows of all other data files, with their
deletes applied, are the rows that the range adds. The manifests of the two ends prove this, regardless of how commits
in between deleted or rewrote rows that the range had added.
"""

from __future__ import annotations

from ..table.commits import Effect, effect
from ..table.files import ChangedFiles
from .changes import Rewritten, net_changes, nothing_new, sums
from .ranges import NetChanges, NetRange, Nothing
from .recovery import MOST_FILES


def only_adds(changed: ChangedFiles) -> bool:
    """Whether all rows of the start are known to be unchanged at the end, with all new rows in separate files.

    False if the files are unknown, if their names cannot identify the rows, or if there are too many to list.
    """
    files = changed.files
    if files is None or changed.reserved:
        return False
    keeps_start = not files.at_start and not files.with_other_deletes and not files.has_repeated
    return keeps_start and len(files.at_end) <= MOST_FILES


def plan_remaining(found: Rewritten, changed: ChangedFiles) -> NetChanges | Nothing:
    """The rows that a range added and that still exist at its end. ``changed``: the difference; it only adds rows."""
    history, position, end = found.history, found.position, found.end
    assert changed.files is not None
    if not changed.files.at_end:
        return nothing_new(history, position, end)
    bringing = [commit for commit in found.commits or () if effect(commit) is not Effect.NONE]
    counts = sums([(1, file.records, file.size) for file in changed.files.at_end], len(bringing), at_most=True)
    return net_changes(history, position, end, counts, NetRange(history.table, None, end.snapshot_id, changed))
