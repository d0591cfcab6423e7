"""Ranges of random histories, each read in every way. The rows must equal the difference between the two ends.

``FUZZ_MOVES`` and ``FUZZ_SEED`` set the number and the seed of the histories. ``FUZZ_ONLY`` lists histories to repeat.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from iceberg_incremental.metadata.pyiceberg_reader import PyIcebergReader

from . import holes, net_holes
from .histories import moves, own_rows
from .pipeline import WrongResultError
from .ranges import LEFT, Ranges
from .tally import Tally
from .test_fuzz import FIXED_SEED, ONLY, SEED

Plant = Callable[[pytest.MonkeyPatch], None]

COUNT = int(os.environ.get("FUZZ_MOVES", "2"))
ROUNDS, MOST = 4, 10
NUMBERS = [int(number) for number in ONLY.split(",")] if ONLY else range(COUNT)


@pytest.fixture(scope="module")
def tally():
    return Tally("ranges")


@pytest.fixture
def reader(warehouse):
    properties = {"type": "sql", "uri": f"sqlite:///file:{warehouse / 'catalog.db'}?mode=rw&uri=true"}
    return PyIcebergReader(lambda _: properties)


@pytest.fixture
def ranges_of(shop, reader, tally):
    """Returns the ranges of a history that moves rows."""
    return lambda seed, number: Ranges(shop, moves(seed, number, ROUNDS), seed, reader, tally)


@pytest.mark.parametrize("number", [NUMBERS[0], *(pytest.param(n, marks=pytest.mark.thorough) for n in NUMBERS[1:])])
def test_every_range_is_exact_in_every_way(ranges_of, tally, number, record_property):
    ranges_of(SEED, number).play(MOST)
    record_property("fuzz of ranges", f"seed {SEED}: {tally}")


@pytest.fixture
def ranges_of_own_rows(shop, reader, tally):
    """Returns the ranges of a history that mostly changes new rows."""
    return lambda seed, number: Ranges(shop, own_rows(seed, number, ROUNDS + 1), seed, reader, tally)


@pytest.mark.parametrize("number", [NUMBERS[0], *(pytest.param(n, marks=pytest.mark.thorough) for n in NUMBERS[1:])])
def test_a_range_that_changes_rows_of_its_own_is_exact_without_net_changes(ranges_of_own_rows, tally, number):
    before = tally.checks[LEFT]
    ranges_of_own_rows(SEED, number).play(3 * MOST)
    assert tally.checks[LEFT] > before


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("plant", "number"),
    [(net_holes.removed_files_are_ignored, 2), (net_holes.rows_deleted_in_place_are_ignored, 0)],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_planted_bug_in_remaining_additions_is_found(ranges_of_own_rows, monkeypatch, plant: Plant, number):
    plant(monkeypatch)
    with pytest.raises(WrongResultError, match=r"additions .* is wrong"):
        ranges_of_own_rows(FIXED_SEED, number).play(3 * MOST)


def nightly(plant: Plant, number: int):
    return pytest.param(plant, number, marks=pytest.mark.nightly)


@pytest.mark.parametrize(
    ("plant", "number"),
    [
        nightly(net_holes.rows_deleted_at_both_ends_count, 1),
        nightly(net_holes.deleted_rows_are_the_same_by_their_keys, 1),
        nightly(net_holes.rows_added_and_deleted_in_the_range_count, 1),
        nightly(net_holes.files_of_compactions_are_ignored, 1),
        nightly(net_holes.a_segment_is_left_out, 1),
        nightly(net_holes.a_segment_begins_a_commit_late, 1),
        nightly(net_holes.segments_are_not_summed, 1),
        nightly(net_holes.keys_are_those_of_added_rows, 1),
        nightly(net_holes.keys_of_moved_rows_count_as_changed, 8),
        nightly(net_holes.nothing_brings_rows_back, 4),
        nightly(holes.a_file_is_in_a_table_once, 3),
        nightly(net_holes.moved_rows_count_as_removed, 5),
        nightly(net_holes.moved_rows_share_their_bits, 5),
        nightly(net_holes.moved_rows_are_in_smaller_blocks, 5),
        pytest.param(net_holes.updated_rows_count_as_moved, 5, marks=pytest.mark.thorough),
        nightly(net_holes.segments_have_one_name, 2),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_planted_bug_is_found(ranges_of, monkeypatch, plant: Plant, number):
    """``number`` is a history that is known to find it."""
    plant(monkeypatch)
    with pytest.raises(WrongResultError, match="is wrong"):
        ranges_of(FIXED_SEED, number).play(MOST)
