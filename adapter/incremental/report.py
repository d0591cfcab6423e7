"""What a run tells afterwards: the response that dbt writes into ``run_results.json``, and the stats of the docs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from dbt.adapters.contracts.connection import AdapterResponse

from .capture import Action, ModelRun
from .checkpoint import Checkpoint
from .plan import Range
from .publish import Published


@dataclass
class IncrementalResponse(AdapterResponse):
    """dbt's response with the block ``ip``: epoch, committed snapshot, and what was read of each source."""

    # dbt's serializer reads this annotation at run time, so it is written for every Python that is supported.
    ip: Optional[dict[str, Any]] = None  # noqa: UP045


def response(run: ModelRun, published: Published | None) -> IncrementalResponse:
    """The response of a run; ``published`` is None where nothing was committed."""
    snapshot = None if published is None else published.snapshot
    rows = 0 if published is None else published.rows
    return IncrementalResponse(
        _message=_message(run.action, rows),
        code=run.action.value,
        rows_affected=rows,
        ip={
            "epoch": run.last_epoch if published is None else published.checkpoint.epoch,
            "committed_snapshot_id": None if snapshot is None else snapshot.snapshot_id,
            "sources": {str(source): _source(planned) for source, planned in run.captured.items()},
        },
    )


def _message(action: Action, rows: int) -> str:
    if action is Action.NOTHING:
        return "NOTHING NEW"
    if action is Action.ADVANCE:
        return "NOTHING NEW, checkpoint moved"
    if action is Action.PARTIAL_BUILD:
        return "OK, without a checkpoint"
    if action is Action.CHECK_ONLY:
        return "OK, nothing written"
    return f"OK {rows:,} row{'' if rows == 1 else 's'}"


def _source(planned: Range) -> dict[str, Any]:
    return {
        "kind": planned.kind.value,
        "from_snapshot_id": None if planned.start is None else planned.start.snapshot_id,
        "to_snapshot_id": None if planned.end is None else planned.end.snapshot_id,
        "snapshots": planned.snapshots,
        "files": planned.files,
        "records": planned.records,
        "bytes": planned.size,
        **({"waiting_snapshots": planned.waiting} if planned.waiting else {}),
    }


def stats(checkpoint: Checkpoint) -> Mapping[str, tuple[str, object, str]]:
    """A checkpoint as stats of a table in dbt's catalog: id → (label, value, description)."""
    found: dict[str, tuple[str, object, str]] = {
        "ip_epoch": ("Checkpoint epoch", checkpoint.epoch, "Commits of incremental processing to this table"),
        "ip_invocation_id": ("Checkpoint invocation", checkpoint.invocation_id, "The dbt invocation that committed it"),
    }
    for number, (source, position) in enumerate(checkpoint.sources.items(), 1):
        found[f"ip_source_{number}"] = (
            f"Checkpoint in {source}",
            "empty table" if position.snapshot_id is None else str(position.snapshot_id),
            f"The snapshot of {source} up to which this table holds its rows",
        )
    return found
