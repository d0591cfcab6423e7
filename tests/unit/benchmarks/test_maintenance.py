"""The figures of the maintenance benchmark, computed from the results of its days."""

from __future__ import annotations

from benchmarks import maintenance, results
from benchmarks.maintenance import Day, Outcome, publish


def test_the_figures_and_the_plot(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "PLOTS", tmp_path)
    kept = Outcome([Day(2.0, 1.0, 9, 4, 3) for _ in range(30)])
    left = Outcome([Day(2.0 + day / 10, 0.0, 3 * day, 3 * day, 0) for day in range(30)])
    broken = Outcome([Day(2.0, 0.0, 3, 3, 0)], "Runtime Error in model changes\n  Snapshots have expired\n  more")
    result = publish({"maintained": kept, "left_alone": left, "not_held": broken})
    (table,) = result.tables
    rows = {row[0]: row[1:] for row in table.rows}
    assert table.header[1:] == [maintenance.KEPT_UP, maintenance.LEFT_ALONE, maintenance.NOT_HELD]
    assert rows["days without a break"] == ["30", "30", "1"]
    assert rows["files, first"] == ["9", "16", ""] and rows["files, last"] == ["9", "74", ""]
    assert rows["the error"] == ["", "", "Snapshots have expired"]
    assert result.measured["left_alone.files"][-1] == 87
    assert "<svg" in (tmp_path / "maintenance.svg").read_text()


def test_an_outcome_is_continued(monkeypatch, tmp_path):
    monkeypatch.setattr(maintenance, "SCRATCH", tmp_path)
    assert maintenance.read("maintained") is None
    text = '{"days": [{"models": 1, "maintenance": 0, "files": 3, "snapshots": 3, "actions": 0}], "error": ""}'
    (tmp_path / "maintained.json").write_text(text)
    assert maintenance.read("maintained") == Outcome([Day(1, 0, 3, 3, 0)])
    assert maintenance.played("maintained", 1) == maintenance.read("maintained")
