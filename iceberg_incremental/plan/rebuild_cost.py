"""Whether it is cheaper to replace the affected rows of a table, or all of them; estimated from metadata."""

from __future__ import annotations

from dataclasses import dataclass

from ..quantities import counted


@dataclass(frozen=True)
class Reads:
    """What both ways read and write.

    ``target_rows``: of the table. ``sources``: rows of each relation that the query reads. ``changed``: how many rows
    of each changed source differ, at most. ``views``: of affected keys, and ``scans``: how often these read each
    relation as a whole, in the order of ``sources``.
    """

    target_rows: int
    sources: tuple[int, ...]
    changed: tuple[int, ...]
    views: int
    scans: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """The way that a run takes, and why.

    ``estimated``: the seconds of CPU of replacing affected rows, at least, and of replacing all; None where they did
    not decide.
    """

    rebuilds: bool
    reason: str
    estimated: tuple[float, float] | None = None


# Seconds of CPU. These are assumptions, not yet fitted to measurements.
_RUN = 0.6
"""The fixed price of replacing affected rows beyond that of a rebuild."""
_VIEW = 0.2
"""The fixed price of each view of affected keys."""
_SCAN = 0.1
"""The fixed price of each relation that these views read as a whole."""
_ROW = 1.0e-6
"""Reading one row of a source, and joining or grouping it."""
_FOUND = 0.25e-6
"""Reading one row of a source, and finding that it has none of the keys."""
_WRITTEN = 1.5e-6
"""Writing one row of the result."""
_DELETED = 0.15e-6
"""Reading one row of the table, and finding that it has none of the keys."""


def choose(reads: Reads, keys: int) -> Choice:
    """Compare the estimated costs. ``keys``: how many are affected."""
    rebuild, keep = _rebuild(reads), _keep(reads, keys)
    text = (
        f"{counted(keys, 'key')} of a table of {counted(reads.target_rows, 'row')} {'is' if keys == 1 else 'are'} "
        f"affected (estimated: {keep:.1f} s of CPU, for all rows {rebuild:.1f} s)"
    )
    return Choice(rebuild < keep, text, (keep, rebuild))


def rebuild_at_once(reads: Reads) -> Choice | None:
    """The choice to replace all rows, if that is cheaper than to find the affected keys alone; else None."""
    rebuild, keep = _rebuild(reads), _keep(reads, 0)
    if rebuild >= keep:
        return None
    text = (
        f"the table and its sources are small (estimated: {rebuild:.1f} s of CPU, and at least {keep:.1f} s to replace "
        "affected rows only)"
    )
    return Choice(True, text, (keep, rebuild))


def _rebuild(reads: Reads) -> float:
    return sum(reads.sources) * _ROW + reads.target_rows * _WRITTEN


def _keep(reads: Reads, keys: int) -> float:
    share = min(1.0, keys / max(reads.target_rows, 1))
    fixed = _RUN + reads.views * _VIEW + sum(reads.scans) * _SCAN
    # each source is read once more, to compute the affected rows
    found = sum(rows * (scans + 1) for rows, scans in zip(reads.sources, reads.scans, strict=True))
    return fixed + found * _FOUND + sum(reads.changed) * _ROW + share * _rebuild(reads) + reads.target_rows * _DELETED
