"""Whether it is cheaper to replace the affected rows of a table, or all of them; estimated from metadata."""

from __future__ import annotations

from dataclasses import dataclass

from ..quantities import counted


@dataclass(frozen=True)
class Reads:
    """What both ways read and write.

    ``keys``: how many are affected. ``target_rows``, ``target_bytes``: of the table. ``sources``: rows and bytes of
    each relation that the query reads. ``changed``: how many rows of each changed source differ, at most.
    """

    keys: int
    target_rows: int
    target_bytes: int
    sources: tuple[tuple[int, int], ...]
    changed: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """The way that a run takes, and why."""

    rebuilds: bool
    reason: str


# Seconds of CPU. These are assumptions, not yet fitted to measurements.
_RUN = 0.9
"""The fixed price of replacing affected rows beyond that of a rebuild."""
_ROW = 1.0e-6
"""Reading one row of a source, and joining or grouping it."""
_FOUND = 0.25e-6
"""Reading one row of a source, and finding that it has none of the keys."""
_WRITTEN = 1.5e-6
"""Writing one row of the result."""
_DELETED = 0.15e-6
"""Reading one row of the table, and finding that it has none of the keys."""


def choose(reads: Reads) -> Choice:
    """Compare the estimated costs."""
    rows = sum(rows for rows, _ in reads.sources)
    share = min(1.0, reads.keys / max(reads.target_rows, 1))
    rebuild = rows * _ROW + reads.target_rows * _WRITTEN
    # the other sources are read once for each source that changed, and once to compute the affected rows
    finds = rows * _FOUND * (len(reads.changed) + 1)
    keep = _RUN + finds + sum(reads.changed) * _ROW + share * rebuild + reads.target_rows * _DELETED
    text = (
        f"{counted(reads.keys, 'key')} of a table of {counted(reads.target_rows, 'row')} "
        f"{'is' if reads.keys == 1 else 'are'} affected (estimated: {keep:.1f} s of CPU, "
        f"for all rows {rebuild:.1f} s)"
    )
    return Choice(rebuild < keep, text)
