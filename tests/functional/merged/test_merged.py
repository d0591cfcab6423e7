"""A small run of the benchmark of merges into a table. It has its own process, for Spark's event log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.merged.ways import OURS, REBUILD, REBUILD_DISTINCT, REBUILD_SUM

pytestmark = pytest.mark.thorough

_SIZES = ("--rows", "4000", "--files", "3", "--rounds", "1", "--percent", "5")
_WAYS = ("--ways", ",".join(OURS))


@pytest.fixture(scope="module")
def printed() -> str:
    """The output of the benchmark. If any way of merging returns wrong rows, the output is only an error."""
    # many small statements: the fast compiler alone
    options = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.merged", *_SIZES, *_WAYS],
        cwd=Path(__file__).resolve().parents[3],
        env={**os.environ, "JAVA_TOOL_OPTIONS": options},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    return ran.stdout


def test_all_ways_of_this_package_are_exact(printed: str):
    for way in (*OURS, REBUILD, REBUILD_SUM, REBUILD_DISTINCT):
        assert f"round 2 {way} " in printed, way


def test_a_table_is_printed(printed: str):
    assert "**v3 merge-on-read, 5% scattered**" in printed
    assert "| rebuild by CTAS |" in printed
