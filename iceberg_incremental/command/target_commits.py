"""Commits to a target with PyIceberg. Each method is one catalog commit, with a compare-and-swap on its requirements.

Publishing a run adds a snapshot on top of the job's commits. This snapshot adds no files, and its summary contains the
checkpoint. A rollback of the table therefore also rolls back the checkpoint, whichever engine wrote the rows. The
snapshot's manifest list is a copy of the previous one, because the expiry of a snapshot deletes its manifest list.

Requirements and updates have the format of Iceberg's REST catalog specification.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..metadata.failures import access_to
from ..publish.commit_conflicts import MOST_OF_METADATA, attempts, is_commit_conflict
from ..table.checkpoint import KEY, Checkpoint
from ..table.history import MAIN, Snapshot, TableName

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_TOTALS = ("data-files", "records", "files-size", "delete-files", "position-deletes", "equality-deletes")

Update = Mapping[str, Any]
"""A requirement or an update of a table, as a JSON object."""


class TargetMovedError(Exception):
    """The target differs from what the commit expects, because of another commit."""


@dataclass(frozen=True)
class Expected:
    """The requirements of a commit. ``refs``: the snapshots of branches; None for a branch that must not exist.

    ``schema_id``: the table's current schema; None if any schema is allowed.
    """

    table_uuid: str
    refs: Mapping[str, int | None]
    schema_id: int | None = None

    def holds(self, table: Table) -> bool:
        """Whether a table meets the requirements."""
        metadata = table.metadata
        heads = {name: ref.snapshot_id for name, ref in metadata.refs.items()}
        return (
            str(metadata.table_uuid) == self.table_uuid
            and all(heads.get(name) == head for name, head in self.refs.items())
            and self.schema_id in (None, metadata.current_schema_id)
        )

    def requirements(self, table: Table) -> list[Update]:
        """The requirements that the catalog checks in the commit."""
        found: list[Update] = [{"type": "assert-table-uuid", "uuid": self.table_uuid}]
        # PyIceberg 0.12 does not support requirements for other branches if the table has no snapshot.
        refs = {name: head for name, head in self.refs.items() if name == MAIN or table.metadata.snapshots}
        found += ({"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": head} for name, head in refs.items())
        if self.schema_id is not None:
            found.append({"type": "assert-current-schema-id", "current-schema-id": self.schema_id})
        return found


class TargetCommits:
    """Commits to one table. Methods raise TargetMovedError, and MetadataAccessError for an unreachable catalog."""

    def __init__(self, table: TableName, catalog: Catalog, properties: Mapping[str, Any]) -> None:
        self._name = table
        self._catalog = catalog
        self._properties = properties

    def schema_id(self) -> int:
        """The id of the table's current schema."""
        return self._load().metadata.current_schema_id

    def begin_branch(self, branch: str, expected: Expected) -> int:
        """Create a branch at main, which has a snapshot. Returns the snapshot's id."""
        head = expected.refs[MAIN]
        assert head is not None
        self._commit(expected, lambda table: [_set_ref(table, branch, head)])
        return head

    def begin_empty_branch(self, branch: str, expected: Expected) -> int:
        """Create a branch that starts with a snapshot without rows and without a parent. Returns the snapshot's id."""
        table = self._load()
        number = table.metadata.new_snapshot_id()
        with self._access():
            manifest_list = _empty_manifest_list(table, number)
        summary = {f"total-{each}": "0" for each in _TOTALS}
        self._commit(
            expected,
            lambda table: [
                _add_snapshot(table, number, None, manifest_list, summary),
                _set_ref(table, branch, number),
            ],
        )
        return number

    def publish(self, head: Snapshot, checkpoint: Checkpoint, drop: Collection[str], expected: Expected) -> int:
        """Publish the rows of the branch's snapshot ``head`` with the checkpoint. Returns the id of the new snapshot.

        ``drop``: the branches to drop in the same commit.
        """
        table = self._load()
        number = table.metadata.new_snapshot_id()
        with self._access():
            manifest_list = _copied_manifest_list(table, head.snapshot_id, number)
        summary = {key: value for key, value in head.summary.items() if key.startswith("total-")}
        summary |= {"changed-partition-count": "0", KEY: checkpoint.to_json()}
        self._commit(
            expected,
            lambda table: [
                _add_snapshot(table, number, head.snapshot_id, manifest_list, summary),
                _set_ref(table, MAIN, number),
                _set_checkpoint(checkpoint, number),
                *_drop_refs(table, drop),
            ],
        )
        return number

    def advance(self, checkpoint: Checkpoint, drop: Collection[str], expected: Expected) -> None:
        """Move only the checkpoint, by writing the table property. ``drop``: as in ``publish``."""
        update = _set_checkpoint(checkpoint, expected.refs[MAIN])
        self._commit(expected, lambda table: [update, *_drop_refs(table, drop)])

    def drop_branch(self, branch: str, expected: Expected) -> None:
        """Drop a branch if it exists."""
        self._commit(expected, lambda table: _drop_refs(table, [branch]))

    def _commit(self, expected: Expected, updates_of: Callable[[Table], Sequence[Update]]) -> None:
        """Commit. Retried if other commits arrive that do not violate the requirements.

        Raises TargetMovedError if a commit violates them, or if other commits arrive in each attempt.
        """
        for _ in attempts(MOST_OF_METADATA):
            table = self._load()
            if not expected.holds(table):
                raise TargetMovedError
            updates = updates_of(table)
            if not updates or self._is_committed(table, expected, updates):
                return
        raise TargetMovedError

    def _is_committed(self, table: Table, expected: Expected, updates: Sequence[Update]) -> bool:
        """Commit once. False if another commit was faster. Raises the other errors of the catalog."""
        from pydantic import TypeAdapter
        from pyiceberg.table.update import TableRequirement, TableUpdate

        required = TypeAdapter(tuple[TableRequirement, ...]).validate_python(expected.requirements(table))
        wanted = TypeAdapter(tuple[TableUpdate, ...]).validate_python(updates)
        with self._access():
            try:
                self._catalog.commit_table(table, required, wanted)
            except Exception as error:
                if is_commit_conflict(error):
                    return False
                raise
        return True

    def _load(self) -> Table:
        with self._access():
            return self._catalog.load_table((*self._name.levels, self._name.name))

    def _access(self) -> AbstractContextManager[None]:
        return access_to(f"the catalog of {self._name}", self._properties)


def _set_ref(table: Table, name: str, snapshot_id: int) -> Update:
    """Set a branch to a snapshot. The branch keeps its own retention."""
    ref = table.metadata.refs.get(name)
    retention = {} if ref is None else ref.model_dump(by_alias=True, exclude_none=True)
    return {**retention, "action": "set-snapshot-ref", "ref-name": name, "type": "branch", "snapshot-id": snapshot_id}


def _drop_refs(table: Table, names: Collection[str]) -> list[Update]:
    return [{"action": "remove-snapshot-ref", "ref-name": name} for name in names if name in table.metadata.refs]


def _set_checkpoint(checkpoint: Checkpoint, head: int | None) -> Update:
    return {"action": "set-properties", "updates": {KEY: checkpoint.mirrored(head).to_json()}}


def _add_snapshot(
    table: Table, number: int, parent_id: int | None, manifest_list: str, summary: Mapping[str, str]
) -> Update:
    """Add a snapshot for an existing manifest list."""
    metadata = table.metadata
    parent = None if parent_id is None else metadata.snapshot_by_id(parent_id)
    row_ids = {"first-row-id": metadata.next_row_id, "added-rows": 0} if metadata.format_version == 3 else {}
    return {
        "action": "add-snapshot",
        "snapshot": {
            "snapshot-id": number,
            "parent-snapshot-id": parent_id,
            "sequence-number": metadata.next_sequence_number(),
            "timestamp-ms": max(int(time.time() * 1000), metadata.last_updated_ms),
            "manifest-list": manifest_list,
            "summary": {"operation": "append", **summary},
            "schema-id": metadata.current_schema_id if parent is None else parent.schema_id,
            **row_ids,
        },
    }


def _empty_manifest_list(table: Table, number: int) -> str:
    """Write an empty manifest list. Returns its location."""
    from pyiceberg.manifest import write_manifest_list

    location, metadata = _list_location(table, number), table.metadata
    output = table.io.new_output(location)
    # an empty manifest list is the same in formats v2 and v3
    version: Any = min(metadata.format_version, 2)
    with write_manifest_list(version, output, number, None, metadata.next_sequence_number(), "deflate") as writer:
        writer.add_manifests([])
    return location


def _copied_manifest_list(table: Table, head: int, number: int) -> str:
    """Copy the manifest list of a snapshot. Returns the location of the copy."""
    location, snapshot = _list_location(table, number), table.metadata.snapshot_by_id(head)
    assert snapshot is not None
    with table.io.new_input(snapshot.manifest_list).open() as stream:
        content = stream.read()
    with table.io.new_output(location).create() as output:
        output.write(content)
    return location


def _list_location(table: Table, number: int) -> str:
    return table.location_provider().new_metadata_location(f"snap-{number}-0-{uuid.uuid4()}.avro")
