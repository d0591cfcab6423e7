"""The plan of a model's next run, from metadata alone. ``ip_status`` shows it before any SQL is rendered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..errors import IncrementalError
from ..explain import source_errors
from ..plan.ranges import Range
from ..plan.refusals import Refusal
from ..table.history import TableName
from .cuts import Cuts
from .reads import capture_as_of, changes_of
from .run_plan import RunPlan, is_changelog, is_only_pinned

FAILS = "fails"
"""The action of a run that raises an error."""


@dataclass(frozen=True)
class SourceRead:
    """What the next run reads from a source.

    ``found``: the range, or why it cannot be read. None if neither is known. ``error``: the error that the run would
    raise.
    """

    found: Range | Refusal | None = None
    error: IncrementalError | None = None


@dataclass(frozen=True)
class NextRun:
    """The plan of the next run with its ranges, and each source that it may read."""

    plan: RunPlan
    sources: Mapping[TableName, SourceRead]

    @property
    def action(self) -> str:
        """What the run will do: ``fails`` if it cannot read a source, otherwise the value of an Action."""
        return FAILS if any(read.error is not None for read in self.sources.values()) else self.plan.action.value


def next_run(plan: RunPlan, cuts: Cuts, sources: Iterable[TableName]) -> NextRun:
    """Complete the plan of an opened run, based on how earlier runs and the model's code read its sources."""
    reads: dict[TableName, SourceRead] = {}
    for source in sources:
        try:
            plan, reads[source] = _read(plan, cuts, source)
        except IncrementalError as error:
            reads[source] = SourceRead(error=error)
    return NextRun(plan, reads)


def _read(plan: RunPlan, cuts: Cuts, source: TableName) -> tuple[RunPlan, SourceRead]:
    """The plan including a source, and the read of this source. Raises the errors of a capture."""
    position = None if plan.checkpoint is None else plan.checkpoint.sources.get(str(source))
    if position is not None and is_only_pinned(position, source, plan.reads):
        plan = capture_as_of(plan, cuts, source)
        return plan, SourceRead(plan.pinned[source])
    changelog = position is not None and is_changelog(position, source, plan.reads)
    per_commit = changelog and position is not None and position.per_commit
    found = changes_of(plan, cuts, source, changelog=changelog, per_commit=per_commit)
    if not isinstance(found, Range):
        error = source_errors.refused(
            found, source, plan.model, plan.policy, changelog=changelog, per_commit=per_commit
        )
        return plan, SourceRead(found, error)
    plan = replace(plan, ranges={**plan.ranges, source: found})
    if source in plan.reads.whole and not plan.is_rebuild:
        plan = capture_as_of(plan, cuts, source)
        whole = plan.pinned[source]
        found = whole if whole.brings_rows and not found.brings_rows else found
    return plan, SourceRead(found)
