"""The state of one run of a dbt snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iceberg_incremental.capture.dbt_snapshot import CODE
from iceberg_incremental.table.history import TableName
from iceberg_incremental.write.snapshot_writer import SnapshotWriter

from ..project.graph import Node
from ..project.plain_sql import PlainSql


@dataclass
class SnapshotRun:
    """The run of a dbt snapshot.

    ``plain``: its parsed SQL, which reads ``source``. ``compiled_code``: its SQL text. ``names``: dbt's names for its
    own columns in the table. ``code``: a digest of its code and config. ``writer``: None if the run leaves no
    checkpoint.
    """

    node: Node
    plain: PlainSql
    source: TableName
    compiled_code: str
    names: Mapping[str, str]
    code: str
    writer: SnapshotWriter | None = None

    @property
    def name(self) -> str:
        """The unique id."""
        return str(self.node["unique_id"])

    @property
    def definitions(self) -> Mapping[str, str]:
        """What the checkpoint records, so that ``ip_status`` detects changes."""
        return {**self.plain.definitions, CODE: self.code}
