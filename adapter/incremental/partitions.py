"""How a table is partitioned: as a model is configured, and as Spark describes the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

_SYNONYMS = {"year": "years", "month": "months", "day": "days", "date": "days", "hour": "hours", "date_hour": "hours"}
_TRANSFORM = re.compile(r"(\w+)\((.*)\)")


def configured(partition_by: str | Sequence[str] | None) -> list[str]:
    """The config ``partition_by`` as normal forms, for example ``days(ts)``, ``bucket(16,id)``, ``region``."""
    fields = [partition_by] if isinstance(partition_by, str) else partition_by or []
    return [_normal(field) for field in fields]


def described(rows: Iterable[Sequence[Any]]) -> list[str]:
    """The partition fields in the rows of DESCRIBE TABLE, as the same normal forms.

    Spark lists columns under ``# Partition Information``; where one field is a transform, all fields, as ``Part 0``,
    under ``# Partitioning``.
    """
    found: list[str] = []
    section = ""
    for name, value in ((str(row[0] or ""), str(row[1] or "")) for row in rows):
        if not name or name.startswith("#"):
            section = name if name and name != "# col_name" else section if name else ""
        elif section == "# Partition Information":
            found.append(_normal(name))
        elif section == "# Partitioning":
            found.append(_normal(value))
    return found


def _normal(field: str) -> str:
    text = re.sub(r"[\s`]", "", field).lower()
    match = _TRANSFORM.fullmatch(text)
    if match is None:
        return text
    name, arguments = match.groups()
    parts = sorted(arguments.split(","), key=lambda part: not part.isdecimal())  # bucket(id, 16) is bucket(16, id)
    return f"{_SYNONYMS.get(name, name)}({','.join(parts)})"
