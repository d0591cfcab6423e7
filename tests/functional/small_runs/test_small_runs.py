"""A short run of the benchmark of small runs. It has its own process, for Spark's event log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.small_runs.ways import WAYS

pytestmark = pytest.mark.thorough


def test_all_ways_are_exact_and_have_a_figure():
    """If any way returns wrong rows, the output is only an error."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.small_runs", "--only", "small", "--rounds", "1"],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    for way in WAYS:
        assert f"| {way.label} |" in ran.stdout
