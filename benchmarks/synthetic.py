"""Derives long histories from short ones: valid table metadata with any number of snapshots."""

from __future__ import annotations

import json
import random
import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iceberg_incremental.table.checkpoint import KEY

FILES_PER_COMMIT, ROWS_PER_FILE, BYTES_PER_FILE = 10, 10_000, 400_000
_MINUTE_MS = 60_000
_LOG_LENGTH = 100  # Iceberg's default for write.metadata.previous-versions-max


def lengthen(document: Mapping[str, Any], snapshots: int, seed: int = 1) -> dict[str, Any]:
    """The metadata of a table with additional appends of ten files each, so that it has ``snapshots`` snapshots.

    Each new snapshot has the manifest list of the last real snapshot, and its summary with higher counts. A checkpoint
    in the summary of the last real snapshot moves to the last snapshot.
    """
    chance = random.Random(seed)
    chain = [dict(each) for each in sorted(document["snapshots"], key=lambda each: each["sequence-number"])]
    last = chain[-1]
    checkpoint = last["summary"].get(KEY)
    plain = [{**each, "summary": {k: v for k, v in each["summary"].items() if k != KEY}} for each in chain]
    log = list(document["snapshot-log"])
    while len(plain) < snapshots:
        before = plain[-1]
        plain.append(
            {
                **before,
                "snapshot-id": chance.getrandbits(62),
                "parent-snapshot-id": before["snapshot-id"],
                "sequence-number": before["sequence-number"] + 1,
                "timestamp-ms": before["timestamp-ms"] + _MINUTE_MS,
                "summary": {**before["summary"], **_counts(before["summary"])},
            }
        )
        log.append({"snapshot-id": plain[-1]["snapshot-id"], "timestamp-ms": plain[-1]["timestamp-ms"]})
    head = plain[-1]
    if checkpoint is not None:
        head["summary"] = {**head["summary"], KEY: checkpoint}
    folder = f"{document['location']}/metadata"
    names = [
        f"{folder}/{number:05}-{uuid.UUID(int=chance.getrandbits(128))}.metadata.json" for number in range(_LOG_LENGTH)
    ]
    return {
        **document,
        "snapshots": plain,
        "snapshot-log": log,
        "metadata-log": [
            {"metadata-file": name, "timestamp-ms": entry["timestamp-ms"]}
            for name, entry in zip(names, log[-_LOG_LENGTH:], strict=False)
        ],
        "refs": {**document["refs"], "main": {**document["refs"]["main"], "snapshot-id": head["snapshot-id"]}},
        "current-snapshot-id": head["snapshot-id"],
        "last-sequence-number": head["sequence-number"],
        "last-updated-ms": head["timestamp-ms"],
    }


def _counts(before: Mapping[str, str]) -> dict[str, str]:
    added = {"data-files": FILES_PER_COMMIT, "records": FILES_PER_COMMIT * ROWS_PER_FILE}
    counts = {f"added-{key}": str(value) for key, value in added.items()}
    counts |= {f"total-{key}": str(int(before[f"total-{key}"]) + value) for key, value in added.items()}
    size = FILES_PER_COMMIT * BYTES_PER_FILE
    return counts | {
        "added-files-size": str(size),
        "total-files-size": str(int(before["total-files-size"]) + size),
        "changed-partition-count": "1",
    }


def with_checkpoint(document: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The metadata with a checkpoint in the summary of its current snapshot."""
    head = document["current-snapshot-id"]
    snapshots: Sequence[Mapping[str, Any]] = document["snapshots"]
    return {
        **document,
        "snapshots": [
            {**each, "summary": {**each["summary"], KEY: text}} if each["snapshot-id"] == head else each
            for each in snapshots
        ],
    }


def read(catalog: Path, name: str) -> dict[str, Any]:
    """The current metadata of a table in a SQLite catalog."""
    with sqlite3.connect(catalog) as connection:
        (location,) = connection.execute(
            "select metadata_location from iceberg_tables where table_name = ?", (name,)
        ).fetchone()
    connection.close()
    document: dict[str, Any] = json.loads(Path(location.removeprefix("file:")).read_text(encoding="utf-8"))
    return document


def write(catalog: Path, name: str, document: Mapping[str, Any]) -> Path:
    """Set the metadata of a table in a SQLite catalog. Returns the new metadata file."""
    folder = Path(document["location"].removeprefix("file:")) / "metadata"
    path = folder / f"{len(document['snapshots']):05}-{uuid.uuid4()}.metadata.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with sqlite3.connect(catalog) as connection:
        connection.execute("update iceberg_tables set metadata_location = ? where table_name = ?", (str(path), name))
    connection.close()
    return path
