"""Which snapshots and files the readers of a table still need, based on their positions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.maintenance.readers import Reader, hinders_compaction, needed_by, needed_by_itself
from iceberg_incremental.plan.ranges import MOST_SEGMENTS
from tests.unit.incremental.histories import at, carrying, chain, history, snapshot

MOVED = {"added-data-files": "1", "deleted-data-files": "2", "total-data-files": "3"}


def compactions(number, first):
    return [snapshot(n, n - 1, "replace", MOVED) for n in range(first, first + number)]


@pytest.mark.parametrize(
    ("known", "position", "needed"),
    [
        (history(*chain(5)), at(3), {3, 4, 5}),
        (history(*chain(5)), at(5), {5}),
        (history(*chain(5)), at(None), {1, 2, 3, 4, 5}),
        (history(*chain(5)), replace(at(3), as_of=True), set()),
        (history(*chain(5)), at(3, uuid="another"), set()),
        (history(*chain(3, first=3)), at(2), {3, 4, 5}),  # only the position itself has expired
        (history(*chain(3, first=3)), at(1), {3, 4, 5}),  # a gap
        (history(*chain(5)), replace(at(99), timestamp_ms=at(4).timestamp_ms), {4, 5}),
        (history(*chain(5)), replace(at(99), timestamp_ms=None), {1, 2, 3, 4, 5}),
        (history(*chain(4), snapshot(5, 2), head=5), at(4), {2, 4, 5}),  # rolled back to 2
        (history(), at(3), set()),
    ],
)
def test_what_a_reader_needs(known, position, needed):
    assert needed_by(known, position) == needed


def test_intermediate_snapshots_are_needed_if_times_run_backwards():
    known = history(*chain(3, first=3))
    known.snapshots[4] = replace(known.snapshots[4], timestamp_ms=at(1).timestamp_ms)
    assert needed_by(known, replace(at(99), timestamp_ms=at(3).timestamp_ms)) == {3, 4, 5}


def test_what_a_table_needs_for_itself():
    known = history(carrying(1, None, 1), carrying(2, 1, 2), *compactions(2, 3))
    assert needed_by_itself(known, None) == {2, 3, 4}
    assert needed_by_itself(known, 3) == {2, 3, 4}
    assert needed_by_itself(known, 1) == {1, 2, 3, 4}
    assert needed_by_itself(known, 99) == {2, 3, 4}
    assert needed_by_itself(history(), None) == set()


@pytest.mark.parametrize(
    ("number", "nets", "hinders"),
    [(1, True, False), (MOST_SEGMENTS - 2, True, False), (MOST_SEGMENTS - 1, True, True), (99, False, False)],
)
def test_a_reader_of_net_changes_supports_a_limited_number_of_compactions(number, nets, hinders):
    known = history(*chain(2), *compactions(number, 3))
    assert hinders_compaction(known, Reader("m", at(1), nets)) is hinders
    assert not hinders_compaction(known, Reader("m", replace(at(1), as_of=True), nets))


@pytest.mark.parametrize(("version", "hinders"), [(2, True), (3, False)])
def test_files_after_a_gap_keep_their_names_in_format_2(version, hinders):
    known = replace(history(*chain(3, first=5)), format_version=version)
    assert hinders_compaction(known, Reader("m", at(2))) is hinders
    assert not hinders_compaction(known, Reader("m", at(4)))
