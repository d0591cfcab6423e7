"""The current checkpoint of a target, completed from older metadata."""

from __future__ import annotations

import pytest

from iceberg_incremental.capture.target_checkpoint import target_checkpoint
from iceberg_incremental.errors import CheckpointError
from iceberg_incremental.table.checkpoint import KEY
from tests.unit.incremental import histories as h


class Reader:
    """A reader that has only older metadata."""

    def __init__(self, *older):
        self.older_ones = older

    def older(self, history):
        return iter(self.older_ones)


def test_a_checkpoint_is_found_in_older_metadata():
    target = h.history(h.snapshot(2, 1, "replace", {}))
    assert target_checkpoint(target, Reader()).checkpoint is None
    assert target_checkpoint(target, Reader(h.history(h.carrying(1, None, 1)))).checkpoint == h.checkpoint(1)


def test_an_unreadable_checkpoint_is_an_error_with_a_fix():
    target = h.history(h.carrying(1, None, 1), properties={KEY: "[]"})
    with pytest.raises(CheckpointError, match=r"Found: a JSON list(.|\n)*To fix"):
        target_checkpoint(target, Reader())
