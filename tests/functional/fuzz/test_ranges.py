"""Ranges of random histories, each read in every way: the rows are the difference between the two ends.

``FUZZ_MOVES``, ``FUZZ_SEED`` set how many histories, and which; ``FUZZ_ONLY`` has the numbers of those to play again.
"""

from __future__ import annotations

import os

import pytest

from dbt.adapters.spark_iceberg.incremental.metadata.pyiceberg_reader import PyIcebergReader

from .histories import moves
from .ranges import Ranges
from .tally import Tally
from .test_fuzz import ONLY, SEED

COUNT = int(os.environ.get("FUZZ_MOVES", "4"))
ROUNDS, MOST = 4, 10
NUMBERS = [int(number) for number in ONLY.split(",")] if ONLY else range(COUNT)


@pytest.fixture(scope="module")
def tally():
    return Tally()


@pytest.fixture
def ranges_of(shop, warehouse, tally):
    """Gives the ranges of a history of moves."""
    properties = {"type": "sql", "uri": f"sqlite:///file:{warehouse / 'catalog.db'}?mode=rw&uri=true"}
    reader = PyIcebergReader(lambda _: properties)
    return lambda seed, number: Ranges(shop, moves(seed, number, ROUNDS), seed, reader, tally)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_range_is_exact_in_every_way(ranges_of, tally, number, record_property):
    ranges_of(SEED, number).play(MOST)
    record_property("moves", f"seed {SEED}: {tally}")
