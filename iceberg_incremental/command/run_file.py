"""The JSON file of a captured run, which ``capture`` prints and ``commit`` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..capture.run_plan import Action
from ..explain import job_errors
from ..table.checkpoint import Checkpoint, Place, UnreadableCheckpoint, parse
from ..table.history import TableName

VERSION = 1


@dataclass(frozen=True)
class CapturedRun:
    """A captured run.

    ``name``: the writer of the target. ``head``: the current snapshot of main at the capture. ``branch``: the branch
    for staging, which starts at ``branch_from``; None if there is nothing to write. ``schema_id``: the table's schema
    when the branch was created. ``captured_from``: the checkpoint from which the run continues; None in a rebuild.
    ``checkpoint``: the checkpoint to commit; None if nothing is new. ``keeps_columns``: whether the commit requires an
    unchanged schema.
    """

    name: str
    target: TableName
    table_uuid: str
    action: Action
    head: int | None
    schema_id: int | None
    branch: str | None
    branch_from: int | None
    captured_from: Checkpoint | None
    checkpoint: Checkpoint | None
    keeps_columns: bool

    def to_document(self) -> dict[str, Any]:
        """The run as a JSON object, without the information for reading the sources."""
        return {
            "version": VERSION,
            "action": self.action.value,
            "name": self.name,
            "target": {
                "table": str(self.target),
                "table_uuid": self.table_uuid,
                "snapshot_id": self.head,
                "schema_id": self.schema_id,
            },
            "branch": self.branch,
            "branch_from": self.branch_from,
            "keeps_columns": self.keeps_columns,
            "captured_from": _document(self.captured_from),
            "checkpoint": _document(self.checkpoint),
        }


def read_run(text: str, where: str) -> CapturedRun:
    """Parse a run that ``capture`` has printed. ``where``: the file, for errors. Raises ConfigError for other texts."""
    try:
        document = json.loads(text)
        if document["version"] != VERSION:
            raise job_errors.unreadable_run(where, f"version {document['version']}")
        return _run(document)
    except UnreadableCheckpoint as error:
        raise job_errors.unreadable_run(where, f"an unreadable checkpoint: {error.found}") from error
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise job_errors.unreadable_run(where, f"{type(error).__name__}: {error}") from error


def _run(document: Mapping[str, Any]) -> CapturedRun:
    target = document["target"]
    table = TableName.parse(target["table"])
    if table is None:
        raise ValueError(f"{target['table']!r} is no table name")
    return CapturedRun(
        name=str(document["name"]),
        target=table,
        table_uuid=str(target["table_uuid"]),
        action=Action(document["action"]),
        head=_id(target["snapshot_id"]),
        schema_id=_id(target["schema_id"]),
        branch=None if document["branch"] is None else str(document["branch"]),
        branch_from=_id(document["branch_from"]),
        captured_from=_checkpoint(document["captured_from"], table),
        checkpoint=_checkpoint(document["checkpoint"], table),
        keeps_columns=bool(document["keeps_columns"]),
    )


def _id(value: Any) -> int | None:
    return None if value is None else int(value)


def _document(checkpoint: Checkpoint | None) -> Any:
    return None if checkpoint is None else json.loads(checkpoint.to_json())


def _checkpoint(document: Any, target: TableName) -> Checkpoint | None:
    return None if document is None else parse(json.dumps(document), Place(target))
