"""The current checkpoint of a target, from its metadata."""

from __future__ import annotations

from ..errors import CheckpointError
from ..explain import target_errors
from ..metadata import MetadataReader
from ..table.checkpoint import UnreadableCheckpoint
from ..table.checkpoint_state import CheckpointState, checkpoint_state
from ..table.history import History


def target_checkpoint(target: History, reader: MetadataReader) -> CheckpointState:
    """The state of a target's checkpoint, from its history, which older metadata completes if needed.

    Raises CheckpointError for a checkpoint that cannot be read.
    """
    try:
        return checkpoint_state(target, reader.older(target))
    except UnreadableCheckpoint as error:
        raise target_errors.unreadable_checkpoint(error) from error


def last_epoch(target: History, reader: MetadataReader) -> int:
    """The epoch of a target's checkpoint. 0 without one, or if it cannot be read, so that a rebuild is possible."""
    try:
        checkpoint = target_checkpoint(target, reader).checkpoint
    except CheckpointError:
        return 0
    return 0 if checkpoint is None else checkpoint.epoch
