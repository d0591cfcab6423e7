"""How models are updated incrementally, or why they cannot be: the data of ``ip_explain``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from iceberg_incremental.plan.learned import Outcome, learned
from iceberg_incremental.plan.ranges import Range
from iceberg_incremental.quantities import counted, rows_text, size_text
from iceberg_incremental.write.auto.update_method import (
    NotIncremental,
    OperatorTree,
    UpdateMethod,
    because_text,
    key_text,
    rows_read_text,
)

from .model_status import NEXT_RUN

_VERSION = 1
_AUTO = "auto"
_MOST_LENGTH = 2_000


@dataclass(frozen=True)
class PendingRange:
    """The pending rows of a source. ``kind``: how they are read. ``bytes``: the size of the files."""

    source: str
    kind: str
    snapshots: int
    files: int
    records: int
    bytes: int
    records_at_most: bool = False


@dataclass(frozen=True)
class NextRun:
    """The result of a run, if it started now.

    ``action``: as in the result of a run, or ``fails``. ``way``: how changes are applied: ``append``,
    ``update_groups``, ``replace_keys``, ``replace_all``, or ``none`` if no row is affected; null for other actions.
    ``reason``: the reason for the action or the way. ``affected_keys``: the number of affected keys; null if unknown.
    ``affected_files``: the number of the table's ``table_files`` that may contain a row with an affected key.
    """

    action: str
    way: str | None = None
    reason: str = ""
    ranges: Sequence[PendingRange] = ()
    affected_keys: int | None = None
    affected_files: int | None = None
    table_files: int | None = None


@dataclass(frozen=True)
class Explanation:
    """How a model is updated incrementally, or could be with ``incremental_strategy='auto'``.

    ``is_incremental``: null if unknown because of the ``error``. ``next_run``: for models with ``auto``.
    ``last_cost``: null for small tables, which are not measured, and if Spark's driver is in another process.
    """

    model: str
    target: str
    materialized: str
    strategy: str | None = None
    on_not_incremental: str | None = None
    is_incremental: bool | None = None
    update_method: UpdateMethod | None = None
    not_incremental: NotIncremental | None = None
    next_run: NextRun | None = None
    last_cost: Outcome | None = None
    error: str | None = None

    @property
    def is_auto(self) -> bool:
        """Whether the model has the strategy ``auto``."""
        return self.strategy == _AUTO


def last_cost(properties: Mapping[str, str]) -> Outcome | None:
    """The recorded cost of a table's last measured run. ``properties``: those of the table."""
    last = learned(properties).last
    return None if last is None or last.way not in _WAYS else last


def pending(planned: Range) -> PendingRange:
    """The pending rows in a planned range."""
    counts = planned.counts
    return PendingRange(
        str(planned.table),
        planned.kind.value,
        counts.snapshots,
        counts.files,
        counts.records,
        counts.size,
        counts.at_most,
    )


def as_json(found: Sequence[Explanation]) -> str:
    """The explanations as JSON."""
    return json.dumps({"version": _VERSION, "models": [asdict(each) for each in found]}, indent=2)


def as_text(found: Sequence[Explanation]) -> str:
    """The explanations as text."""
    if not found:
        return "No model of this project is materialized as 'iceberg_incremental_snapshot', 'table' or 'incremental'."
    return "\n".join(line for each in found for line in _lines(each))


def _lines(found: Explanation) -> list[str]:
    how = found.materialized if found.strategy is None else found.strategy
    lines = [f"{found.model} ({found.target}), {how}: {_answer(found)}"]
    if found.error is not None:
        lines += [f"    {line}" for line in found.error.splitlines()]
    if found.update_method is not None:
        lines += [f"  {rows_read_text(each)}" for each in found.update_method.reads]
        lines += [f"  {line}" for each in found.update_method.operators for line in _operator_lines(each)]
    if found.last_cost is not None:
        last = found.last_cost
        lines.append(
            f"  last measured run: {_WAYS[last.way]}; executors' CPU time: {last.spent:.1f} s, "
            f"estimated {last.estimated:.1f} s"
        )
    if found.next_run is not None:
        lines += _next_run(found.next_run)
    return lines


def _operator_lines(found: OperatorTree) -> list[str]:
    named = f"{found.operator} {found.text}".strip()
    source = f" {', '.join(found.sources)}" if found.operator == "scan" else ""
    rows = "" if found.rows is None else f", {rows_text(found.rows, False)}"
    seconds = f", {found.seconds:.1f} s" if found.seconds else ""
    lines = [f"{named}{source}: {found.how}{rows}{seconds}"]
    return lines + [f"  {line}" for each in found.inputs for line in _operator_lines(each)]


def _answer(found: Explanation) -> str:
    if found.update_method is not None:
        kind = "incremental" if found.update_method.whole is None else "replaced"
        how = f"{kind} {key_text(found.update_method)}"
        return how if found.is_auto else f"could be auto: yes, {how}"
    if found.not_incremental is None:
        return "unknown whether it is incremental" if found.is_auto else "could be auto: unknown"
    because = because_text(found.not_incremental)
    if not found.is_auto:
        return f"could be auto: no, {because}"
    follows = "a run fails" if found.on_not_incremental == "fail" else "it is rebuilt when a source has changed"
    return f"not incremental, {because}. {follows.capitalize()} (on_not_incremental: {found.on_not_incremental})"


_WAYS = {
    "append": "appends rows",
    "update_groups": "updates the affected groups from the changed rows alone",
    "replace_keys": "replaces the affected rows",
    "replace_all": "replaces all rows",
    "none": "moves the checkpoint only",
}


def _next_run(found: NextRun) -> list[str]:
    does = NEXT_RUN[found.action] if found.way is None else _WAYS[found.way]
    files = ""
    if found.affected_files is not None and found.table_files is not None:
        files = f"; in at most {found.affected_files} of {counted(found.table_files, 'file')} of the table"
    reason = f", since {found.reason.removesuffix('.')}" if found.reason else ""
    return [*(f"  pending in {_range(each)}" for each in found.ranges), f"  next run: {does}{reason}{files}"]


def _range(found: PendingRange) -> str:
    return (
        f"{found.source} ({found.kind}): {counted(found.snapshots, 'snapshot')}, {counted(found.files, 'file')}, "
        f"{rows_text(found.records, found.records_at_most)}, {size_text(found.bytes)}"
    )
