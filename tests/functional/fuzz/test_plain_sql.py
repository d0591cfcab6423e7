"""Random plain SQL, kept up to date: after each run a table equals its rebuild, or the model was refused by name.

``FUZZ_HISTORIES``, ``FUZZ_ROUNDS`` and ``FUZZ_SEED`` set how many, how long and which; ``FUZZ_ONLY`` has the numbers of
those to play again, which must be of one batch. ``FUZZ_QUERIES``: how many models each history has.
"""

from __future__ import annotations

import itertools
import os

import pytest

from .plain_sql.histories import BATCH, plain_history
from .plain_sql.pipeline import PlainPipeline, PlainTally

FIXED_SEED = 24
FIXED_COUNT, FIXED_ROUNDS, FIXED_QUERIES = 8, 4, 7
SEED = int(os.environ.get("FUZZ_SEED", FIXED_SEED))
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", FIXED_ROUNDS))
COUNT = int(os.environ.get("FUZZ_HISTORIES", FIXED_COUNT))
QUERIES = int(os.environ.get("FUZZ_QUERIES", FIXED_QUERIES))
ONLY = os.environ.get("FUZZ_ONLY")

NUMBERS = [int(number) for number in ONLY.split(",")] if ONLY else range(COUNT)
BATCHES = [list(batch) for _, batch in itertools.groupby(NUMBERS, lambda number: number // BATCH)]
CHOSEN = [BATCHES[0], *(pytest.param(batch, marks=pytest.mark.nightly) for batch in BATCHES[1:])]


@pytest.fixture(scope="module")
def tally():
    return PlainTally()


@pytest.mark.parametrize("numbers", CHOSEN, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_a_table_equals_its_rebuild(shop, tally, numbers, record_property):
    histories = [plain_history(SEED, number, ROUNDS, QUERIES) for number in numbers]
    PlainPipeline(shop, histories, SEED, tally).play()
    record_property("fuzz_plain_sql", f"seed {SEED}: {tally}")
