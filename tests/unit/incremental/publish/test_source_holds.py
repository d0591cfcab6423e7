"""Held positions: which tags a source needs and for how long, and which tags are outdated."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from iceberg_incremental.publish.source_holds import Hold, hold_of, outdated_tags, tag_of
from iceberg_incremental.table.history import TableName
from tests.unit.incremental import histories as h

TARGET = TableName("lake", "shop", "daily")
WEEK, DAY_MS = timedelta(days=7), 24 * 60 * 60 * 1000
SOURCE = h.history(*h.chain(3))
HEAD = h.at(3)
NOW = HEAD.timestamp_ms
TAG = "ip_held_by.lake.shop.daily.4"


def needed(source=SOURCE, position=HEAD, now=NOW):
    return hold_of(source, TARGET, 4, position, WEEK, now)


def tagged(snapshot_id, days):
    return replace(SOURCE, refs={"main": 3, TAG: snapshot_id}, ref_ages={TAG: days * DAY_MS})


def test_a_position_is_held_from_now_on():
    assert needed() == Hold(TAG, 3, 7 * 24 * 60)


def test_iceberg_counts_from_the_commit():
    assert needed(now=NOW + 30 * DAY_MS) == Hold(TAG, 3, 37 * 24 * 60)


def test_a_clock_behind_the_writers_clock_does_not_shorten_the_hold():
    assert needed(now=NOW - 30 * DAY_MS) == Hold(TAG, 3, 7 * 24 * 60)


@pytest.mark.parametrize(
    ("source", "days_later", "is_enough"),
    [
        (tagged(3, days=7), 0, True),
        (tagged(3, days=7), 1, True),
        (tagged(3, days=7), 3, False),
        (tagged(3, days=37), 30, True),
        (tagged(2, days=7), 0, False),
        (replace(SOURCE, refs={"main": 3, TAG: 3}), 300, True),  # created manually, without an expiry
    ],
)
def test_a_tag_is_renewed_after_a_quarter_of_its_time(source, days_later, is_enough):
    assert (needed(source, now=NOW + days_later * DAY_MS) is None) is is_enough


@pytest.mark.parametrize("position", [h.at(None), h.at(9), replace(HEAD, as_of=True)])
def test_nothing_to_hold(position):
    assert needed(position=position) is None


def test_the_tags_of_other_epochs_are_outdated():
    others = ["ip_held_by.lake.shop.daily_2.3", "ip_held_by.lake.shop.daily.x", "mine", "main"]
    own = ["ip_held_by.lake.shop.daily.3", "ip_held_by.lake.shop.daily.12"]
    source = replace(SOURCE, refs=dict.fromkeys([*others, *own, TAG], 3))
    assert outdated_tags(source, TARGET, 4) == sorted(own)


def test_a_table_name_with_dots_is_not_mistaken_for_an_epoch():
    strange = TableName("lake", "shop", "daily.7")
    assert outdated_tags(replace(SOURCE, refs={tag_of(strange, 3): 3}), TARGET, 4) == []
