"""Whether it is cheaper to replace the affected rows of a table, or all of them; estimated from metadata."""

from __future__ import annotations

from dataclasses import dataclass

from ..quantities import counted


@dataclass(frozen=True)
class Reads:
    """What both ways read and write.

    ``target_rows``: of the table. ``sources``: rows of each relation that the query reads. ``searched``: how many rows
    are read to find those of the sources that changed. ``views``: of affected keys, and ``scans``: how often these read
    each relation as a whole, in the order of ``sources``. ``sorted_rows``: how many rows are sorted for windows, or
    multiplied for DISTINCT aggregates.
    """

    target_rows: int
    sources: tuple[int, ...]
    searched: int
    views: int
    scans: tuple[int, ...]
    sorted_rows: int = 0


@dataclass(frozen=True)
class Choice:
    """The way that a run takes, and why.

    ``estimated``: the seconds of CPU of replacing affected rows, at least, and of replacing all; None where they did
    not decide.
    """

    rebuilds: bool
    reason: str
    estimated: tuple[float, float] | None = None


ONLY_GAINED = Choice(False, "the sources only gained rows, which only add rows to the result")
"""The choice to insert new rows, without a look for affected keys."""

# Seconds of CPU, fitted to ``python -m benchmarks.plain_sql_tpch`` at scale 1, ``python -m
# benchmarks.plain_sql_pipeline`` and ``python -m benchmarks.small_runs``.
_RUN = 0.9
"""The fixed price of replacing affected rows beyond that of a rebuild."""
_SOURCE = 0.45
"""The fixed price of each relation that the query reads: more statements are planned with it."""
_CONTINUED = 0.6
"""The fixed price of continuing all groups of a small table beyond that of a rebuild."""
_VIEW = 0.2
"""The fixed price of each view of affected keys."""
_ROW = 0.4e-6
"""Reading one row of a source, and joining or grouping it."""
_SORTED = 0.7e-6
"""Sorting one row for a window, or multiplying it for a DISTINCT aggregate."""
_SEARCHED = 0.3e-6
"""Reading one row of a source's changed files, and finding whether it changed."""
_FOUND = 0.2e-6
"""Reading one row of a source, and finding whether it meets a changed row."""
_READ = 0.35e-6
"""Reading one row of a source with all columns, and finding whether it has an affected key."""
_WRITTEN = 2.0e-6
"""Writing one row of the result."""
_DELETED = 0.2e-6
"""Reading one row of the table, and finding whether it has an affected key."""


MOST_REWRITTEN = 100_000
"""Up to this many rows, a run that updates some groups writes the whole table, in one statement."""


def choose(reads: Reads, keys: int) -> Choice:
    """Compare the estimated costs. ``keys``: how many are affected."""
    return _compared(reads, keys, _keep(reads, keys))


def choose_to_continue(reads: Reads, keys: int) -> Choice:
    """Compare the estimated costs where groups continue by the rows that came and went. ``reads``: of their deltas."""
    if reads.target_rows <= MOST_REWRITTEN:
        write = _CONTINUED + reads.target_rows * _WRITTEN
    else:
        write = _RUN + reads.target_rows * _DELETED + min(keys, reads.target_rows) * _WRITTEN
    return _compared(reads, keys, write + (reads.searched + _found(reads)) * _ROW)


def _compared(reads: Reads, keys: int, keep: float) -> Choice:
    rebuild = _rebuild(reads)
    text = (
        f"{counted(keys, 'key')} of a table of {counted(reads.target_rows, 'row')} {'is' if keys == 1 else 'are'} "
        f"affected (estimated CPU time: {keep:.1f} s, and {rebuild:.1f} s to replace all rows)"
    )
    return Choice(rebuild < keep, text, (keep, rebuild))


def rebuild_at_once(reads: Reads) -> Choice | None:
    """The choice to replace all rows, if that is cheaper than to find the affected keys alone; else None."""
    rebuild, keep = _rebuild(reads), _keep(reads, 0)
    if rebuild >= keep:
        return None
    text = (
        f"finding the affected keys would cost more (estimated CPU time: at least {keep:.1f} s, and {rebuild:.1f} s to "
        "replace all rows)"
    )
    return Choice(True, text, (keep, rebuild))


def cost_of_keys(reads: Reads) -> float:
    """The estimated seconds of CPU to find the affected keys."""
    return reads.views * _VIEW + reads.searched * _SEARCHED + _found(reads) * _FOUND


def _rebuild(reads: Reads) -> float:
    return sum(reads.sources) * _ROW + reads.sorted_rows * _SORTED + reads.target_rows * _WRITTEN


def _keep(reads: Reads, keys: int) -> float:
    share = min(1.0, keys / max(reads.target_rows, 1))
    return (
        _RUN
        + len(reads.sources) * _SOURCE
        + cost_of_keys(reads)
        + sum(reads.sources) * _READ
        + reads.target_rows * _DELETED
        + share * _rebuild(reads)
    )


def _found(reads: Reads) -> int:
    """How many rows are read to find those that meet a changed row."""
    return sum(rows * scans for rows, scans in zip(reads.sources, reads.scans, strict=True))
