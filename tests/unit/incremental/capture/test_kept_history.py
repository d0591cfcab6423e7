"""Whether a table contains a history, according to the checkpoints that remain in its metadata."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.capture.versions_run import holds_history, recorded
from iceberg_incremental.plan.versions_config import HistoryConfig
from iceberg_incremental.table.checkpoint import KEY, PARTIAL_BUILD_KEY
from tests.unit.incremental.runs import ADDED, TARGET, Reader, carrying, cp, hist, snap

OTHER = cp(5, 1)
KEPT = replace(OTHER, history=recorded(HistoryConfig(("id",)), 1000))
AT_HEAD = replace(KEPT, target_snapshot_id=100)
FIRST = {**ADDED, "total-records": "1"}
LATER = '{"version": 99}'


class Logged(Reader):
    """A reader with older metadata files."""

    def __init__(self, *older):
        super().__init__()
        self.logged = older
        self.read = 0

    def older(self, history):
        for each in self.logged:
            self.read += 1
            yield each


def asked():
    raise AssertionError("the columns were asked for")


@pytest.mark.parametrize(
    ("table", "holds"),
    [
        (hist(TARGET, carrying(100, None, KEPT)), True),
        (hist(TARGET, carrying(100, None, KEPT), snap(101, 100)), True),
        (replace(hist(TARGET, snap(100, 99)), properties={KEY: AT_HEAD.to_json()}), True),
        (replace(hist(TARGET, snap(100, None, FIRST)), properties={KEY: KEPT.to_json()}), False),  # replaced later
        (hist(TARGET, carrying(100, None, OTHER)), False),
        (hist(TARGET, carrying(100, None, KEPT), carrying(101, 100, OTHER)), False),
        (hist(TARGET, snap(100, None, {**ADDED, PARTIAL_BUILD_KEY: "true"})), False),
        (hist(TARGET, snap(100, None, FIRST)), False),
    ],
)
def test_the_newest_checkpoint_decides(table, holds):
    assert holds_history(table, Reader(), asked) is holds


def test_older_metadata_is_read_only_for_a_table_with_the_columns():
    table, reader = hist(TARGET, snap(101, 100)), Logged(hist(TARGET, carrying(100, None, KEPT)))
    assert not holds_history(table, reader, lambda: False)
    assert reader.read == 0
    assert holds_history(table, reader, lambda: True)


def test_older_metadata_is_read_for_a_table_with_the_checkpoint_property():
    """The config may have changed since, so the columns of the history may have other names."""
    expired = replace(hist(TARGET, snap(101, 100)), properties={KEY: AT_HEAD.to_json()})
    reader = Logged(hist(TARGET, carrying(100, None, KEPT)))
    assert holds_history(expired, reader, lambda: False)
    assert reader.read == 1


@pytest.mark.parametrize("has_its_columns", [False, True])
def test_a_checkpoint_of_a_later_release_protects_a_table_with_the_columns(has_its_columns):
    table = hist(TARGET, snap(100, None, {**ADDED, KEY: LATER}))
    assert holds_history(table, Reader(), lambda: has_its_columns) is has_its_columns
