"""Checkpoints as text, and which one is in force."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dbt.adapters.spark_iceberg.incremental.errors import CheckpointError
from dbt.adapters.spark_iceberg.incremental.table.checkpoint import (
    KEY,
    MAX_LENGTH,
    PARTIAL_BUILD_KEY,
    Checkpoint,
    in_force,
    parse,
)
from tests.unit.incremental import histories as h


def checkpoint(epoch=1, target=None, source="lake.ops.flights", position=7):
    return Checkpoint("model.shop.daily", epoch, "an-invocation", {source: h.at(position)}, target)


def carrying(snapshot_id, parent_id, epoch, **summary):
    return h.snapshot(snapshot_id, parent_id, "append", {**h.APPEND, KEY: checkpoint(epoch).to_json(), **summary})


def test_round_trip():
    read_as = replace(h.at(7), changelog=True)
    changelog = Checkpoint("model.shop.daily", 1, "an-invocation", {"lake.ops.flights": read_as})
    for written in (checkpoint(), checkpoint(7, target=5), checkpoint(position=None), changelog):
        assert parse(written.to_json(), "a test") == written


def test_the_text_is_the_documented_one():
    assert json.loads(checkpoint(7).to_json()) == {
        "version": 1,
        "model": "model.shop.daily",
        "epoch": 7,
        "invocation_id": "an-invocation",
        "target_snapshot_id": None,
        "sources": {
            "lake.ops.flights": {
                "table_uuid": h.UUID,
                "snapshot_id": 7,
                "sequence_number": 7,
                "timestamp_ms": h.EPOCH_MS + 7000,
            }
        },
    }


@pytest.mark.parametrize("name", ["it's", "a`b", "x;drop", "${env:HOME}", "{{ x }}", "täble ✈", "line\nbreak", '"q"'])
def test_no_name_breaks_out_of_the_text(name):
    text = checkpoint(source=f"lake.ops.{name}").to_json()
    assert text.isascii() and not set(text) & set("'`;$\n")
    assert list(parse(text, "a test").sources) == [f"lake.ops.{name}"]


VALID = json.loads(checkpoint().to_json())
SOURCE = VALID["sources"]["lake.ops.flights"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "a JSON list"),
        (json.dumps({**VALID, "version": 2}), "version '2'"),
        (json.dumps({**VALID, "version": True}), "version 'True'"),
        (json.dumps({**VALID, "epoch": "7"}), "str in 'epoch'"),
        (json.dumps({**VALID, "epoch": 0}), "out of range"),
        (json.dumps({**VALID, "epoch": True}), "bool in 'epoch'"),
        (json.dumps({**VALID, "epoch": 1.0}), "float in 'epoch'"),
        (json.dumps({**VALID, "model": None}), "no text in 'model'"),
        (json.dumps({**VALID, "sources": []}), "no mapping 'sources'"),
        (json.dumps({**VALID, "sources": {"a.b.c": 7}}), "not a mapping"),
        (json.dumps({**VALID, "sources": {"a.b.c": {**SOURCE, "snapshot_id": "7"}}}), "str in 'snapshot_id'"),
        (json.dumps({**VALID, "sources": {"a.b.c": {**SOURCE, "snapshot_id": 2**63}}}), "out of range"),
        (" " * (MAX_LENGTH + 1), "more than"),
    ],
)
def test_what_is_no_checkpoint_is_refused(text, found):
    with pytest.raises(CheckpointError, match="What to do") as error:
        parse(text, "the summary of snapshot 42 of lake.a.b")
    assert found in str(error.value) and "snapshot 42 of lake.a.b" in str(error.value)


# Which one is in force


def epoch_of(found):
    return None if found.checkpoint is None else found.checkpoint.epoch


def test_the_newest_summary_on_the_way_back():
    target = h.history(carrying(1, None, 1), carrying(2, 1, 2), h.snapshot(3, 2, "replace", {}))
    assert epoch_of(in_force(target)) == 2


def test_a_rolled_back_target_takes_its_checkpoint_back():
    target = h.history(
        carrying(1, None, 1), carrying(2, 1, 2), head=1, properties={KEY: checkpoint(2, target=2).to_json()}
    )
    assert epoch_of(in_force(target)) == 1


def test_the_property_counts_where_its_head_is_on_the_way():
    target = h.history(carrying(1, None, 1), properties={KEY: checkpoint(2, target=1).to_json()})
    assert epoch_of(in_force(target)) == 2


def test_of_equal_epochs_the_summary_counts():
    mirrored = Checkpoint("model.shop.daily", 1, "another", {}, target_snapshot_id=1)
    found = in_force(h.history(carrying(1, None, 1), properties={KEY: mirrored.to_json()}))
    assert found.checkpoint == checkpoint(1)


def test_a_replaced_target_has_none():
    target = h.history(carrying(1, None, 1), h.snapshot(2, None), properties={KEY: checkpoint(1, target=1).to_json()})
    found = in_force(target)
    assert found.checkpoint is None and found.unproven == checkpoint(1, target=1)


def test_the_property_does_not_win_because_its_snapshot_has_expired():
    """Rolled back from 3 to 2, committed to, and 3 then expired: the range of 3 was undone and must come again."""
    target = h.history(h.snapshot(4, 2), properties={KEY: checkpoint(3, target=3).to_json()})
    before = h.history(carrying(1, None, 1), carrying(2, 1, 2), carrying(3, 2, 3))
    assert in_force(target).checkpoint is None
    assert epoch_of(in_force(target, [before])) == 2


def test_older_metadata_completes_the_way():
    target = h.history(h.snapshot(4, 3, "replace", {}), properties={KEY: checkpoint(3, target=3).to_json()})
    assert in_force(target).unproven == checkpoint(3, target=3)
    older = [
        h.history(h.snapshot(3, 2), h.snapshot(4, 3, "replace", {})),
        h.history(carrying(2, 1, 2), h.snapshot(3, 2)),
    ]
    assert epoch_of(in_force(target, older)) == 3


def test_older_metadata_of_another_table_is_not_used():
    target = h.history(h.snapshot(4, 3, "replace", {}))
    assert in_force(target, [h.history(carrying(3, None, 3), uuid="other")]).checkpoint is None


def test_a_replayed_publish_is_followed_to_its_source():
    target = h.history(
        carrying(1, None, 1),
        carrying(2, 1, 2),
        h.snapshot(3, 1),
        h.snapshot(4, 3, "append", {**h.APPEND, "source-snapshot-id": "2"}),
    )
    assert epoch_of(in_force(target)) == 2


def test_a_partial_build_is_told():
    target = h.history(h.snapshot(1, None, "append", {PARTIAL_BUILD_KEY: "true"}), h.snapshot(2, 1))
    assert in_force(target).partial


def test_an_unreadable_property_is_an_error():
    with pytest.raises(CheckpointError, match=r"the property 'ip\.checkpoint' of lake\.ops\.flights"):
        in_force(h.history(carrying(1, None, 1), properties={KEY: "{}"}))


def test_an_empty_table_with_a_checkpoint_of_nothing():
    target = h.history(properties={KEY: checkpoint(1, target=None).to_json()})
    assert epoch_of(in_force(target)) == 1
