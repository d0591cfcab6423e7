"""The runs of a model, from its ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iceberg_incremental.table.commits import total
from iceberg_incremental.table.history import History
from iceberg_incremental.table.row_counts import VersionCounts, versions_written
from iceberg_incremental.table.shares import Share

from .ledger import Entry, Ledger, Totals


@dataclass(frozen=True)
class ReadView:
    """A run's read of one source: a line of the ledger. ``read`` is None if the amounts are no longer known."""

    source: str
    kind: str
    from_snapshot_id: int | None
    to_snapshot_id: int | None
    snapshots: int | None
    read: Share | None


@dataclass(frozen=True)
class RunView:
    """A run that committed. ``snapshot_id``: None if it only moved the checkpoint. ``versions``: of a history.

    ``rewrote_all``: whether it replaced all rows of the table, as a rebuild does. None for the first build, and if the
    run wrote no rows or its snapshot has expired.
    """

    epoch: int
    invocation_id: str
    snapshot_id: int | None
    committed_at_ms: int | None
    rows_added: int
    rows_removed: int
    sources: Sequence[ReadView]
    versions: VersionCounts | None = None
    rewrote_all: bool | None = None


def runs_of(target: History, found: Ledger, known: Sequence[Entry]) -> list[RunView]:
    """The runs in a ledger, oldest first, without positions that were set by hand. ``known``: its checkpoints."""
    totals = {each.epoch: each for each in found.totals}
    runs: list[RunView] = []
    for entry in known:
        checkpoint, rows = entry.checkpoint, totals.get(entry.checkpoint.epoch)
        lines = [line for line in found.lines if line.epoch == checkpoint.epoch]
        if all(line.kind == "by_hand" for line in lines):
            continue
        runs.append(
            RunView(
                epoch=checkpoint.epoch,
                invocation_id=checkpoint.invocation_id,
                snapshot_id=None if entry.snapshot is None else entry.snapshot.snapshot_id,
                committed_at_ms=None if entry.snapshot is None else entry.snapshot.timestamp_ms,
                rows_added=0 if rows is None else rows.rows_added,
                rows_removed=0 if rows is None else rows.rows_removed,
                sources=[
                    ReadView(
                        each.source, each.kind, each.from_snapshot_id, each.to_snapshot_id, each.snapshots, each.share
                    )
                    for each in lines
                ],
                versions=versions_written(target, checkpoint, entry.snapshot),
                rewrote_all=_rewrote_all(entry, rows),
            )
        )
    return runs


def _rewrote_all(entry: Entry, rows: Totals | None) -> bool | None:
    """Whether a run replaced all rows: if it wrote every row of the table's data files, and the table had rows before.

    CREATE OR REPLACE TABLE starts a new history, which does not show the rows that it replaced.
    """
    if entry.checkpoint.epoch == 1 or entry.snapshot is None or rows is None or not rows.rows_added + rows.rows_removed:
        return None
    is_new = entry.snapshot.parent_id is None
    return (is_new or rows.rows_removed > 0) and rows.rows_added == total(entry.snapshot)[1]
