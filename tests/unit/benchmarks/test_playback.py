from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.meter import Spent, spent_by_tasks
from benchmarks.playback import outcome, plots, summary
from benchmarks.playback.outcome import Outcome, Step
from benchmarks.playback.sizes import Sizes, from_environment
from benchmarks.playback.ways import BY_DBT, EVENTS, GROWING, IPS, LOOKBACK, REBUILD, WATERMARK


def task(**metrics: Any) -> str:
    found = {"Executor Run Time": 1500, "Executor CPU Time": 1_000_000_000, **metrics}
    return json.dumps({"Event": "SparkListenerTaskEnd", "Stage ID": 1, "Task Metrics": found}, separators=(",", ":"))


def test_tasks_are_summed_and_other_events_are_ignored():
    read = {"Input Metrics": {"Bytes Read": 1, "Records Read": 10}}
    moved = {"Shuffle Read Metrics": {"Remote Bytes Read": 2, "Local Bytes Read": 3}}
    written = {"Output Metrics": {"Bytes Written": 7}}
    lines = [task(**read), '{"Event":"SparkListenerStageCompleted"}', task(**moved, **written)]
    assert spent_by_tasks(lines) == Spent(run=3.0, cpu=2.0, rows=10, shuffled=5, written=7, tasks=2)


def test_a_lost_task_has_no_metrics():
    assert spent_by_tasks(['{"Event":"SparkListenerTaskEnd","Stage ID":1,"Task Metrics":null}']) == Spent(tasks=1)


def test_sizes_are_taken_from_the_environment():
    given = {"PLAYBACK_EVENTS": "50", "PLAYBACK_GROWTH_HISTORY": "3 9", "PLAYBACK_DAYS": ""}
    assert from_environment(given) == Sizes(events=50, growth_history=(3, 9))
    with pytest.raises(ValueError, match="many"):
        from_environment({"PLAYBACK_DAYS": "many"})


def step(way: str, stage: str, day: int, run: float, history: str = "compare") -> Step:
    return Step(history, way, stage, day, Spent(run=run, cpu=run / 2, wall=run + 1, whole=run + 1))


@pytest.fixture
def compared() -> Outcome:
    """Steps of two days. The lookback takes 4 s and 2 s, this package half of that. A rebuild ran on the second day."""
    steps = [
        step(way, stage, day, run * share)
        for day, run in ((0, 4.0), (1, 2.0))
        for way, stage, share in (
            *((LOOKBACK, stage, 1.0) for stage in BY_DBT[LOOKBACK]),
            *((IPS, stage, 0.5) for stage in BY_DBT[IPS]),
            (WATERMARK, EVENTS, 0.25),
            *(((REBUILD, EVENTS, 3.0),) if day == 1 else ()),
        )
    ]
    return Outcome(Sizes(), 0.1, 0.2, steps, {"watermark.lost": 1234})


@pytest.fixture
def grown() -> Outcome:
    """This package's time grows by 1% up to the longest history. The time of a rebuild grows with the history."""
    steps = [
        step(way, stage, 0, (days if way == REBUILD else 1.0 + (0.01 if days == 480 else 0.0)), history)
        for history, days in (("files_9", 480), ("days_120", 120), ("days_30", 30), ("days_480", 480))
        for way, stages in GROWING.items()
        for stage in stages
    ]
    return Outcome(Sizes(growth_files=9), 0.1, 0.2, steps, {"files_9.files": 9})


def test_a_ratio_compares_the_sums_of_the_days_that_both_have(compared: Outcome):
    events = dict(summary.bars(compared.steps)["events"])
    assert events == {
        "lookback of 14 days": 1.0,
        "`ip_changes`, append": 0.5,
        "`max(event_at)` watermark": 0.25,
        "full rebuild": 3.0,
    }


def test_the_tables(compared: Outcome, grown: Outcome):
    events, account_days, *_, growth = summary.tables(compared, grown)
    assert events.rows[1][:4] == ["`ip_changes`, append", "1.50 s", "0.50", "≤ 0.10, missed"]
    assert events.rows[2][0] == "`max(event_at)` watermark; 1,234 rows lost"
    assert [row[0] for row in account_days.rows][1:] == [
        "`ip_changed_groups`, merge",
        "`ip_changes` summed and added, merge",
    ]
    assert growth.header[1:6] == ["days 30", "days 120", "days 480", "files 9", "days 480 / days 30"]
    by_name = {row[0]: row[1:] for row in growth.rows}
    assert by_name["events: `ip_changes`, append"] == ["1.00 s"] * 2 + ["1.01 s"] * 2 + ["1.01", "1.01", "≤ 1.05"]
    assert by_name["account days: full rebuild"][4] == "16.00"


def test_an_outcome_is_read_as_it_was_written(compared: Outcome, tmp_path: Path):
    compared.write(tmp_path / "build" / "compare.json")
    assert outcome.read(tmp_path / "build" / "compare.json") == compared


def test_the_same_figures_result_in_the_same_plots(compared: Outcome, grown: Outcome, tmp_path: Path):
    def draw(folder: Path) -> dict[str, str]:
        plots.bars(folder / "bars.svg", summary.bars(compared.steps), summary.OURS)
        plots.lines(folder / "lines.svg", summary.lines(grown.steps), summary.OURS)
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}

    drawn = draw(tmp_path / "one")
    assert "ip_changes, append" in drawn["bars.svg"]
    assert "full rebuild" in drawn["lines.svg"]
    assert drawn == draw(tmp_path / "two")
