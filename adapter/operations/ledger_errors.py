"""The errors of the ledger and of replays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iceberg_incremental.errors import CheckpointError, ConfigError
from iceberg_incremental.explain.wording import command
from iceberg_incremental.quantities import counted
from iceberg_incremental.table.history import TableName

if TYPE_CHECKING:
    from ..status.ledger import Line, Totals


def no_ledger(target: TableName, model: str) -> CheckpointError:
    """The table has no commits of the model."""
    return CheckpointError(
        f"{target} has no checkpoint, so it has no ledger.",
        expected=f"a table that {model} built.",
        fix="run the model first.",
    ).named("no-ledger")


def unknown_epoch(target: TableName, epoch: int, known: Sequence[int]) -> ConfigError:
    """The table's history does not have the requested epoch."""
    return ConfigError(
        f"{target} has no commit of epoch {epoch} in its history.",
        expected=f"an epoch from {known[0]} to {known[-1]}, as listed by ip_ledger.",
        fix="choose one of these.",
    ).named("unknown-epoch")


def epoch_of_several(epoch: int, models: Sequence[str]) -> ConfigError:
    """An epoch was requested without exactly one model."""
    replay = command("ip_ledger", model=models[0] if models else "<model>", epoch=epoch)
    return ConfigError(
        f"ip_ledger was called with epoch {epoch} for {counted(len(models), 'model')}.",
        expected="the model whose commit has this epoch.",
        found=f"{counted(len(models), 'model')}: {', '.join(models) or 'none'}.",
        fix=f"name one of these models: `{replay}`",
    ).named("epoch-of-several")


def nothing_to_replay(epoch: int) -> CheckpointError:
    """The run of the requested epoch did not read a range of commits."""
    return CheckpointError(
        f"The run of epoch {epoch} did not read a range of commits.",
        expected="the epoch of a build, or of a run that applied commits.",
        found="a position that was set by hand or only moved, or a reprocessed event-time window.",
        fix="choose another epoch.",
    ).named("nothing-to-replay")


def not_replayable(source: str, snapshot_id: int | None) -> CheckpointError:
    """The snapshot that an earlier run read no longer exists."""
    return CheckpointError(
        f"The rows that the run of this epoch read from {source} can no longer be shown.",
        expected=f"snapshot {snapshot_id} in the history of the source.",
        found="the snapshot has expired, or the table was replaced or rolled back since.",
        fix="choose a later epoch. To keep snapshots longer, set history.expire.max-snapshot-age-ms.",
    ).named("not-replayable")


def ledger_broken(text: str, target: str, wrong: Line | None, broken: Totals | None) -> CheckpointError:
    """The ledger does not prove that each commit was consumed once."""
    found = []
    if wrong is not None:
        found.append(
            f"{'' if wrong.finding is None else wrong.finding.value} at epoch {wrong.epoch} in {wrong.source}: it "
            f"starts at {wrong.from_snapshot_id}, which is not where the previous range ended"
        )
    if broken is not None:
        found.append(f"at epoch {broken.epoch}, the row counts of snapshot {broken.broken_at} do not add up")
    return CheckpointError(
        f"{text}\nThe ledger of {target} does not add up.",
        expected="each commit's range starts where the previous range ended.",
        found=f"{'; '.join(found)}.",
        fix="if rows may be missing or duplicated, rebuild the model with --full-refresh.",
    ).named("ledger-broken")
