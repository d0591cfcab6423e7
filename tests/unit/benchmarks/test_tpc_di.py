"""The benchmark of the models of a brokerage."""

from __future__ import annotations

import re

import pytest

from benchmarks.auto_models import INSERT, NOTHING, REBUILD, WROTE, ModelRun, Taken
from benchmarks.auto_models import KEPT as UPDATED_INCREMENTALLY
from benchmarks.tpc_di import summary
from benchmarks.tpc_di.data import CHANGED, SOURCES, Data
from benchmarks.tpc_di.pipeline import BATCHES, KEPT, LAYERS, MODELS, MODELS_FOLDER, NEVER, REBUILT, Round, Size
from benchmarks.tpc_di.rows import PARTS

TRADES = 20_000


def test_models_read_sources_and_models_of_the_same_or_earlier_layers():
    before: set[str] = set()
    read: set[str] = set()
    for layer in LAYERS:
        files = list((MODELS_FOLDER / layer).glob("*.sql"))
        before |= {file.stem for file in files}
        for file in files:
            sql = file.read_text(encoding="utf-8")
            assert "config(" not in sql
            assert set(re.findall(r"ref\('(\w+)'\)", sql)) <= before - {file.stem}
            read |= set(re.findall(r"source\('raw', '(\w+)'\)", sql))
    assert read == set(SOURCES)
    assert len(MODELS) == len(before) == 49


@pytest.mark.parametrize("part", PARTS)
def test_batches_add_successive_rows_after_the_initial_load(part: str):
    data = Data("raw", TRADES)
    (first, end), (after, last) = (data.numbers(part, batch) for batch in (2, 3))
    assert first == data.entities.counts()[part] < end == after < last


def test_the_last_batch_changes_all_sources():
    changed = [re.findall(r"raw\.(\w+)", statement)[0] for statement in Data("raw", TRADES).statements(CHANGED)]
    assert sorted(changed) == sorted(SOURCES)


def ran(whole: float, way: str) -> ModelRun:
    return ModelRun(whole, whole, whole / 2, 3, (), Taken(way, "cheaper"), 10)


FOUND = {
    way: [Round(whole, whole / 2, {name: ran(whole / 49, method) for name in MODELS}, batch) for batch in BATCHES]
    for way, whole, method in ((KEPT, 49.0, REBUILD), (REBUILT, 98.0, WROTE), (NEVER, 24.5, INSERT))
}


def test_the_tables_of_a_size():
    made = summary.tables(Size("small", TRADES), FOUND, 0.4)
    assert all(len(row) == len(table.header) for table in made for row in table.rows)
    totals, methods, *models = made
    assert totals.rows[-1] == [
        "batches 2 and 3",
        *("98.00 s", "196.00 s", "0.50", "≤ 0.40 missed"),
        *("49.00 s", "98.00 s", "0.50", "≤ 0.40 missed"),
        "49.00 s",
    ]
    assert methods.rows == [[REBUILD, "49", "49", "49"]]
    assert len(models) == 3
    assert models[0].rows[0][-4:] == [INSERT, "0.50 s", summary.INCREMENTAL, "cheaper"]


def test_without_the_third_project_there_are_no_choices():
    made = summary.tables(Size("small", TRADES), {way: FOUND[way] for way in (KEPT, REBUILT)}, None)
    assert all(len(row) == len(table.header) for table in made for row in table.rows)
    assert "cheaper" not in made[2].header and made[0].rows[-1][4] == ""


def test_the_cheaper_method():
    updated, rebuilt, idle = ran(2.0, UPDATED_INCREMENTALLY), ran(2.0, REBUILD), ran(0.1, NOTHING)
    tables = [ran(cpu, WROTE) for cpu in (1.0, 3.0)]
    assert [summary.cheaper(updated, table, updated) for table in tables] == [summary.REBUILDS, summary.INCREMENTAL]
    others = [ran(cpu, UPDATED_INCREMENTALLY) for cpu in (1.0, 3.0)]
    assert [summary.cheaper(rebuilt, tables[0], other) for other in others] == [summary.INCREMENTAL, summary.REBUILDS]
    assert summary.cheaper(idle, tables[0], idle) == summary.cheaper(rebuilt, tables[0], rebuilt) == summary.EITHER
