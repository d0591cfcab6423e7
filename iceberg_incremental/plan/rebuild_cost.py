"""Whether it is cheaper to replace the affected rows of a table or all of its rows, estimated from metadata."""

from __future__ import annotations

from dataclasses import dataclass

from ..quantities import counted
from .learned import LEAST_S, NOTHING, Learned


@dataclass(frozen=True)
class Reads:
    """The numbers of rows that both methods read and write.

    ``target_rows``: the rows of the table. ``sources``: the rows of each relation that the query reads. ``searched``:
    the rows that are read to find the changed rows of the sources. ``compared``: the part of these rows in which all
    columns are compared. ``scans``: the number of full scans of each relation by the views of affected keys, in the
    order of ``sources``. ``sorted_rows``: the rows that are sorted for windows, or multiplied for DISTINCT aggregates.
    ``learned``: what earlier runs cost.
    """

    target_rows: int
    sources: tuple[int, ...]
    searched: int
    scans: tuple[int, ...]
    sorted_rows: int = 0
    compared: int = 0
    learned: Learned = NOTHING


@dataclass(frozen=True)
class Choice:
    """The method that a run uses, and why.

    ``estimated``: the estimated seconds of CPU to replace the affected rows (a lower bound), and to replace all rows.
    None if the estimates did not decide. ``by_rows``: the parts of them that depend on rows, which executors spend,
    before they are multiplied by the factors that earlier runs of the same method have measured.
    """

    rebuilds: bool
    reason: str
    estimated: tuple[float, float] | None = None
    by_rows: tuple[float, float] | None = None


BELOW_LIMIT = "all changed rows come after the last row that LIMIT returns"
"""The reason to change no row."""
ONLY_GAINED = Choice(False, "the sources only gained rows, which only add rows to the result")
"""The choice to insert new rows without finding affected keys."""

# Seconds of CPU. The costs of rows are fitted to ``python -m benchmarks.plain_sql_tpch`` at scale 1, ``python -m
# benchmarks.plain_sql_pipeline`` and ``python -m benchmarks.small_runs``, and fixed costs to TPC-H at scale 0.01.
_RUN = 0.9
"""The fixed cost of replacing affected rows, in addition to that of a rebuild."""
_CONTINUED = 0.6
"""The fixed cost of updating all groups of a small table, in addition to that of a rebuild."""
_FINDING = 0.2
"""The fixed cost of only finding the changed rows."""
_SCAN = 0.07
"""Planning the read of one whole relation, with its joins, to find affected keys. Large SQL has hundreds of them."""
_ROW = 0.4e-6
"""Reading one row of a source, and joining or grouping it."""
_SORTED = 0.7e-6
"""Sorting one row for a window, or multiplying it for a DISTINCT aggregate."""
_SEARCHED = 0.3e-6
"""Reading one row of a source's changed files, and finding whether it changed."""
_COMPARED = 2.0e-6
"""Comparing one added or removed row of a source with others by all of its values."""
_FOUND = 0.2e-6
"""Reading one row of a source, and finding whether it joins a changed row."""
_READ = 0.35e-6
"""Reading one row of a source with all columns, and finding whether it has an affected key."""
_WRITTEN = 2.0e-6
"""Writing one row of the result."""
_DELETED = 0.2e-6
"""Reading one row of the table, and finding whether it has an affected key."""

_ORDERED = 5_000_000
"""The least rows of all sources for which a table is ordered by key. A run then gains up to a second."""

MOST_REWRITTEN = 100_000
"""If the table has at most this many rows, a run that updates some groups writes the whole table in one statement."""


def choose(reads: Reads, keys: int) -> Choice:
    """Compare the estimated costs of both methods, once the affected keys are known. ``keys``: their number."""
    return _cheaper(reads, keys, _RUN, _cost_of_replacing(reads, share_of(reads, keys)))


def choose_to_continue(reads: Reads, keys: int) -> Choice:
    """Compare the estimated costs if existing groups are updated with the added and removed rows.

    ``reads``: for computing these updates. ``keys``: the number of affected keys.
    """
    fixed, rows = sum(reads.scans) * _SCAN, (reads.searched + _found(reads)) * _ROW
    if reads.target_rows <= MOST_REWRITTEN:
        return _cheaper(reads, keys, fixed + _CONTINUED, rows + reads.target_rows * _WRITTEN)
    written = reads.target_rows * _DELETED + min(keys, reads.target_rows) * _WRITTEN
    return _cheaper(reads, keys, fixed + _RUN, rows + written)


def _cheaper(reads: Reads, keys: int, fixed: float, rows: float) -> Choice:
    """The cheaper method. ``fixed``, ``rows``: the costs of the affected rows, without and with a factor."""
    by_rows = (rows, cost_of_rebuild(reads))
    keep, rebuild = fixed + rows * reads.learned.kept, _measured_rebuild(reads)
    text = (
        f"{counted(keys, 'key')} of a table of {counted(reads.target_rows, 'row')} {'is' if keys == 1 else 'are'} "
        f"affected (estimated CPU time: {keep:.1f} s, and {rebuild:.1f} s to replace all rows)"
    )
    return Choice(rebuild < keep, text, (keep, rebuild), by_rows)


def rebuild_at_once(reads: Reads) -> Choice | None:
    """The choice to replace all rows without finding the affected keys. None unless that is cheaper.

    It is if finding the keys alone costs more, or if many rows were affected when a run last found them.
    """
    share, known = reads.learned.expected(reads.searched), reads.learned
    search, replaced = cost_of_search(reads), _cost_of_replacing(reads, share)
    keep = _RUN + sum(reads.scans) * _SCAN + search * known.found + replaced * known.kept
    rebuild = _measured_rebuild(reads)
    if rebuild >= keep:
        return None
    why = (
        f"{share:.0%} of the rows were affected in an earlier run"
        if share
        else "finding the affected keys would cost more"
    )
    text = f"{why} (estimated CPU time: at least {keep:.1f} s, and {rebuild:.1f} s to replace all rows)"
    return Choice(True, text, (keep, rebuild), (search + replaced, cost_of_rebuild(reads)))


def rebuild_is_cheaper_than_finding(reads: Reads) -> bool:
    """Whether replacing all rows is cheaper than finding the changed rows alone, which then decide about a LIMIT."""
    return _measured_rebuild(reads) < _FINDING + cost_of_keys(reads)


def is_worth_measuring(reads: Reads) -> bool:
    """Whether replacing all rows costs so much that the next runs should know how wrong the estimate is."""
    return _measured_rebuild(reads) >= LEAST_S


def gains_from_order(reads: Reads) -> bool:
    """Whether a table should be built in the order of its key, so that runs can skip files without affected keys.

    To learn how the keys are spread, Spark computes all rows once more, windows and distinct values included. Each
    later run gains up to ``_DELETED`` for each row.
    """
    return not reads.sorted_rows and sum(reads.sources) >= _ORDERED


def cost_of_keys(reads: Reads) -> float:
    """The estimated seconds of CPU to find the affected keys."""
    return sum(reads.scans) * _SCAN + cost_of_search(reads)


def cost_of_scans(scans: int, rows: int) -> float:
    """The estimated seconds of CPU to read whole sources in order to find affected keys.

    ``scans``: how often one is read. ``rows``: the sum of the rows of all scans.
    """
    return scans * _SCAN + rows * _FOUND


def share_of(reads: Reads, keys: int) -> float:
    """The share of the table's rows with one of the affected keys, of which there are ``keys``."""
    return min(1.0, keys * max(reads.learned.rows_per_key, 1.0) / max(reads.target_rows, 1))


def cost_of_search(reads: Reads) -> float:
    """The estimated seconds of executors' CPU to find the affected keys, regardless of earlier runs."""
    return reads.searched * _SEARCHED + reads.compared * _COMPARED + _found(reads) * _FOUND


def _measured_rebuild(reads: Reads) -> float:
    return cost_of_rebuild(reads) * reads.learned.rebuilt


def cost_of_rebuild(reads: Reads) -> float:
    """The estimated seconds of executors' CPU to replace all rows, regardless of earlier runs."""
    return sum(reads.sources) * _ROW + reads.sorted_rows * _SORTED + reads.target_rows * _WRITTEN


def _cost_of_replacing(reads: Reads, share: float) -> float:
    """The estimated seconds of executors' CPU to replace the affected rows. ``share``: their share of the table.

    The query computes them. If it costs more for all rows than estimated, so it does for these.
    """
    read = sum(reads.sources) * _READ + reads.target_rows * _DELETED
    return read + share * _measured_rebuild(reads)


def _found(reads: Reads) -> int:
    """The number of rows that are read to find those that join a changed row."""
    return sum(rows * scans for rows, scans in zip(reads.sources, reads.scans, strict=True))
