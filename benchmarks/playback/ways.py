"""The methods of processing a day: their tables, and the functions that update the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .by_hand import InsertRange, MergeChangedEvents, MergeChangedSums, StreamEvents, SumRange
from .events import WINDOW, day
from .pipeline import PLAYBACK, Pipeline

EVENTS, ACCOUNT_DAYS, ACCOUNT_TITLES, AD_VIEWS = "events", "account_days", "account_titles", "ad_views"
ADDED, CHANGED = "account_days_added", "ad_views_changed"
STAGES = (EVENTS, ACCOUNT_DAYS, ADDED, ACCOUNT_TITLES, AD_VIEWS, CHANGED)
"""The stages in the order of a day. A stage reads the results of earlier stages."""

_SAME_TABLE = {ADDED: ACCOUNT_DAYS, CHANGED: AD_VIEWS}

IPS, LOOKBACK, WATERMARK, MICROBATCH, REBUILD = "ips", "lookback", "watermark", "microbatch", "rebuild"
FLOOR, CHANGELOG, STREAMING = "floor", "changelog", "streaming"

BY_DBT = {
    LOOKBACK: (EVENTS, ACCOUNT_DAYS, ACCOUNT_TITLES, AD_VIEWS),
    IPS: STAGES,
    WATERMARK: (EVENTS,),
    MICROBATCH: (EVENTS, ACCOUNT_DAYS),
    REBUILD: (EVENTS, ACCOUNT_DAYS, ACCOUNT_TITLES, AD_VIEWS),
}
ALL = (*BY_DBT, FLOOR, CHANGELOG, STREAMING)
"""The methods that run on one history, with all their stages."""
GROWING = {
    LOOKBACK: (EVENTS, ACCOUNT_DAYS),
    IPS: (EVENTS, ACCOUNT_DAYS, ADDED),
    REBUILD: (EVENTS, ACCOUNT_DAYS),
    CHANGELOG: (ACCOUNT_DAYS,),
}
"""The methods and stages that run on every length of history."""


def base(stage: str) -> str:
    """The stage with the same rows: itself, unless it computes the rows of another stage differently."""
    return _SAME_TABLE.get(stage, stage)


@dataclass(frozen=True)
class Way:
    """A method. ``tables``: the functions that update its tables. ``last``: how many of the last days it runs on."""

    name: str
    tables: Mapping[str, Callable[[], None]]
    last: int | None = None


def make(name: str, pipeline: Pipeline, rebuilds: int, stages: Sequence[str] = STAGES) -> Way:
    """Create a method when the history has landed, and the models of IPS and LOOKBACK have been built from it.

    Other methods start from copies of the lookback's tables.
    """
    made: dict[str, Callable[[], None]] = {}
    lake, raw, built = pipeline.lake, pipeline.raw(PLAYBACK), pipeline.table(IPS, EVENTS)
    if name in BY_DBT:
        made |= {table: _model(pipeline, name, table) for table in BY_DBT[name] if table in stages}
        if name in (WATERMARK, MICROBATCH):
            pipeline.copy(name, LOOKBACK, made)
    elif name == STREAMING:
        pipeline.copy(name, LOOKBACK, [EVENTS])
        made[EVENTS] = StreamEvents(lake, raw, pipeline.table(name, EVENTS), pipeline.folder / "checkpoint")
    elif name == FLOOR:
        pipeline.copy(name, LOOKBACK, [EVENTS])
        made[EVENTS] = InsertRange(lake, raw, pipeline.table(name, EVENTS))
        made[ACCOUNT_DAYS] = SumRange(lake, built)
    else:
        for table, merge, source in ((EVENTS, MergeChangedEvents, raw), (ACCOUNT_DAYS, MergeChangedSums, built)):
            if table in stages:
                pipeline.copy(name, LOOKBACK, [table])
                made[table] = merge(lake, source, pipeline.table(name, table))
    return Way(name, made, last=rebuilds if name == REBUILD else None)


def _model(pipeline: Pipeline, way: str, table: str) -> Callable[[], None]:
    def run() -> None:
        pipeline.dbt("--select", f"{way}_{table}", *(_batches(pipeline) if way == MICROBATCH else ()))

    return run


def _batches(pipeline: Pipeline) -> tuple[str, ...]:
    """The arguments for the days of the lookback window, each of which is a batch."""
    first, end = day(pipeline.today - WINDOW + 1), day(pipeline.today + 1)
    return ("--event-time-start", str(first), "--event-time-end", str(end))
