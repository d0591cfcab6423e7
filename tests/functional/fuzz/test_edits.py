"""Random edits of models between their runs. Each is detected, and no row is silently lost, duplicated or stale.

``FUZZ_HISTORIES``, ``FUZZ_ROUNDS`` and ``FUZZ_SEED`` set the number, length and seed of the histories. ``FUZZ_ONLY``
lists the histories to repeat, which must be in one batch.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

import pytest

from . import edit_histories as h
from . import edit_holes as holes
from .edit_model import APPEND, APPLY, MERGE, OVERWRITE
from .edit_pipeline import EditPipeline
from .edit_sources import LOG, MIRROR, STREAM
from .pipeline import WrongResultError
from .tally import Tally

FIXED_SEED = 22
FIXED_COUNT, FIXED_ROUNDS, PLANTED_ROUNDS = 10, 4, 3
SEED = int(os.environ.get("FUZZ_SEED", FIXED_SEED))
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", FIXED_ROUNDS))
COUNT = int(os.environ.get("FUZZ_HISTORIES", FIXED_COUNT))
ONLY = os.environ.get("FUZZ_ONLY")

NUMBERS = [int(number) for number in ONLY.split(",")] if ONLY else range(COUNT)
BATCHES = [list(batch) for _, batch in itertools.groupby(NUMBERS, lambda number: number // h.BATCH)]
CHOSEN = [BATCHES[0], *(pytest.param(batch, marks=pytest.mark.thorough) for batch in BATCHES[1:])]


@pytest.fixture(scope="module")
def tally():
    return Tally("runs of models")


@pytest.mark.parametrize("numbers", CHOSEN, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_an_edit_is_never_silently_wrong(shop, tally, numbers, record_property):
    EditPipeline(shop, numbers, SEED, ROUNDS, tally).play()
    record_property("fuzz_edits", f"seed {SEED}: {tally}")


def test_the_fixed_histories_have_everything():
    histories = [h.edit_history(FIXED_SEED, number, FIXED_ROUNDS) for number in range(100)]
    assert {kind for each in histories for one in each.rounds for kind, _ in one.edits} == {*h.KINDS}
    assert {(each.first.source, each.first.strategy) for each in histories} >= {
        (STREAM, APPEND), (STREAM, MERGE), (STREAM, OVERWRITE), (MIRROR, MERGE), (MIRROR, APPLY), (LOG, APPLY),
    }  # fmt: skip
    assert {each.first.on_sql_change for each in histories} == {None, "warn", "fail", "full_refresh", "ignore"}


def test_the_generator_knows_which_edits_do_not_count():
    for number in range(200):
        history = h.edit_history(FIXED_SEED, number, FIXED_ROUNDS)
        laid_out = h.edited(history.first, "layout", number)
        assert laid_out.logic == history.first.logic
        assert h.edited(history.first, "value", number).logic != history.first.logic


def thorough(plant: Callable[[pytest.MonkeyPatch], None], number: int):
    return pytest.param(plant, number, marks=pytest.mark.thorough)


def nightly(plant: Callable[[pytest.MonkeyPatch], None], number: int):
    return pytest.param(plant, number, marks=pytest.mark.nightly)


@pytest.mark.parametrize(
    ("plant", "number"),
    [
        # logic
        thorough(holes.macros_do_not_count, 34),
        nightly(holes.ephemeral_models_do_not_count, 62),
        nightly(holes.variables_do_not_count, 56),
        nightly(holes.configs_do_not_count, 27),
        nightly(holes.layout_counts, 3),
        # records
        nightly(holes.a_logic_is_recorded_without_rows, 691),
        nightly(holes.the_earlier_logic_is_forgotten, 4),
        # refusals
        nightly(holes.edited_sql_is_not_analysed, 55),
        thorough(holes.types_are_not_compared, 20),
        nightly(holes.keys_are_not_compared, 281),
        nightly(holes.a_table_need_not_be_in_order, 13),
        nightly(holes.columns_that_the_sql_leaves_out_are_null, 25),
        # compiled SQL
        nightly(holes.a_range_has_a_with_outside_of_parentheses, 45),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_planted_bug_is_found(shop, monkeypatch, plant, number):
    plant(monkeypatch)
    with pytest.raises(
        WrongResultError, match=r"It succeeded|It failed|Its warnings|logic_changed_since|was continued"
    ):
        EditPipeline(shop, [number], FIXED_SEED, PLANTED_ROUNDS).play()
