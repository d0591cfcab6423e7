from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import report, results
from benchmarks.model_run import kind
from benchmarks.results import Result, Table
from benchmarks.sections import ANSWERING, HIDDEN, SECTIONS, answers


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("/* {} */\ninsert into t select 1", "insert"),
        ("SET `spark.wap.branch` = `b`", "set"),
        ("RESET `spark.wap.branch`", "reset"),
        ("ALTER TABLE `a`.`b` DROP BRANCH IF EXISTS `ip_1`", "alter table … drop branch"),
        ("ALTER TABLE `a`.`b` SET TBLPROPERTIES ('k' = 'v')", "alter table … set tblproperties"),
        ("show tables in a", "show tables in"),
    ],
)
def test_kind(sql: str, expected: str):
    assert kind(sql) == expected


def test_a_ratio_is_the_median_of_the_pairs():
    assert results.paired_ratio([2.0, 6.0, 3.0], [1.0, 2.0, 3.0]) == 2.0
    assert results.paired_difference([2.0, 6.0, 3.0], [1.0, 2.0, 3.0]) == 1.0


def test_a_missed_aim_is_marked():
    assert (results.at_most(0.2, 0.2), results.at_most(0.2, 0.21)) == ("≤ 0.20", "≤ 0.20 missed")
    assert (results.times(5.0, 5), results.times(4.9, 5)) == ("5.0", "4.9 missed")


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "load", lambda: 0.4)
    result = results.begin("example")
    table = Table("What", ["case", "figure"])
    table.add("one", "1.00 s")
    result.tables.append(table)
    result.save()
    return tmp_path / "example.json"


def test_a_result_is_read_as_it_was_saved(saved: Path):
    assert results.read(saved).tables == [Table("What", ["case", "figure"], [["one", "1.00 s"]])]
    assert json.loads(saved.read_text())["versions"]["pyiceberg"]


@pytest.mark.parametrize(("loads", "recorded"), [([0.4], 0.4), ([3.0, 1.1, 0.9], 0.9), ([3.0] * 60, 3.0)])
def test_a_benchmark_waits_until_the_load_is_low(monkeypatch, loads: list[float], recorded: float):
    slept: list[float] = []
    monkeypatch.setattr(results, "load", lambda: loads[min(len(slept), len(loads) - 1)])
    monkeypatch.setattr(results, "time", SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append))
    assert results.load_by_others() == recorded
    assert sum(slept) <= 180


@pytest.mark.parametrize(("load", "busy"), [(0.2, False), (3.0, True)])
def test_the_page_describes_the_machine(saved: Path, load: float, busy: bool):
    result: Result = results.read(saved)
    result.load_before = load
    page = report.page([result])
    assert "| one | 1.00 s |" in page
    assert f"{result.machine['cores']} cores" in page
    assert ("busy" in page) is busy


def test_a_wide_table_is_collapsed(saved: Path):
    result: Result = results.read(saved)
    wide = Table("Details", [str(n) for n in range(report.MOST_COLUMNS + 1)])
    wide.add(*wide.header)
    result.tables.append(wide)
    page = report.page([result])
    assert "**What**\n\n| case | figure |" in page
    assert "<details markdown>\n<summary>Details</summary>\n\n| 0 | 1 |" in page
    assert "| 9 | 10 |\n\n</details>\n" in page


def test_the_page_is_up_to_date():
    """`make reference` writes the page from the saved results."""
    saved = [results.read(path) for path in sorted(results.FOLDER.glob("*.json"))]
    assert saved and report.PAGE.read_text(encoding="utf-8") == report.page(saved)


def test_each_plot_of_a_result_exists():
    saved = [results.read(path) for path in sorted(results.FOLDER.glob("*.json"))]
    plots = {plot.name for result in saved for plot in result.plots}
    assert plots == {path.name for path in results.PLOTS.iterdir()}


def test_ten_lines_tell_when_a_run_pays():
    """What each line claims agrees with its figures, which are shares of a rebuild's cost."""
    lines = [*answers({name: results.read(results.FOLDER / f"{name}.json") for name in ANSWERING})]
    assert len(lines) == 10
    shares = [[float(each) for each in re.findall(r"(?<![\d,.])\d+\.\d\d\b(?! s)", line)] for line in lines]
    new, changed, by_share, layout, groups, auto, many, copied, late, snapshot = shares
    assert max(new) < 1  # "always"
    assert changed[0] > 1 > changed[1]  # "from about a million rows"
    assert max(by_share) < 1 and by_share == sorted(by_share)
    assert layout[1] < layout[0] < 1
    assert groups[0] > 1 > groups[2] and groups[3] < 1  # "from several million rows, or if a group is expensive"
    assert auto[1] < 1 and max(auto) < 1.5
    assert min(many) > 1  # "rebuild them"
    assert copied[0] > 1 > copied[1]
    assert max(*late, *snapshot) < 1


def test_each_result_has_a_section():
    assert {*SECTIONS, *HIDDEN} >= {path.stem for path in results.FOLDER.glob("*.json")}
