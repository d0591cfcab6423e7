"""Whether a table contains a history, whose versions another kind of model would drop."""

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
    """Whether a table's checkpoint shows that its rows are the versions of a history.

    If the current metadata has no checkpoint, older metadata files are read. This is skipped for tables that have
    neither a checkpoint in a property nor, by ``has_its_columns``, the columns of a history.
    """
    try:
        found = checkpoint_state(target)
        is_known = found.checkpoint or found.partial or found.has_whole_history
        if not is_known and (KEY in target.properties or has_its_columns()):
            found = target_checkpoint(target, reader)
    except (UnreadableCheckpoint, CheckpointError):
        return has_its_columns()
    # An unproven checkpoint in the property does not count, because it survives CREATE OR REPLACE TABLE.
    return found.checkpoint is not None and found.checkpoint.history is not None
