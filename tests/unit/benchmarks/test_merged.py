from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.merged import __main__, changes, summary, ways
from benchmarks.merged.__main__ import main
from benchmarks.merged.cases import ALL_CASES, FOREIGN, LAYOUTS, STRETCH, Case, Sizes, properties
from benchmarks.merged.outcome import Outcome, read
from benchmarks.merged.ways import (
    APPLY_CHANGES,
    CHANGELOG_VIEW,
    FLOOR,
    FLOOR_DEFAULT,
    GROUPS_DISTINCT,
    GROUPS_SUM,
    REBUILD,
    REBUILD_SUM,
    THIRD,
    UPSERTS,
    WAYS,
    WHOLE_MERGE,
)
from benchmarks.meter import Spent


def test_a_layout_as_properties():
    assert properties("v2-cow") == {
        "format-version": "2",
        "write.delete.mode": "copy-on-write",
        "write.update.mode": "copy-on-write",
        "write.merge.mode": "copy-on-write",
    }


def test_a_case_in_words():
    assert Case().title == "v3 merge-on-read, 0.5% scattered"
    case = Case("v2-cow", STRETCH, 5.0, FOREIGN, compacted=True)
    assert case.title == ("v2 copy-on-write, 5% one range of keys, written by a plain MERGE, compacted in every range")
    assert case.name == "v2-cow.stretch.5.foreign.compacted"
    by_sql = Case(by_sql=True)
    assert by_sql.title == "v3 merge-on-read, 0.5% scattered, through a server"
    assert (by_sql.name, by_sql.is_plain) == ("v3-mor.scattered.0.5.merge.by_sql", False)


def test_the_cases_of_the_full_run_have_unique_names():
    assert len({case.name for case in ALL_CASES}) == len(ALL_CASES)
    assert {case.layout for case in ALL_CASES} == set(LAYOUTS)


def stretch(case: Case, number: int) -> tuple[int, int]:
    """The range of keys that a round may change, read from its SQL."""
    found = re.search(r"id >= (\d+) and id < (\d+)", changes.changes(case, "t", 8000, number))
    assert found is not None
    return int(found[1]), int(found[2])


def test_scattered_changes_are_anywhere():
    assert stretch(Case(percent=5.0), 1) == stretch(Case(percent=5.0), 2) == (0, 16_000)


def test_every_round_changes_another_stretch_of_keys():
    found = [stretch(Case(spread=STRETCH, percent=5.0), number) for number in range(1, 7)]
    assert found[0] == (2000, 2880)
    assert all(end <= following for (_, end), (following, _) in itertools.pairwise(found))
    assert found[-1][1] <= 16_000


def test_a_way_is_measured_together_with_the_ways_that_it_needs():
    assert [way.name for way in ways.needed([THIRD, GROUPS_SUM])] == [
        REBUILD,
        APPLY_CHANGES,
        THIRD,
        REBUILD_SUM,
        GROUPS_SUM,
    ]


def test_the_third_stage_always_follows_the_second():
    chosen = ways.needed([THIRD, UPSERTS])
    assert [way.name for way in ways.in_turn(chosen, 1)] == [REBUILD, APPLY_CHANGES, UPSERTS, THIRD]
    assert [way.name for way in ways.in_turn(chosen, 2)] == [UPSERTS, APPLY_CHANGES, REBUILD, THIRD]


@pytest.mark.parametrize(
    ("name", "layouts"), [(CHANGELOG_VIEW, ["v3-cow", "v2-cow"]), (FLOOR_DEFAULT, ["v3-cow", "v2-mor", "v2-cow"])]
)
def test_ways_that_only_some_layouts_support(name: str, layouts: list[str]):
    assert [layout for layout in LAYOUTS if ways.possible(WAYS[name], layout)] == layouts


def test_slow_ways_are_measured_only_in_the_plain_cases():
    assert WHOLE_MERGE in ways.in_full(Case())
    assert WHOLE_MERGE in ways.in_full(Case(spread=STRETCH))
    assert WHOLE_MERGE not in ways.in_full(Case(percent=5.0))
    assert GROUPS_DISTINCT in ways.in_full(Case(percent=5.0))
    assert GROUPS_DISTINCT not in ways.in_full(Case(compacted=True))


def test_plain_cases_have_more_rounds():
    sizes = Sizes(rounds=3, other_rounds=2)
    assert [sizes.rounds_of(case) for case in (Case(), Case(spread=STRETCH), Case(writer=FOREIGN))] == [3, 3, 2]


def outcome(case: Case) -> Outcome:
    """Two rounds. A rebuild takes 4 s and 2 s of CPU. The shares of the other ways are 1/2, 1/3 and 2."""
    shares = {REBUILD: 1.0, FLOOR: 0.5, APPLY_CHANGES: 1 / 3, UPSERTS: 2.0}
    steps = {
        way: [Spent(cpu=cpu * share, run=cpu, wall=1.0, whole=cpu) for cpu in (4.0, 2.0)]
        for way, share in shares.items()
    }
    return Outcome(case, Sizes(), [100, 102], steps, {UPSERTS: 1234})


def test_the_details_of_a_case():
    table = summary.details(outcome(Case()))
    rebuilt, floor, applied, upserted = table.rows
    assert table.note == "Means of 2 rounds, with 101 changed rows each."
    assert rebuilt[:5] == ["rebuild by CTAS", "3.00 s", "1.00", "3.00 s", "1.00"]
    assert floor[4:7] == ["0.50", "", "1.00"]
    assert applied[4:7] == ["0.33", "≤ 0.35", "0.67"]
    assert upserted[0] == "`ip_changes` with `upserts`, merge; 1,234 deletes missed"
    assert upserted[4:7] == ["2.00", "≤ 0.25, missed", "4.00"]


@pytest.mark.parametrize(
    ("case", "way", "expected"),
    [
        (Case(), GROUPS_SUM, 2.5),
        (Case(spread=STRETCH), APPLY_CHANGES, 0.1),
        (Case(percent=5.0), APPLY_CHANGES, 1.5),
        (Case(percent=5.0), FLOOR, None),
        (Case(percent=0.1), APPLY_CHANGES, None),
    ],
)
def test_aims(case: Case, way: str, expected: float | None):
    assert summary.aim(case, way) == expected


def test_the_tables_of_the_full_run():
    by_layout, by_percent, by_writer, by_connection, scattered, stretched = summary.tables(
        {case: outcome(case) for case in ALL_CASES}, Sizes()
    )
    assert [len(table.header) for table in (by_layout, by_percent, by_writer, by_connection)] == [9, 7, 6, 7]
    assert by_layout.rows[0][:2] == ["rebuild by CTAS", "3.00 s"]
    assert by_layout.rows[2][1:3] == ["0.33 (≤ 0.35)", "0.33 (≤ 0.10, missed)"]
    assert (scattered.title, stretched.title) == (Case().title, Case(spread=STRETCH).title)


def test_figures_are_named_by_case_and_way():
    found = summary.measured([outcome(Case())])
    assert found["v3-mor.scattered.0.5.merge.floor.cpu"] == [2.0, 1.0]


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--ways", "floor,ceiling"])
    assert "there is no ceiling; there are rebuild, floor" in capsys.readouterr().err


def test_an_outcome_is_read_as_it_was_written(tmp_path: Path):
    found = outcome(Case(percent=0.1))
    found.write(tmp_path / "outcomes")
    assert read(tmp_path / "outcomes", found.case) == found
    assert read(tmp_path / "outcomes", Case(percent=5.0)) is None


def test_an_interrupted_run_measures_only_the_missing_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[Case] = []

    def measure(sizes: Sizes, chosen: Mapping[Case, Sequence[str]]) -> Iterator[Outcome]:
        asked.extend(chosen)
        yield from map(outcome, chosen)

    monkeypatch.setattr(__main__, "measure", measure)
    monkeypatch.setattr(results, "load_by_others", lambda: 0.0)  # which waits for a quiet machine
    monkeypatch.setattr(__main__, "KEPT", tmp_path / "outcomes")
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    outcome(ALL_CASES[0]).write(tmp_path / "outcomes")
    main([])
    assert asked == list(ALL_CASES[1:])
    assert len(results.read(tmp_path / "results" / "merged.json").tables) == 6
    assert not (tmp_path / "outcomes").exists()
