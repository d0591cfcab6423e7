"""The output of the command, as JSON objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..capture.cuts import Cuts
from ..capture.next_run import NextRun, SourceRead
from ..capture.run_plan import Action, Read, RunPlan
from ..expose.relations import as_of_sql, changelog_sql, changes_sql, per_commit_sql
from ..plan.ranges import Range
from ..table.history import TableName
from .capturing import Request
from .job_catalogs import JobCatalogs
from .publishing import Committed
from .run_file import VERSION, CapturedRun
from .source_files import Listed, Omitted, files_of

_SQL: Mapping[str, Callable[[Range], str]] = {
    "changes": changes_sql,
    "changelog": changelog_sql,
    "changelog_per_commit": per_commit_sql,
    "as_of": as_of_sql,
}


def of_capture(catalogs: JobCatalogs, request: Request, run: CapturedRun, plan: RunPlan, cuts: Cuts) -> dict[str, Any]:
    """The result of ``capture``: the run, with the rows to read. Raises MetadataAccessError as the reader does."""
    sources = [_source(catalogs, plan, cuts, table, read) for table, read in dict.fromkeys(request.sources)]
    return {**run.to_document(), "reason": plan.reason, "sources": sources}


def of_commit(run: CapturedRun, committed: Committed | None) -> dict[str, Any]:
    """The result of ``commit``."""
    if committed is None:
        return {"version": VERSION, "action": "nothing", "name": run.name, "target": str(run.target)}
    return {
        "version": VERSION,
        "action": "committed",
        "name": run.name,
        "target": str(run.target),
        "epoch": committed.checkpoint.epoch,
        "snapshot_id": committed.snapshot_id,
        "already_committed": committed.already,
    }


def of_abort(run: CapturedRun, *, dropped: bool) -> dict[str, Any]:
    """The result of ``abort``."""
    return {
        "version": VERSION,
        "action": "aborted",
        "name": run.name,
        "target": str(run.target),
        "branch_dropped": dropped,
    }


def of_status(found: NextRun) -> dict[str, Any]:
    """The result of ``status``: the plan of the next run."""
    plan, checkpoint = found.plan, found.plan.checkpoint
    return {
        "version": VERSION,
        "action": found.action,
        "name": plan.model,
        "target": str(plan.name),
        "reason": plan.reason,
        "epoch": plan.last_epoch,
        "checkpoint": None if checkpoint is None else json.loads(checkpoint.to_json()),
        "sources": [_next(table, read) for table, read in found.sources.items()],
    }


def _source(catalogs: JobCatalogs, plan: RunPlan, cuts: Cuts, table: TableName, read: str) -> dict[str, Any]:
    planned = plan.captures[Read(read), table].planned
    found: dict[str, Any] = {
        "table": str(table),
        "read": read,
        **_range(planned),
        "sql": f"select * from {_SQL[read](planned)}",
    }
    if plan.action in (Action.REBUILD, Action.APPLY):
        is_changelog = read.startswith("changelog")
        listed = Listed(None, omitted=Omitted.CHANGELOG) if is_changelog else files_of(catalogs.reader, cuts, planned)
        found |= {"columns": list(listed.columns), **_files(listed)}
    return found


def _files(listed: Listed) -> dict[str, Any]:
    if listed.files is None:
        return {"files": None, "files_omitted": None if listed.omitted is None else listed.omitted.value}
    files = [{"path": file.path, "records": file.records, "bytes": file.size} for file in listed.files]
    return {"files": files, "files_omitted": None}


def _range(planned: Range) -> dict[str, Any]:
    counts = planned.counts
    return {
        "kind": planned.kind.value,
        "has_rows": planned.brings_rows,
        "from_snapshot_id": None if planned.start is None else planned.start.snapshot_id,
        "to_snapshot_id": None if planned.end is None else planned.end.snapshot_id,
        "to_timestamp_ms": None if planned.end is None else planned.end.timestamp_ms,
        "snapshots": counts.snapshots,
        "data_files": counts.files,
        "records": counts.records,
        "bytes": counts.size,
        "at_most": counts.at_most,
        "waiting_snapshots": planned.waiting,
    }


def _next(table: TableName, read: SourceRead) -> dict[str, Any]:
    found = _range(read.found) if isinstance(read.found, Range) else {}
    return {"table": str(table), **found, "error": None if read.error is None else str(read.error)}
