"""Small histories as literal values, for tests."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_incremental.table.checkpoint import KEY, Checkpoint, Position
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.types import IcebergType

FLIGHTS = TableName("lake", "ops", "flights")
UUID = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
EPOCH_MS = 1_767_225_600_000

SPARK = {"spark.app.id": "local-1"}
APPEND = {
    **SPARK,
    "added-data-files": "2",
    "added-records": "10",
    "added-files-size": "1000",
    "changed-partition-count": "1",
    "total-records": "10",
}
EMPTY_APPEND = {"total-records": "10", "changed-partition-count": "0"}
OVERWRITE = {
    **SPARK,
    "added-data-files": "1",
    "deleted-data-files": "1",
    "added-records": "9",
    "deleted-records": "9",
    "changed-partition-count": "1",
}
ADDITION = {
    **SPARK,
    "added-data-files": "1",
    "added-records": "5",
    "added-files-size": "500",
    "changed-partition-count": "1",
}
EXPIRED_BEFORE = {**APPEND, "total-data-files": "8", "total-records": "40"}
NO_CHANGE = {"changed-partition-count": "0", "total-records": "10"}
DELETE = {"deleted-data-files": "1", "deleted-records": "4", "changed-partition-count": "1", "total-records": "6"}
POSITION_DELETE = {
    "added-delete-files": "1",
    "added-position-deletes": "3",
    "changed-partition-count": "1",
    "total-records": "10",
}


def snapshot(
    snapshot_id: int,
    parent_id: int | None,
    operation: str | None = "append",
    summary: Mapping[str, str] = APPEND,
    sequence_number: int | None = -1,
) -> Snapshot:
    """A snapshot whose sequence number and time are derived from its id."""
    number = snapshot_id if sequence_number == -1 else sequence_number
    return Snapshot(snapshot_id, parent_id, number, EPOCH_MS + snapshot_id * 1000, operation, summary)


def history(
    *snapshots: Snapshot,
    head: int | None = -1,
    uuid: str | None = UUID,
    properties: Mapping[str, str] | None = None,
    refs: Mapping[str, int] | None = None,
) -> History:
    """A history of these snapshots. Its head is the last snapshot, unless ``head`` is given."""
    current = (snapshots[-1].snapshot_id if snapshots else None) if head == -1 else head
    return History(
        table=FLIGHTS,
        table_uuid=uuid,
        format_version=2,
        current_snapshot_id=current,
        snapshots={s.snapshot_id: s for s in snapshots},
        refs=refs or ({} if current is None else {"main": current}),
        properties=properties or {},
    )


def chain(length: int, first: int = 1) -> list[Snapshot]:
    """A chain of append snapshots."""
    return [snapshot(n, None if n == 1 else n - 1) for n in range(first, first + length)]


def at(snapshot_id: int | None, uuid: str | None = UUID, sequence_number: int | None = -1) -> Position:
    """A position as in a checkpoint."""
    if snapshot_id is None:
        return Position(uuid, None, None, None)
    number = snapshot_id if sequence_number == -1 else sequence_number
    return Position(uuid, snapshot_id, number, EPOCH_MS + snapshot_id * 1000)


def checkpoint(
    epoch: int = 1, target: int | None = None, source: str = str(FLIGHTS), position: int | None = 7
) -> Checkpoint:
    """A checkpoint with a position in one source. ``target`` is the target's head when the checkpoint was written."""
    return Checkpoint("model.shop.daily", epoch, "an-invocation", {source: at(position)}, target)


def carrying(snapshot_id: int, parent_id: int | None, epoch: int) -> Snapshot:
    """An append with a checkpoint in its summary."""
    return snapshot(snapshot_id, parent_id, "append", {**APPEND, KEY: checkpoint(epoch).to_json()})


def fields(*parts: tuple[int, str, IcebergType]) -> IcebergType:
    """A struct type of fields (id, name, type)."""
    return {"type": "struct", "fields": [{"id": i, "name": n, "type": t, "required": False} for i, n, t in parts]}


def array(element: IcebergType) -> IcebergType:
    """A list type."""
    return {"type": "list", "element-id": 90, "element": element, "element-required": False}


def mapping(key: IcebergType, value: IcebergType) -> IcebergType:
    """A map type."""
    return {"type": "map", "key-id": 91, "key": key, "value-id": 92, "value": value, "value-required": False}
