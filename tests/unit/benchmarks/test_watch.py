"""How the benchmark of ``watch`` computes its figures."""

from __future__ import annotations

from benchmarks.watch import _first


def test_the_first_snapshot_with_a_number_of_rows():
    totals = [(1.0, 1), (2.5, 3), (4.0, 3), (6.0, 4)]

    assert [_first(totals, rows) for rows in (1, 2, 3, 4)] == [1.0, 2.5, 2.5, 6.0]
