"""How the benchmark of watch takes its figures."""

from __future__ import annotations

import os
import time

from benchmarks.watch import _cpu_seconds, _first


def test_the_first_snapshot_that_has_a_number_of_rows():
    totals = [(1.0, 1), (2.5, 3), (4.0, 3), (6.0, 4)]

    assert [_first(totals, rows) for rows in (1, 2, 3, 4)] == [1.0, 2.5, 2.5, 6.0]


def test_the_cpu_time_of_a_process():
    before = _cpu_seconds(os.getpid())
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass

    assert 0.2 < _cpu_seconds(os.getpid()) - before < 3
