"""The comparisons of tables with their rebuilds: the data of ``ip_verify``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from iceberg_incremental.quantities import counted
from iceberg_incremental.verify.found import Found, Result, percent

_VERSION = 1
_KINDS = {
    "missing": "in the rebuild, but not in the table",
    "too_many": "in the table, but not in the rebuild",
    "changed": "with other values",
    "by_rounding": "with other values by rounding only",
}
_ANSWERS = {
    Result.EQUAL: "equal",
    Result.EQUAL_IN_PART: "equal in all compared rows and columns",
    Result.EQUAL_BUT_ROUNDING: "equal except for rounding",
    Result.DIFFERS: "DIFFERS",
    Result.NOT_COMPARED: "not compared",
}


@dataclass(frozen=True)
class Verification:
    """The comparison of a model's table with its rebuild.

    ``snapshot_id``: the table's snapshot. ``epoch``: the checkpoint's epoch. ``sources``: the snapshots that the
    rebuild reads. ``rows``: the number of compared rows of the table. ``share``: the share of the keys that are
    compared, from 0 to 1. ``found``: the differences; null if nothing was compared. ``sql``: a query that returns all
    differences; null for a Python model. ``notes``: further information. ``reason``: why the table was not compared, or
    why its differences may be permitted.
    """

    model: str
    table: str
    result: Result = Result.NOT_COMPARED
    snapshot_id: int | None = None
    epoch: int | None = None
    sources: Mapping[str, int | None] = field(default_factory=dict)
    rows: int | None = None
    share: float = 1.0
    found: Found | None = None
    sql: str | None = None
    notes: Sequence[str] = ()
    reason: str | None = None


@dataclass(frozen=True)
class Report:
    """The verified models. ``is_json``: whether the format is JSON instead of text."""

    models: Sequence[Verification]
    is_json: bool

    @property
    def differing(self) -> list[str]:
        """The models whose tables differ."""
        return [each.model for each in self.models if each.result is Result.DIFFERS]

    @property
    def shown(self) -> str:
        """The report, as text or JSON."""
        return as_json(self.models) if self.is_json else as_text(self.models)


def as_json(models: Sequence[Verification]) -> str:
    """The verified models as JSON."""
    return json.dumps({"version": _VERSION, "models": [_document(each) for each in models]}, indent=2)


def _document(each: Verification) -> dict[str, Any]:
    return {**asdict(each), "result": each.result.value}


def as_text(models: Sequence[Verification]) -> str:
    """The verified models as text."""
    if not models:
        return "No model of this project is materialized as 'iceberg_incremental_snapshot'."
    counts = [(sum(each.result is result for each in models), answer) for result, answer in _ANSWERS.items()]
    total = ", ".join(f"{count:,} {answer.lower()}" for count, answer in counts if count)
    return "\n".join([*(line for each in models for line in _lines(each)), total])


def _lines(each: Verification) -> list[str]:
    lines = [f"{each.model} ({each.table}): {_ANSWERS[each.result]}{_compared(each)}"]
    if each.found is not None:
        lines += _differences(each.found)
    if each.reason is not None:
        lines += [f"    {line}" for line in each.reason.splitlines()]
    lines += [f"  note: {note}" for note in each.notes]
    if each.sql is not None and each.found is not None and (each.found.kinds or each.found.by_rounding):
        lines += ["  SQL that shows all differences:", *(f"    {line}" for line in each.sql.splitlines())]
    return lines


def _compared(each: Verification) -> str:
    if each.rows is None:
        return ""
    part = "" if each.share == 1 else f", a sample of {percent(each.share)} of the keys"
    return f" ({counted(each.rows, 'row')} at snapshot {each.snapshot_id}, run {each.epoch}{part})"


def _differences(found: Found) -> list[str]:
    lines = []
    for kind, meaning in _KINDS.items():
        count = getattr(found, kind)
        if count:
            lines.append(f"  {counted(count, 'row')} {meaning}:")
            lines += [f"    {json.dumps(example, ensure_ascii=False)}" for example in found.examples.get(kind, ())]
    if found.columns:
        lines.append(f"  columns: {', '.join(f'{name} ({count:,})' for name, count in found.columns.items())}")
    return lines
