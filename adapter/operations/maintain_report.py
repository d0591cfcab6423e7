"""The report of maintenance as text and JSON: for each table, what was or would be done, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from iceberg_incremental.maintenance.compaction import DELETED, DataRewrite, DeleteRewrite, ManifestRewrite
from iceberg_incremental.maintenance.expiry import Expiry, ExpiryRisk, RetainedForReader
from iceberg_incremental.maintenance.table_plan import OrderChange, PlanPart, StepKind, TablePlan
from iceberg_incremental.quantities import counted, instant, size_text

from .maintain_sql import Step

_COUNT = re.compile(r"(deleted|rewritten|added|removed|failed)_(\w+?)(?:_count)?")
"""The name of a result column of Iceberg's procedures that contains a number of files or bytes."""


def why(action: StepKind, part: PlanPart | None) -> str:
    """The reason for a step. ``part``: the part of the plan that it executes, or the branch that it drops."""
    match part:
        case Expiry():
            return _expiry(part)
        case DataRewrite():
            return _data(part)
        case DeleteRewrite():
            return _deletes(part)
        case ManifestRewrite():
            return _manifests(part)
        case OrderChange():
            return f"the model has another sort_by than the table: {part.clause}"
        case str():
            return f"{part}, left behind by a run"
    if action is StepKind.DROP_TABLE:
        return "left behind by the audit of a run"
    return "files in the table's folder that no metadata lists and that are older than 3 days"


def result(returned: Mapping[str, Any]) -> str:
    """A description of a statement's result, from the columns that it returned. Counts of 0 are omitted.

    ``returned``: empty for a statement that is not a procedure.
    """
    said = [_count(name, value) for name, value in returned.items() if value]
    return ", ".join(said) or ("no file changed" if returned else "done")


def _count(name: str, value: Any) -> str:
    found = _COUNT.fullmatch(f"removed_{name}" if name == "orphan_files" else name)
    if found is None or not isinstance(value, int):
        return f"{name} {value}"
    verb, noun = found.groups()
    if noun == "bytes":
        return f"{size_text(value)} {verb}"
    return f"{counted(value, noun.replace('_', ' ').removesuffix('s'))} {verb}"


def left_alone(plan: TablePlan) -> list[str]:
    """The steps that are skipped for a table, and why."""
    notes = []
    if plan.fresh:
        notes.append(f"left alone: {', '.join(plan.fresh)} may belong to a run that is in progress")
    if plan.hinders:
        notes.append(f"not compacted: {', '.join(plan.hinders)} must run first, to read the commits so far")
    notes += [
        f"no snapshot expires: the checkpoint of {model} cannot be read. {cause}"
        for model, cause in plan.unknown.items()
    ]
    if plan.is_shared and not plan.is_left:
        notes.append("no snapshot expires: other tables may use the same files (clones, or gc.enabled is false)")
    if plan.listed_with:
        others = ", ".join(map(str, plan.listed_with))
        notes.append(f"orphan files stay: {others} has files in the same folder, which would be removed as orphans")
    if plan.unlocated:
        others = ", ".join(map(str, plan.unlocated))
        notes.append(f"orphan files stay: the folder of {others} is unknown, and may be the same")
    held = plan.held_back
    if isinstance(held, RetainedForReader):
        notes.append(
            f"{counted(held.snapshots, 'snapshot')} beyond the table's retention stay for {held.by}, which needs all "
            f"snapshots since {instant(held.since_ms)}"
        )
    if isinstance(held, ExpiryRisk) and held.branch is None:
        notes.append(
            "no snapshot expires: the times of the table's commits are not in order, so any expiry would remove "
            f"snapshots that {held.by} still needs. Run that model"
        )
    elif isinstance(held, ExpiryRisk):
        notes.append(
            f"no snapshot expires: the branch {held.branch} has its own retention, so any expiry would remove "
            f"snapshots that {held.by} still needs. Run that model, or set a longer retention: `ALTER TABLE "
            f"{plan.table.sql} CREATE OR REPLACE BRANCH {held.branch} RETAIN …`"
        )
    return notes


def _data(data: DataRewrite) -> str:
    reasons = []
    if data.small:
        reasons.append(f"{data.small:,} smaller than {size_text(data.below)}")
    if data.large:
        reasons.append(f"{data.large:,} too large")
    if data.deleted:
        reasons.append(f"{data.deleted:,} with at least {DELETED:.0%} of the rows deleted")
    return (
        f"{data.files:,} of {counted(data.of_files, 'data file')} ({size_text(data.size)}) in "
        f"{counted(data.partitions, 'partition')} into {data.files_after:,}; {', '.join(reasons)}"
    )


def _deletes(deletes: DeleteRewrite) -> str:
    dangling = f", {deletes.dangling:,} of them for missing data files," if deletes.dangling else ""
    return f"{counted(deletes.files, 'file')} of position deletes{dangling} into {deletes.files_after:,}"


def _manifests(manifests: ManifestRewrite) -> str:
    count = counted(manifests.manifests, "manifest")
    return f"{count} ({size_text(manifests.size)}) into {manifests.manifests_after:,}"


def _expiry(expiry: Expiry) -> str:
    said = (
        f"{len(expiry.snapshots):,} of {counted(expiry.of, 'snapshot')}, those before {instant(expiry.older_than_ms)}"
    )
    if expiry.size:  # a lower bound, because summaries do not show the files of tables that rebuilds replaced
        said += f", with at least {size_text(expiry.size)} of files that only they use"
    if expiry.refs:
        said += f"; expired branches and tags: {', '.join(expiry.refs)}"
    return said


_VERSION = 1


@dataclass(frozen=True)
class Done:
    """A step. ``returned``: the result of its statement; None in a dry run."""

    step: Step
    returned: Mapping[str, Any] | None


@dataclass(frozen=True)
class TableReport:
    """The completed steps of a table, in order. ``error``: why the next step failed, or the table cannot be read."""

    plan: TablePlan
    done: tuple[Done, ...]
    error: str | None = None


@dataclass(frozen=True)
class Report:
    """The reports of all tables."""

    tables: tuple[TableReport, ...]
    dry_run: bool
    format: str = "text"

    @property
    def failed(self) -> list[tuple[str, str]]:
        """The tables whose maintenance failed, with the errors."""
        return [(str(each.plan.table), each.error) for each in self.tables if each.error is not None]

    @property
    def shown(self) -> str:
        """The report in the requested format."""
        return as_json(self) if self.format == "json" else as_text(self)


def as_json(report: Report) -> str:
    """The report as one JSON object."""
    tables = [
        {
            "table": str(each.plan.table),
            "actions": [
                {
                    "action": done.step.action.value,
                    "why": why(done.step.action, done.step.part),
                    "planned": planned(done.step.part),
                    "returned": None if done.returned is None else dict(done.returned),
                }
                for done in each.done
            ],
            "left_alone": left_alone(each.plan),
            "error": each.error,
        }
        for each in report.tables
    ]
    return json.dumps({"version": _VERSION, "dry_run": report.dry_run, "tables": tables}, indent=2, default=str)


def planned(part: PlanPart | None) -> Mapping[str, Any]:
    """The numbers of a part of the plan. Sizes are in bytes, times in ms."""
    if part is None or isinstance(part, str):
        return {} if part is None else {"branch": part}
    numbers = {key: value for key, value in asdict(part).items() if key != "paths"}
    return {**numbers, "snapshots": len(part.snapshots)} if isinstance(part, Expiry) else numbers


def as_text(report: Report) -> str:
    """The report as text."""
    if not report.tables:
        return "No table of the models was found."
    lines = ["Dry run: this is what would be done."] if report.dry_run else []
    for each in report.tables:
        below = list(_lines(each))
        lines += (
            [f"{each.plan.table}:", *(f"  {line}" for line in below)]
            if below
            else [f"{each.plan.table}: nothing to do"]
        )
    return "\n".join(lines)


def progress(plan: TablePlan, step: Step, place: str) -> str:
    """The log line before a step. ``place``: the number of its model or source among all, such as ``2 of 7``."""
    return f"{plan.table} ({place}): {step.action.value}: {why(step.action, step.part)}"


def _lines(table: TableReport) -> Iterator[str]:
    for done in table.done:
        action = done.step.action
        yield f"{action.value}: {why(action, done.step.part)}"
        if done.returned is not None:
            yield f"  done: {result(done.returned)}"
    yield from left_alone(table.plan)
    if table.error is not None:
        first, *others = table.error.splitlines()
        yield f"failed: {first}"
        yield from (f"  {line}" for line in others)
