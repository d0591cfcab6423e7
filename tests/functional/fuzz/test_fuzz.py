"""Random histories on real tables: after each run a model is what it must be, or it has failed and nothing has moved.

``FUZZ_HISTORIES``, ``FUZZ_ROUNDS`` and ``FUZZ_SEED`` say how many, how long and which; ``FUZZ_ONLY`` is the number of
the one to play again. ``make fuzz`` takes a seed that it has not had before.
"""

from __future__ import annotations

import itertools
import os

import pytest

from . import histories as h
from .kinds import FIRST_STAGE, SECOND_STAGE
from .pipeline import Pipeline, Tally
from .settings import BATCH

# Of this seed, 30 histories of 4 rounds have every kind of source, step and model.
FIXED_SEED = 297
FIXED_COUNT, FIXED_ROUNDS = 30, 4
SEED = int(os.environ.get("FUZZ_SEED", FIXED_SEED))
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", FIXED_ROUNDS))
COUNT = int(os.environ.get("FUZZ_HISTORIES", FIXED_COUNT))
KINDS = FIRST_STAGE + SECOND_STAGE + h.FURTHER_KINDS
ONLY = os.environ.get("FUZZ_ONLY")

NUMBERS = [int(ONLY)] if ONLY else list(range(COUNT))
BATCHES = [NUMBERS[start : start + BATCH] for start in range(0, len(NUMBERS), BATCH)]


@pytest.fixture(scope="module")
def tally():
    return Tally()


@pytest.mark.parametrize("numbers", BATCHES, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_never_silently_wrong(shop, tally, numbers, record_property):
    Pipeline(shop, [h.history(SEED, number, ROUNDS) for number in numbers], SEED, tally).play()
    record_property("fuzz", f"seed {SEED}: {tally}")


def test_the_fixed_histories_have_everything():
    fixed = [h.history(FIXED_SEED, number, FIXED_ROUNDS) for number in range(FIXED_COUNT)]
    assert {step.kind for each in fixed for one in each.rounds for step in one.steps} == {*h.WILD, *h.FURTHER_STEPS}
    models = [model for each in fixed for model in each.models]
    assert all(sum(model.kind is kind for model in models) > 1 for kind in KINDS)
    assert {(model.kind.name, model.on_source_rewrite) for model in models} >= {
        (kind.name, policy) for kind in KINDS if "changes" in (*kind.source, *kind.parent) for policy in kind.policies
    }
    assert {model.limit for model in models if model.parent is not None} == {None, 1}
    assert {each.variant.keyed for each in fixed} == {True, False}
    assert {(each.variant.version, each.variant.mode, each.variant.partition) for each in fixed} == set(
        itertools.product((2, 3), ("copy-on-write", "merge-on-read"), (None, "day", "k"))
    )
