"""The result of a run: the response for ``run_results.json``, and the statistics for the docs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Optional

from dbt.adapters.contracts.connection import AdapterResponse

from iceberg_incremental.capture.run_plan import Action, RunPlan
from iceberg_incremental.metadata.describe import Stats
from iceberg_incremental.plan.ranges import Range
from iceberg_incremental.publish.publisher import Published
from iceberg_incremental.quantities import instant
from iceberg_incremental.table.checkpoint import Checkpoint, Position
from iceberg_incremental.table.commits import written
from iceberg_incremental.table.history import History, TableName
from iceberg_incremental.table.lateness import Lateness
from iceberg_incremental.table.shares import Share

from ..project.data_tests import WARN, Audit

_NONE: Mapping[TableName, Lateness] = MappingProxyType({})


@dataclass
class IncrementalResponse(AdapterResponse):
    """dbt's response with the block ``ip``: the epoch, the committed snapshot, and the range of each source."""

    # dbt's serializer evaluates this annotation at run time in every supported version of Python.
    ip: Optional[dict[str, Any]] = None  # noqa: UP045


def response(
    plan: RunPlan,
    published: Published | None,
    audits: Sequence[Audit] = (),
    lateness: Mapping[TableName, Lateness] = _NONE,
    way: str = "",
) -> IncrementalResponse:
    """The response of a run. ``published``: None if nothing was committed. ``lateness``: of the applied rows.

    ``way``: how ``auto`` has updated the table; empty if it has not.
    """
    snapshot = None if published is None else published.snapshot
    rows = 0 if published is None else published.rows
    shares = plan.shares
    audit = {"tests": len(audits), "warned": [each.test.unique_id for each in audits if each.verdict == WARN]}
    return IncrementalResponse(
        _message=_message(plan.action, rows),
        code=plan.action.value,
        rows_affected=rows,
        ip={
            "epoch": plan.last_epoch if published is None else published.checkpoint.epoch,
            "committed_snapshot_id": None if snapshot is None else snapshot.snapshot_id,
            **({"way": way} if way else {}),
            "sources": {
                str(source): {
                    **_source(planned),
                    **_share(shares.get(source)),
                    **({"lateness": asdict(lateness[source])} if source in lateness else {}),
                }
                for source, planned in plan.captured.items()
            },
            **({"audit": audit} if published is not None and audits else {}),
        },
    )


def _shown(position: Position) -> str:
    if position.snapshot_id is None:
        return "empty table"
    when = "" if position.timestamp_ms is None else f" ({instant(position.timestamp_ms)})"
    return f"{position.snapshot_id}{when}"


def rows_built(now: History | None) -> int | None:
    """The number of rows of a CREATE [OR REPLACE] TABLE AS, from the first snapshot of its table. None if unknown."""
    chain = [] if now is None else list(now.ancestors(now.current_snapshot_id))
    return written(chain[-1]) if chain and chain[-1].parent_id is None else None


def rows_since(before: History | None, now: History | None, statements: int, *, deleted: bool = True) -> int | None:
    """The number of rows that the last of several statements wrote. None if unknown.

    ``statements``: their number. Each makes at most one commit. The number of rows is unknown if other writers have
    also committed. ``deleted``: whether deleted rows count.
    """
    if before is None or now is None or now.current is None:
        return None
    commits = list(now.ancestors(now.current_snapshot_id))[::-1]
    if before.current_snapshot_id is not None:
        since = now.commits_since(before.current_snapshot_id, now.current)
        if since is None:
            return None
        commits = since
    if len(commits) > statements or any(commit.operation == "append" for commit in commits[:-1]):
        return None
    return written(commits[-1], deleted=deleted) if commits else 0


def counted(response: AdapterResponse, rows: int | None) -> AdapterResponse:
    """A response with a number of rows, if it is known."""
    return response if rows is None else AdapterResponse(_rows_message(rows), response.code, rows)


def _rows_message(rows: int) -> str:
    return f"OK {rows:,} row{'' if rows == 1 else 's'}"


def _message(action: Action, rows: int) -> str:
    if action is Action.NOTHING:
        return "NOTHING NEW"
    if action is Action.ADVANCE:
        return "NOTHING NEW, checkpoint moved"
    if action is Action.PARTIAL_BUILD:
        return "OK, without a checkpoint"
    if action is Action.CHECK_ONLY:
        return "OK, nothing written"
    return _rows_message(rows)


def _source(planned: Range) -> dict[str, Any]:
    return {
        "kind": planned.kind.value,
        "from_snapshot_id": None if planned.start is None else planned.start.snapshot_id,
        "to_snapshot_id": None if planned.end is None else planned.end.snapshot_id,
        "snapshots": planned.counts.snapshots,
        "files": planned.counts.files,
        "records": planned.counts.records,
        "bytes": planned.counts.size,
        **({"records_at_most": True} if planned.counts.at_most else {}),
        **({"waiting_snapshots": planned.waiting} if planned.waiting else {}),
    }


def _share(share: Share | None) -> dict[str, Any]:
    """The share of the table that a run read. Empty if the table's summaries have no totals."""
    if share is None:
        return {}
    return {
        "table_records": share.table_records,
        "table_bytes": share.table_bytes,
        "share_of_records": _rounded(share.of_records),
        "share_of_bytes": _rounded(share.of_bytes),
    }


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)


def stats(checkpoint: Checkpoint) -> Stats:
    """The statistics of a checkpoint for dbt's catalog."""
    found: dict[str, tuple[str, object, str]] = {
        "ip_epoch": ("Checkpoint epoch", checkpoint.epoch, "Commits of incremental processing to this table"),
        "ip_invocation_id": ("Checkpoint invocation", checkpoint.invocation_id, "The dbt invocation that committed it"),
    }
    for number, (source, position) in enumerate(checkpoint.sources.items(), 1):
        found[f"ip_source_{number}"] = (
            f"Checkpoint in {source}",
            _shown(position),
            f"The snapshot of {source} up to which this table contains its rows",
        )
    return found
