"""A small run of the benchmark of daily runs over playback events. It has its own process, for Spark's event log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.playback import outcome
from benchmarks.playback.outcome import Outcome
from benchmarks.playback.ways import ACCOUNT_DAYS, ADDED, BY_DBT, EVENTS, IPS, LOOKBACK

# The history is longer than the lookback, so that the comparison includes rows of days that the lookback ignores.
_COMPARE = f"""
from pathlib import Path
from benchmarks.playback.scenarios import compare
from benchmarks.playback.sizes import Sizes
compare(Path("lake"), Sizes(events=2000, history=16, days=1), {(LOOKBACK, IPS)}).write(Path("compare.json"))
"""

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The measurements. If the two ways do not return the same rows, the output is only an error."""
    folder = tmp_path_factory.mktemp("playback")
    root = Path(__file__).resolve().parents[3]
    code = f"import sys; sys.path.insert(0, {str(root)!r})\n{_COMPARE}"
    # many small statements: the fast compiler alone
    options = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
    java = {**os.environ, "JAVA_TOOL_OPTIONS": options}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=java, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    assert [path.name for path in folder.iterdir()] == ["compare.json"]
    return outcome.read(folder / "compare.json")


def test_both_ways_return_the_same_rows(found: Outcome):
    assert found.rows.keys() == {f"{IPS}.{stage}" for stage in BY_DBT[IPS]}
    assert found.rows[f"{IPS}.{ACCOUNT_DAYS}"] == found.rows[f"{IPS}.{ADDED}"] > 0


def test_the_events_are_read_once(found: Outcome):
    spent = {(step.way, step.stage): step.spent for step in found.steps}
    assert len(spent) == len(found.steps) == len(BY_DBT[IPS]) + len(BY_DBT[LOOKBACK])
    assert all(each.run > 0 and each.cpu > 0 and each.written > 0 for each in spent.values())
    assert spent[IPS, EVENTS].rows == 2000
    assert spent[LOOKBACK, EVENTS].rows > 14 * 1900
