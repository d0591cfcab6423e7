"""iceberg-go, in a program in Go that writes to a REST catalog, and reads a table from its metadata file."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

from .contract import (
    APPENDED,
    BASE,
    DELETED,
    HIGHEST,
    LAST,
    LOWEST,
    NEW_VALUE,
    REPLACEMENT,
    SOURCE_COLUMNS,
    UPDATED,
    listed,
    serve,
)

UPDATED_ROWS = tuple((*row[:2], NEW_VALUE, row[3]) for row in BASE if row[0] == UPDATED)
STEPS = {"append": APPENDED, "last": LAST, "overwrite": REPLACEMENT, "update": UPDATED_ROWS, "create": BASE}
"""The rows of each operation that writes rows."""


@cache
def program() -> subprocess.Popen[str]:
    """The running program in Go. It ends when this program closes its standard input, at the latest at its end."""
    return subprocess.Popen([os.environ["ENGINE_PROGRAM"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def asked(**request: Any) -> Any:
    """The answer of the program. Raises RuntimeError with the text of its error."""
    running = program()
    assert running.stdin is not None and running.stdout is not None
    running.stdin.write(json.dumps(request) + "\n")
    running.stdin.flush()
    answer = json.loads(running.stdout.readline())
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["result"]


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool, mode: str = "") -> None:
    """Create a table with the rows of BASE, and no partitions. ``mode``: how rows are deleted."""
    commit(catalog, name, "create", version=str(format_version), mode=mode)


def commit(catalog: dict[str, str], name: str, step: str, **others: Any) -> None:
    """Commit an operation."""
    rows = [dict(zip(SOURCE_COLUMNS, row, strict=True)) for row in STEPS.get(step, ())]
    number = DELETED if step == "delete" else UPDATED
    asked(step=step, uri=catalog["uri"], table=name, rows=rows, id=number, **others)


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    commit(catalog, name, step)


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    within = {"lowest": LOWEST, "highest": HIGHEST} if question == "filter" else {}
    rows = asked(step="read", metadata=metadata, snapshot=snapshot, **within)
    if question == "count":
        return len(rows)
    return listed(
        {**row, "amount": Decimal(row["amount"]), "seen_at": datetime.fromisoformat(row["seen_at"])} for row in rows
    )


if __name__ == "__main__":
    serve({"create": create, "write": write, "read": read})
