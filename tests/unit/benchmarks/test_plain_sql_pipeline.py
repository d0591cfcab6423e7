"""The benchmark of a pipeline of models in plain SQL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.auto_models import KEPT as KEPT_UP
from benchmarks.auto_models import ModelRun, Round, Taken
from benchmarks.plain_sql_pipeline import pipeline
from benchmarks.plain_sql_pipeline.__main__ import tables
from benchmarks.plain_sql_pipeline.data import DAYS, GROWING, SOURCES, Data
from benchmarks.plain_sql_pipeline.pipeline import BY_HAND, BY_HAND_MODELS, KEPT, MODELS, REBUILT, STAGES

FOLDER = Path(pipeline.__file__).parent


def test_the_sources_have_the_requested_number_of_rows():
    assert sum(Data(20_000_000).counts.values()) == 20_000_000


def ranges(source: str, day: int) -> tuple[int, int]:
    statements = list(Data(2_000_000).statements(day))
    found = re.search(r"range\((\d+), (\d+)\)", statements[GROWING.index(source)])
    assert found is not None
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("source", GROWING)
def test_each_day_adds_rows_after_those_of_the_previous_day(source: str):
    count = Data(2_000_000).counts[source]
    assert ranges(source, 1)[0] == count
    assert ranges(source, 2)[0] == ranges(source, 1)[1]
    assert sum(end - first for first, end in (ranges(source, day) for day in range(1, DAYS + 1))) == count


def test_each_model_reads_sources_and_models_of_earlier_stages():
    before: set[str] = set()
    for stage in STAGES:
        for name in stage:
            sql = (FOLDER / "models" / f"{name}.sql").read_text(encoding="utf-8")
            assert set(re.findall(r"ref\('(\w+)'\)", sql)) <= before
            assert set(re.findall(r"source\('raw', '(\w+)'\)", sql)) <= set(SOURCES)
        before |= set(stage)
    assert len(MODELS) == 12


@pytest.mark.parametrize("name", ["events", "session_funnels", "daily_active_users"])
def test_a_handwritten_model_differs_only_in_its_macro(name: str):
    plain, by_hand = (FOLDER.joinpath(folder, f"{name}.sql").read_text() for folder in ("models", "by_hand"))
    assert re.sub(r"ip_\w+\(((?:ref|source)\([^)]*\))[^}]*\)", r"\1", by_hand) == plain


def test_the_tables():
    def one(names: list[str], cpu: float) -> Round:
        return Round(cpu, cpu, {name: ModelRun(cpu, cpu, cpu, 3, (("insert", 0.1),), Taken(KEPT_UP)) for name in names})

    by_hand = [pipeline.by_hand_name(name) for name in BY_HAND_MODELS]
    found = {KEPT: [one(list(MODELS), 1.0)], BY_HAND: [one(by_hand, 0.5)], REBUILT: [one(list(MODELS), 4.0)]}
    whole, models, others = tables(found, 1000, 61.5)
    assert whole.rows[0] == ["whole CPU", "1.00 s", "4.00 s", "0.25", "≤ 0.20 missed"]
    assert models.rows[0] == ["events", KEPT_UP, "3", "1", "1.00 s", "1.00 s", "1.00 s", "4.00 s", "0.25"]
    assert others.rows[0][-4:] == ["0.50 s", "2.00", "≤ 1.30 missed", "2.00"]
