"""Pins sources at the positions of a table's checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..capture.cuts import Cut, Cuts
from ..explain import verify_errors
from ..metadata import MetadataReader
from ..table.checkpoint import Position
from ..table.clone import clone_of
from ..table.history import TableName


class PinnedCuts(Cuts):
    """Cuts at the positions of a checkpoint instead of the sources' current snapshots."""

    def __init__(self, reader: Callable[[], MetadataReader], model: str, positions: Mapping[str, Position]) -> None:
        super().__init__(reader)
        self._model = model
        self._positions = positions

    def of(self, table: TableName) -> Cut | None:
        """The cut of a table at its recorded snapshot. None if the table does not exist.

        Raises IncomparableError if the checkpoint does not contain the table, if the table was replaced, or if the
        snapshot no longer exists. Also raises the errors of ``Cuts.of``.
        """
        cut = super().of(table)
        if cut is None:
            return None
        position, clone = self._positions.get(str(table)), clone_of(cut.history)
        if position is None and clone is not None:  # until a cloned model runs, its checkpoint names the origin
            position = self._positions.get(str(clone.origin))
        if position is None:
            raise verify_errors.source_not_recorded(table, self._model)
        if position.table_uuid is not None and cut.history.table_uuid not in (None, position.table_uuid):
            raise verify_errors.source_replaced(table, self._model)
        if position.snapshot_id is None:
            return replace(cut, end=None)
        end = cut.history.snapshots.get(position.snapshot_id)
        if end is None:
            raise verify_errors.snapshot_expired(table, self._model, position)
        return replace(cut, end=end)
