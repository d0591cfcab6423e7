"""The text of the progress line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iceberg_incremental.quantities import counted, size_text

from .work import Work


@dataclass(frozen=True)
class Running:
    """A running statement: its node, its time in seconds, and its progress, if known."""

    name: str
    seconds: float
    work: Work | None = None


def line(running: Sequence[Running], width: int) -> str:
    """All statements in one line of at most ``width`` characters. Statements that do not fit are counted."""
    shown = [_statement(each) for each in running]
    for count in range(len(shown), 0, -1):
        more = len(shown) - count
        text = " | ".join(shown[:count]) + (f" | {more} more" if more else "")
        if len(text) <= width:
            return text
    return shown[0][: max(width - 1, 0)] + "…" if shown else ""


def _statement(running: Running) -> str:
    parts = [*_work(running.work), _duration(running.seconds)]
    return f"{running.name}: {', '.join(parts)}"


def _work(work: Work | None) -> list[str]:
    if work is None or not work.tasks:
        return []
    parts = [f"stage {work.stage} of {work.stages}", f"{work.tasks_done:,} of {work.tasks:,} tasks"]
    if work.rows:
        parts.append(counted(work.rows, "row"))
    if work.bytes:
        parts.append(size_text(work.bytes))
    return parts


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
