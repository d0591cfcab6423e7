"""The current checkpoint of a target, completed from older metadata."""

from __future__ import annotations

import pytest

from iceberg_incremental.capture.target_checkpoint import target_checkpoint
from iceberg_incremental.errors import CheckpointError
from iceberg_incremental.table.checkpoint import KEY
from tests.unit.incremental import histories as h


class Reader:
    """A reader of older metadata only."""

    def __init__(self, *older):
        self.older_ones = older

    def older(self, history):
        return iter(self.older_ones)


def test_older_metadata_complete_the_way_to_the_checkpoint():
    target = h.history(h.snapshot(2, 1, "replace", {}))
    assert target_checkpoint(target, Reader()).checkpoint is None
    assert target_checkpoint(target, Reader(h.history(h.carrying(1, None, 1)))).checkpoint == h.checkpoint(1)


def test_a_checkpoint_that_cannot_be_read_is_an_error_with_a_way_on():
    target = h.history(h.carrying(1, None, 1), properties={KEY: "[]"})
    with pytest.raises(CheckpointError, match=r"Found: a JSON list(.|\n)*To fix"):
        target_checkpoint(target, Reader())
