"""The results of dbt's last command, for all of its nodes: also tests, views and seeds. Read from run_results.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

FILE = "run_results.json"
"""The name of the file in the project's target folder. Each dbt command that has results replaces it."""


@dataclass(frozen=True)
class NodeResult:
    """The result of a node. ``kind``: ``view``, or dbt's resource type. ``result``: dbt's status, such as ``success``.

    ``rows``: the rows that the node wrote or, for a test, that failed it; None if dbt reports none. ``message``: dbt's
    message, such as the error.
    """

    node: str
    name: str
    kind: str
    result: str
    seconds: float
    rows: int | None
    message: str


@dataclass(frozen=True)
class LastCommand:
    """A command of dbt, the time of its end, its duration, and the results of the project's nodes."""

    command: str
    invocation_id: str
    ended_at_ms: int
    seconds: float
    results: Sequence[NodeResult]

    def seconds_of(self, node: str, invocation_id: str) -> float | None:
        """The duration of a node in a run. None if the run was not a part of this command."""
        of_run = self.results if invocation_id == self.invocation_id else ()
        return next((each.seconds for each in of_run if each.node == node), None)


def last_command(file: Path, nodes: Mapping[str, Any]) -> LastCommand | None:
    """The last command in a file. ``nodes``: the project's nodes by unique id.

    None without a readable file, and if the command built or tested no node of the project, such as `run-operation`.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        results = [
            _result(each, nodes[each["unique_id"]]) for each in document["results"] if each["unique_id"] in nodes
        ]
        about = document["metadata"]
        ended = datetime.fromisoformat(str(about["generated_at"]).replace("Z", "+00:00"))
        command, seconds = f"dbt {document['args']['which']}", float(document["elapsed_time"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # no command has run, or another version of dbt wrote the file
    ended_at_ms = int(ended.timestamp() * 1000)
    return LastCommand(command, str(about["invocation_id"]), ended_at_ms, seconds, results) if results else None


def _result(found: Mapping[str, Any], node: Mapping[str, Any]) -> NodeResult:
    response = found.get("adapter_response") or {}
    rows = found.get("failures") if node["resource_type"] == "test" else response.get("rows_affected")
    is_view = node.get("config", {}).get("materialized") == "view"
    return NodeResult(
        node=str(found["unique_id"]),
        name=str(node["name"]),
        kind="view" if is_view else str(node["resource_type"]),
        result=str(found["status"]),
        seconds=float(found["execution_time"]),
        rows=rows if isinstance(rows, int) and rows >= 0 else None,
        message=str(found.get("message") or ""),
    )
