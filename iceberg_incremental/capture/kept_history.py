"""Whether a table holds a history, whose versions another kind of model would drop."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import CheckpointError
from ..metadata import MetadataReader
from ..table.checkpoint import KEY
from ..table.checkpoint_state import checkpoint_state
from ..table.history import History
from ..table.unreadable import UnreadableCheckpoint
from .target_checkpoint import target_checkpoint


def holds_history(target: History, reader: MetadataReader, has_its_columns: Callable[[], bool]) -> bool:
    """Whether the rows of a table are the versions of a history, by its checkpoint.

    If no checkpoint is left in the current metadata, older metadata files are read. Tables that neither have the
    property of a checkpoint nor, by ``has_its_columns``, the columns of a history are spared this.
    """
    try:
        found = checkpoint_state(target)
        is_known = found.checkpoint or found.partial or found.has_whole_history
        if not is_known and (KEY in target.properties or has_its_columns()):
            found = target_checkpoint(target, reader)
    except (UnreadableCheckpoint, CheckpointError):
        return has_its_columns()
    # not the unproven one of the property, which outlasts a CREATE OR REPLACE TABLE
    return found.checkpoint is not None and found.checkpoint.history is not None
