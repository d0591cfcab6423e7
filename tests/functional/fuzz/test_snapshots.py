"""Random histories of dbt's snapshots. Incremental runs leave the same tables as dbt's own runs.

``FUZZ_HISTORIES``, ``FUZZ_ROUNDS`` and ``FUZZ_SEED`` set the number, length and seed of the histories. ``FUZZ_ONLY``
lists the histories to repeat.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence

import pytest

from tests.functional.incremental.shop import Shop

from . import snapshot_holes as holes
from .pipeline import WrongResultError
from .snapshot_histories import snapshot_history
from .snapshot_pipeline import play
from .together import SMALL, batches

FIXED_SEED, FIXED_COUNT, FIXED_ROUNDS = 25, 2, 5
SEED = int(os.environ.get("FUZZ_SEED", FIXED_SEED))
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", FIXED_ROUNDS))
COUNT = int(os.environ.get("FUZZ_HISTORIES", FIXED_COUNT))
ONLY = os.environ.get("FUZZ_ONLY")
NUMBERS = [int(number) for number in ONLY.split(",")] if ONLY else list(range(COUNT))
BATCHES = batches(NUMBERS)
CHOSEN = [BATCHES[0], *(pytest.param(numbers, marks=pytest.mark.nightly) for numbers in BATCHES[1:])]


@pytest.fixture
def new_shop(small_shop, embedded_target, outside):
    """Creates further projects like ``small_shop``, each with its own schemas."""
    numbers = itertools.count(1)

    def make():
        name = f"{small_shop.schema}_{next(numbers)}"
        made = Shop(small_shop.folder.parent / name, embedded_target, name, outside.session)
        made.configure(SMALL)
        return made

    return make


@pytest.mark.parametrize("numbers", CHOSEN, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_a_table_equals_that_of_dbts_own_snapshot(small_shop, numbers, record_property):
    tally = play(small_shop, [snapshot_history(SEED, number, ROUNDS) for number in numbers], SEED)
    record_property(f"fuzz_snapshots_{numbers[0]}", f"seed {SEED}: {len(numbers)} histories of snapshots, {tally}")


def test_the_generator_makes_everything():
    histories = [snapshot_history(FIXED_SEED, number, FIXED_ROUNDS) for number in range(60)]
    steps = {step.kind for history in histories for steps in history.rounds for step in steps}
    assert steps >= {
        "insert", "update", "touch", "delete", "move", "put_aside", "bring_back", "merge", "overwrite", "compact",
        "expire", "replace", "roll_back", "edit", "add_column", "repeat", "null_key", "target_delete", "target_update",
        "target_compact", "target_expire", "target_alter",
    }  # fmt: skip
    configs = [taken.config for history in histories for taken in history.snapshots]
    assert {config["strategy"] for config in configs} == {"check", "timestamp"}
    assert {config.get("hard_deletes") for config in configs} == {None, "ignore", "invalidate", "new_record"}


def histories_with(kinds: Sequence[str], *, of_times: bool) -> list[int]:
    """The numbers of the fixed histories that have the most steps of some kinds, followed by a run.

    ``of_times``: count only steps of histories whose snapshots have ``updated_at``.
    """

    def steps(number: int) -> int:
        history = snapshot_history(FIXED_SEED, number, FIXED_ROUNDS)
        found = sum(step.kind in kinds for steps in history.rounds[:-1] for step in steps)
        return found * sum("updated_at" in taken.config for taken in history.snapshots) if of_times else found

    return sorted(range(200), key=steps, reverse=True)[:12]


@pytest.mark.nightly
@pytest.mark.parametrize("plant", holes.SHOWN_BY, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(new_shop, monkeypatch, plant, record_property):
    """Histories are played until one finds the bug."""
    plant(monkeypatch)
    for numbers in batches(histories_with(holes.SHOWN_BY[plant], of_times=plant in holes.OF_TIMES), 4):
        try:
            play(new_shop(), [snapshot_history(FIXED_SEED, number, FIXED_ROUNDS) for number in numbers], FIXED_SEED)
        except WrongResultError as error:
            record_property(f"fuzz_snapshot_{plant.__name__}", f"{plant.__name__}: found by {str(error)[:200]}")
            return
    pytest.fail("no history has found it")
