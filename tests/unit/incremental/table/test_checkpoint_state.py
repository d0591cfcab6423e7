"""Which checkpoint of a target is current, and whether only a part of a run was published."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.table.checkpoint import (
    KEY,
    PARTIAL_BUILD_KEY,
    Checkpoint,
    Place,
    RecordedLogic,
    UnreadableCheckpoint,
)
from iceberg_incremental.table.checkpoint_state import checkpoint_state, is_as_written
from iceberg_incremental.table.commits import PART_KEY
from tests.unit.incremental import histories as h
from tests.unit.incremental.runs import ADDED, TARGET, carrying, cp, hist, snap


def epoch_of(found):
    return None if found.checkpoint is None else found.checkpoint.epoch


def test_the_newest_summary_among_the_ancestors():
    target = h.history(h.carrying(1, None, 1), h.carrying(2, 1, 2), h.snapshot(3, 2, "replace", {}))
    assert epoch_of(checkpoint_state(target)) == 2


def test_a_rollback_of_the_target_rolls_back_its_checkpoint():
    target = h.history(
        h.carrying(1, None, 1), h.carrying(2, 1, 2), head=1, properties={KEY: h.checkpoint(2, target=2).to_json()}
    )
    assert epoch_of(checkpoint_state(target)) == 1


def with_property(epoch, at, *snapshots, head=-1):
    return h.history(*snapshots, head=head, properties={KEY: h.checkpoint(epoch, target=at).to_json()})


def test_a_rollback_restores_the_property_that_was_current_then():
    """At 1, a position was set by hand twice. Later, 2 and, after a rollback, 3 were written."""
    x1, x2, x3 = h.carrying(1, None, 1), h.carrying(2, 1, 4), h.carrying(3, 1, 5)
    older = [
        with_property(5, 3, x1, x2, x3),
        with_property(4, 2, x1, x2, x3, head=1),
        with_property(4, 2, x1, x2),
        with_property(3, 1, x1),
        with_property(2, 1, x1),
        with_property(1, 1, x1),
    ]
    now = with_property(5, 3, x1, x2, x3, head=1)
    assert epoch_of(checkpoint_state(now, iter(older))) == 3
    assert epoch_of(checkpoint_state(with_property(5, 3, x1, x2, x3), iter(older))) == 5
    assert epoch_of(checkpoint_state(with_property(5, 3, x1, x2, x3, head=2), iter(older))) == 4
    assert epoch_of(checkpoint_state(now, iter(older[-1:]))) == 1


def test_the_property_counts_if_its_head_is_an_ancestor():
    target = h.history(h.carrying(1, None, 1), properties={KEY: h.checkpoint(2, target=1).to_json()})
    assert epoch_of(checkpoint_state(target)) == 2


def test_for_equal_epochs_the_summary_counts():
    mirrored = Checkpoint("model.shop.daily", 1, "another", {}, target_snapshot_id=1)
    found = checkpoint_state(h.history(h.carrying(1, None, 1), properties={KEY: mirrored.to_json()}))
    assert found.checkpoint == h.checkpoint(1)


def test_a_replaced_target_has_no_checkpoint():
    target = h.history(
        h.carrying(1, None, 1), h.snapshot(2, None), properties={KEY: h.checkpoint(1, target=1).to_json()}
    )
    found = checkpoint_state(target)
    assert found.checkpoint is None and found.unproven == h.checkpoint(1, target=1)
    assert found.has_whole_history


def test_the_property_does_not_win_because_its_snapshot_has_expired():
    """The target was rolled back from 3 to 2, received a commit, and 3 expired. The range of 3 must be read again."""
    target = h.history(h.snapshot(4, 2), properties={KEY: h.checkpoint(3, target=3).to_json()})
    before = h.history(h.carrying(1, None, 1), h.carrying(2, 1, 2), h.carrying(3, 2, 3))
    assert checkpoint_state(target).checkpoint is None
    assert epoch_of(checkpoint_state(target, [before])) == 2


def test_older_metadata_completes_the_ancestors():
    target = h.history(h.snapshot(4, 3, "replace", {}), properties={KEY: h.checkpoint(3, target=3).to_json()})
    alone = checkpoint_state(target)
    assert (alone.unproven, alone.has_whole_history) == (h.checkpoint(3, target=3), False)
    older = [
        h.history(h.snapshot(3, 2), h.snapshot(4, 3, "replace", {})),
        h.history(h.carrying(2, 1, 2), h.snapshot(3, 2)),
    ]
    assert epoch_of(checkpoint_state(target, older)) == 3


def test_older_metadata_of_another_table_is_not_used():
    target = h.history(h.snapshot(4, 3, "replace", {}))
    assert checkpoint_state(target, [h.history(h.carrying(3, None, 3), uuid="other")]).checkpoint is None


def test_a_replayed_publish_is_followed_to_its_source():
    target = h.history(
        h.carrying(1, None, 1),
        h.carrying(2, 1, 2),
        h.snapshot(3, 1),
        h.snapshot(4, 3, "append", {**h.APPEND, "source-snapshot-id": "2"}),
    )
    assert epoch_of(checkpoint_state(target)) == 2


def test_a_partial_build_is_recognized():
    target = h.history(h.snapshot(1, None, "append", {PARTIAL_BUILD_KEY: "true"}), h.snapshot(2, 1))
    assert checkpoint_state(target).partial


def test_an_unreadable_property_is_an_error():
    with pytest.raises(UnreadableCheckpoint) as caught:
        checkpoint_state(h.history(h.carrying(1, None, 1), properties={KEY: "{}"}))
    assert caught.value.place == Place(h.FLIGHTS)


def test_an_empty_table_with_a_checkpoint_of_nothing():
    target = h.history(properties={KEY: h.checkpoint(1, target=None).to_json()})
    assert epoch_of(checkpoint_state(target)) == 1


def test_an_unreadable_summary_is_an_error():
    with pytest.raises(UnreadableCheckpoint) as caught:
        checkpoint_state(h.history(h.snapshot(1, None, "append", {KEY: "{}"})))
    assert caught.value.place == Place(h.FLIGHTS, 1)


def part_of(snapshot_id, parent_id, epoch):
    return h.snapshot(snapshot_id, parent_id, "append", {**h.APPEND, PART_KEY: str(epoch)})


def test_a_part_without_the_rest_of_its_run_is_detected():
    torn = h.history(h.carrying(1, None, 1), part_of(2, 1, 2), h.snapshot(3, 2))
    assert checkpoint_state(torn).half_published == torn.snapshots[2]
    assert epoch_of(checkpoint_state(torn)) == 1


def test_a_part_followed_by_its_checkpoint_is_complete():
    assert (
        checkpoint_state(h.history(h.carrying(1, None, 1), part_of(2, 1, 2), h.carrying(3, 2, 2))).half_published
        is None
    )


def test_a_position_that_was_set_manually_resolves_a_part():
    settled = {KEY: h.checkpoint(2, target=3).to_json()}
    torn = h.history(h.carrying(1, None, 1), part_of(2, 1, 2), h.snapshot(3, 2), properties=settled)
    assert checkpoint_state(torn).half_published is None
    again = h.history(*torn.snapshots.values(), part_of(4, 3, 3), properties=settled)
    assert checkpoint_state(again).half_published == again.snapshots[4]


def test_older_metadata_is_read_only_as_needed():
    read = []

    def older():
        for number in (3, 2):
            read.append(number)
            yield h.history(h.carrying(number, number - 1, number))

    assert epoch_of(checkpoint_state(h.history(h.snapshot(4, 3, "replace", {})), older())) == 3
    assert read == [3]


def test_a_cherry_pick_does_not_restore_the_checkpoint_of_rolled_back_rows():
    """X1, X2 and X3 read the source up to 1, 2 and 3. After a rollback to X1, only X3 was cherry-picked."""
    x1, x2, x3 = carrying(1, None, cp(1, 1)), carrying(2, 1, cp(2, 2)), carrying(3, 2, cp(3, 3))
    picked = snap(4, 1, {**ADDED, "source-snapshot-id": "3"})
    found = checkpoint_state(hist(TARGET, x1, x2, x3, picked)).checkpoint
    assert found is None or found.epoch < 3


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ([], True),
        ([h.snapshot(2, 1, "replace", {})], True),
        ([h.snapshot(2, 1, "append", {"added-data-files": "1", "added-records": "5", "total-records": "9"})], False),
        ([h.snapshot(2, 1, "delete", {"deleted-records": "5", "total-records": "4"})], False),
        ([h.snapshot(2, 1, "delete", {"deleted-records": "5", "total-records": "4"}), h.carrying(3, 2, 2)], False),
        ([h.snapshot(2, 1, "delete", {PART_KEY: "2", "deleted-records": "5"}), h.carrying(3, 2, 2)], True),
    ],
    ids=["a run", "a compaction", "an append", "a deletion", "a deletion before a run", "a run of two commits"],
)
def test_whether_only_runs_have_changed_rows(later, expected):
    assert is_as_written(h.history(h.carrying(1, None, 1), *later)) is expected


def written(snapshot_id, parent_id, others):
    of_run = replace(h.checkpoint(snapshot_id), logic=RecordedLogic("1:ab", others=others))
    return h.snapshot(snapshot_id, parent_id, "overwrite", {**h.OVERWRITE, KEY: of_run.to_json()})


def test_rows_of_other_writers_are_remembered_after_an_expiry():
    deleted = h.snapshot(2, 1, "delete", {"deleted-records": "5", "total-records": "4"})
    assert not is_as_written(h.history(written(3, 2, True), h.carrying(4, 3, 4)))
    assert is_as_written(h.history(h.carrying(1, None, 1), deleted, written(3, 2, False), h.carrying(4, 3, 4)))
    assert not is_as_written(h.history(h.carrying(1, None, 1), deleted, written(3, 2, None)))
    unreadable = h.snapshot(1, None, "append", {**h.APPEND, KEY: "{"})
    assert not is_as_written(h.history(unreadable, h.carrying(2, 1, 2)))


def test_rows_without_a_run():
    assert not is_as_written(h.history(h.snapshot(1, None, "append", {"added-data-files": "1", "total-records": "9"})))
    assert not is_as_written(h.history())
