"""The report of maintenance as text and JSON: for each table, what was or would be done, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from iceberg_incremental.maintenance.expiry import Expiry
from iceberg_incremental.maintenance.tables import PlanPart, TablePlan

from . import maintenance_text as wording
from .maintain_sql import Step

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
                    "why": wording.why(done.step.action, done.step.part),
                    "planned": planned(done.step.part),
                    "returned": None if done.returned is None else dict(done.returned),
                }
                for done in each.done
            ],
            "left_alone": wording.left_alone(each.plan),
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
    return f"{plan.table} ({place}): {step.action.value}: {wording.why(step.action, step.part)}"


def _lines(table: TableReport) -> Iterator[str]:
    for done in table.done:
        action = done.step.action
        yield f"{action.value}: {wording.why(action, done.step.part)}"
        if done.returned is not None:
            yield f"  done: {wording.result(done.returned)}"
    yield from wording.left_alone(table.plan)
    if table.error is not None:
        first, *others = table.error.splitlines()
        yield f"failed: {first}"
        yield from (f"  {line}" for line in others)
