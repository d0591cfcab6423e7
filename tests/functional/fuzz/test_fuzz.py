"""Random histories on real tables. After each run, a model has the expected rows, or it failed without any effect.

``FUZZ_HISTORIES``, ``FUZZ_ROUNDS`` and ``FUZZ_SEED`` set the number, length and seed of the histories. ``FUZZ_ONLY``
lists the histories to repeat. ``make fuzz`` uses a new seed each time.
"""

from __future__ import annotations

import itertools
import os

import pytest

from . import histories as h
from .changelog_kinds import SIGNED_SUMS
from .kinds import FIRST_STAGE, SECOND_STAGE
from .pipeline import Pipeline
from .reading import Reading
from .sequence_kinds import NEWEST
from .settings import BATCH, TABLE
from .spellings import OF_ID, OF_K
from .tally import Tally

# With this seed, 30 histories of 4 rounds contain every kind of source, step and model.
FIXED_SEED = 297
FIXED_COUNT, FIXED_ROUNDS = 30, 4
SEED = int(os.environ.get("FUZZ_SEED", FIXED_SEED))
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", FIXED_ROUNDS))
COUNT = int(os.environ.get("FUZZ_HISTORIES", FIXED_COUNT))
MAIN_KINDS = FIRST_STAGE + SECOND_STAGE
ONLY = os.environ.get("FUZZ_ONLY")

NUMBERS = [int(number) for number in ONLY.split(",")] if ONLY else range(COUNT)
BATCHES = [list(batch) for _, batch in itertools.groupby(NUMBERS, lambda number: number // BATCH)]


@pytest.fixture(scope="module")
def tally():
    return Tally()


# one batch is enough to show that the fuzz itself works
CHOSEN = [BATCHES[0], *(pytest.param(batch, marks=pytest.mark.thorough) for batch in BATCHES[1:])]


@pytest.mark.parametrize("numbers", CHOSEN, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_never_silently_wrong(shop, tally, numbers, record_property):
    Pipeline(shop, [h.history(SEED, number, ROUNDS) for number in numbers], SEED, tally).play()
    record_property("fuzz", f"seed {SEED}: {tally}")


def test_the_fixed_histories_have_everything():
    fixed = [h.history(FIXED_SEED, number, FIXED_ROUNDS) for number in range(FIXED_COUNT)]
    assert {step.kind for each in fixed for one in each.rounds for step in one.steps} == {*h.WILD, *h.FURTHER_STEPS}
    models = [model for each in fixed for model in each.models]
    assert all(sum(model.kind is kind for model in models) > 1 for kind in MAIN_KINDS)
    assert {model.kind.name for model in models} == {
        kind.name for kind in (*MAIN_KINDS, *h.FURTHER_KINDS, SIGNED_SUMS, NEWEST)
    }
    assert {(model.kind.name, model.on_source_rewrite) for model in models} >= {
        (kind.name, policy)
        for kind in MAIN_KINDS
        if "changes" in (*kind.source, *kind.parent)
        for policy in kind.policies
    }
    assert {model.limit for model in models if model.parent is not None} == {None, 1}
    variants = [each.variant for each in fixed]
    assert {each.keyed for each in variants} == {True, False}
    assert {(each.version, each.mode, each.partition) for each in variants} == set(
        itertools.product((2, 3), ("copy-on-write", "merge-on-read"), (None, "day", "k"))
    )
    assert ({each.k for each in variants}, {each.id for each in variants}) == ({*OF_K}, {*OF_ID})
    assert {each.has_bounds for each in variants} == {each.has_twins for each in variants} == {True, False}
    assert {each.wap_off for each in fixed} == {True, False}
    assert {each.reading for each in fixed} == {*Reading}


def test_hundreds_of_histories_have_all_settings():
    assert {id(h.settings_of(number)) for number in range(100)} == {id(each) for each in TABLE}
