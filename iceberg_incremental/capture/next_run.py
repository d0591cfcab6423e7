"""The plan of a model's next run, from metadata alone. ``ip_status`` shows it before any SQL is rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from ..errors import IncrementalError, NotIcebergError, ViewError
from ..explain import rebuild_reasons, source_errors
from ..metadata import MetadataReader
from ..plan.ranges import Range
from ..plan.refusals import Refusal
from ..table.clock import UnknownTimeZoneError, now_in
from ..table.history import TableName
from .cuts import Cuts
from .reads import capture, changes_of, has_same_columns
from .run_plan import Read, RunPlan, is_changelog, is_only_pinned

FAILS = "fails"
"""The action of a run that raises an error."""
READS_OTHERS = "reads-others"
"""The begin of ``RecordedLogic.reading`` if plain SQL names a relation whose changes are not captured."""


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


def next_plain_run(plan: RunPlan, cuts: Cuts, sources: Iterable[TableName], reader: MetadataReader) -> NextRun:
    """``next_run`` for a model with the strategy ``auto``, whose table also follows its SQL and its views.

    ``sources``: those of the checkpoint. Changes that only the compiled SQL shows are not detected.
    """
    found = next_run(plan, cuts, sources)
    if found.plan.is_rebuild:
        return found
    reads = {source: read for source, read in found.sources.items() if not is_view(cuts, source)}
    now_views = found.sources.keys() - reads.keys()
    differs = "".join(rebuild_reasons.other_definition(str(view)) for view in sorted(now_views)[:1])
    differs = differs or _why_it_differs(found.plan, cuts, reads, reader)
    return NextRun(replace(found.plan, differs=differs, clock_moved=_has_clock_moved(found.plan)), reads)


def _has_clock_moved(plan: RunPlan) -> bool:
    """Whether the part of the clock that a model reads differs from that of its last run."""
    recorded = None if plan.checkpoint is None else plan.checkpoint.clock
    if recorded is None:
        return False
    clock, parts = recorded
    with suppress(UnknownTimeZoneError):
        return clock.has_moved(now_in(clock.zone), parts)
    return True


def is_view(cuts: Cuts, source: TableName) -> bool:
    """Whether a table that earlier runs have read is now a view."""
    try:
        cuts.of(source)
    except ViewError:
        return True
    except IncrementalError:
        return False
    return False


def _why_it_differs(plan: RunPlan, cuts: Cuts, reads: Mapping[TableName, SourceRead], reader: MetadataReader) -> str:
    """``RunPlan.differs`` as far as metadata shows it."""
    if plan.recorded_reading is None:
        return rebuild_reasons.UNKNOWN_TEXT
    view = changed_view(plan.recorded_definitions, reader)
    if view is not None:
        return rebuild_reasons.other_definition(view)
    if plan.recorded_reading.startswith(READS_OTHERS):
        return rebuild_reasons.OTHER_RELATION
    if not plan.is_as_left:
        return rebuild_reasons.OTHER_WRITER
    if plan.altered is not None:
        return rebuild_reasons.other_table(plan.altered)
    return other_columns(cuts, {source: read.found for source, read in reads.items()})


def other_view(recorded: Mapping[str, str], now: Callable[[str], str | None]) -> str | None:
    """The first view whose definition has changed. None if there is none.

    ``recorded``: the digests by name. ``now``: returns the present one; None if it is unknown.
    """
    digests = ((name, digest, now(name)) for name, digest in recorded.items())
    return next((name for name, digest, present in digests if present not in (None, digest)), None)


def changed_view(recorded: Mapping[str, str], reader: MetadataReader) -> str | None:
    """``other_view``, from the catalog. Raises the errors of the reader."""
    return other_view(recorded, lambda name: _digest(name, reader))


def _digest(name: str, reader: MetadataReader) -> str | None:
    """The present digest of a view. Empty if it was dropped or replaced by a table, and None if it is unknown."""
    view = TableName.parse(name)
    if view is None:
        return None
    found = reader.view(view)
    if found is not None:
        return found.digest
    with suppress(NotIcebergError):
        reader.load(view)
        return ""
    return None


def other_columns(cuts: Cuts, ranges: Mapping[TableName, object]) -> str:
    """The reason if the columns of sources have changed within their ranges. Empty otherwise."""
    altered = [
        source
        for source, planned in ranges.items()
        if isinstance(planned, Range)
        and (cut := cuts.of(source)) is not None
        and not has_same_columns(cuts, cut, planned)
    ]
    return rebuild_reasons.other_columns(altered) if altered else ""


def _read(plan: RunPlan, cuts: Cuts, source: TableName) -> tuple[RunPlan, SourceRead]:
    """The plan including a source, and the read of this source. Raises the errors of a capture."""
    position = None if plan.checkpoint is None else plan.checkpoint.sources.get(str(source))
    if position is not None and is_only_pinned(position, source, plan.reads):
        plan = capture(plan, cuts, source, Read.AS_OF)
        return plan, SourceRead(plan.captured[source])
    changelog = position is not None and is_changelog(position, source, plan.reads)
    per_commit = changelog and position is not None and position.per_commit
    found = changes_of(plan, cuts, source, changelog=changelog, per_commit=per_commit)
    if not isinstance(found, Range):
        error = source_errors.refused(
            found, source, plan.model, plan.policy, changelog=changelog, per_commit=per_commit
        )
        return plan, SourceRead(found, error)
    plan = plan.with_capture(Read.CHANGES, source, found)
    if source in plan.reads.whole and not plan.is_rebuild:
        plan = capture(plan, cuts, source, Read.AS_OF)
        whole = plan.read_as(Read.AS_OF)[source]
        found = whole if whole.brings_rows and not found.brings_rows else found
    return plan, SourceRead(found)
