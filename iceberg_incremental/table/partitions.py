"""How a table is partitioned: as a model is configured, and as Spark describes the table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SYNONYMS = {"year": "years", "month": "months", "day": "days", "date": "days", "hour": "hours", "date_hour": "hours"}
_TRANSFORM = re.compile(r"(\w+)\((.*)\)")


@dataclass(frozen=True)
class LiveSpec:
    """A partition spec that live data files of a table are written in, and how many.

    ``fields``: its normal forms, None where the reader cannot know them. ``is_current``: whether new files are written
    in it; None where the reader cannot know.
    """

    spec_id: int
    files: int
    fields: tuple[str, ...] | None = None
    is_current: bool | None = None


def has_older(specs: Sequence[LiveSpec]) -> bool:
    """Whether data files are known to lie in partitions of another spec than new files would."""
    return len(specs) > 1 or any(spec.is_current is False for spec in specs)


def identity_columns(specs: Sequence[LiveSpec]) -> frozenset[str]:
    """The columns, in lower case, by whose very values all live files are partitioned, as far as is known."""
    found = [frozenset(field for field in spec.fields or () if not _TRANSFORM.fullmatch(field)) for spec in specs]
    return frozenset.intersection(*found) if found else frozenset()


def specified(spec: Mapping[str, Any], names: Mapping[int, str]) -> tuple[str, ...]:
    """The fields of a spec of Iceberg's metadata as normal forms; ``names``: of the table's columns by their ids."""
    fields = ((field["transform"], names.get(field["source-id"], str(field.get("name")))) for field in spec["fields"])
    return tuple(_normal(field) for each in fields if (field := spelled(*each)) is not None)


def spelled(transform: str, column: str) -> str | None:
    """A transform of a column as Spark SQL writes it; None for one that gives no value."""
    name, _, argument = transform.partition("[")
    if name == "identity":
        return column
    if name == "void":
        return None
    arguments = f"{argument.rstrip(']')}, {column}" if argument else column
    return f"{SYNONYMS.get(name, name)}({arguments})"


def configured(partition_by: str | Sequence[str] | None) -> list[str]:
    """Partition fields, as configured or as Spark describes them, in their normal forms.

    For example ``days(ts)``, ``bucket(16,id)``, ``region``.
    """
    fields = [partition_by] if isinstance(partition_by, str) else partition_by or []
    return [_normal(field) for field in fields]


def columns_of(fields: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The columns from which partition fields take their values; of a field within a struct, the struct's."""
    sources = {_argument(field) for field in configured(fields)}
    roots = {source.partition(".")[0] for source in sources}
    return [name for name in columns if _plain(name) in sources | roots]


def _argument(field: str) -> str:
    """What the normal form of a field partitions by."""
    match = _TRANSFORM.fullmatch(field)
    return field if match is None else match[2].rpartition(",")[2]


def _plain(text: str) -> str:
    return re.sub(r"[\s`]", "", text).lower()


def _normal(field: str) -> str:
    text = _plain(field)
    match = _TRANSFORM.fullmatch(text)
    if match is None:
        return text
    name, arguments = match.groups()
    parts = sorted(arguments.split(","), key=lambda part: not part.isdecimal())  # bucket(id, 16) is bucket(16, id)
    return f"{SYNONYMS.get(name, name)}({','.join(parts)})"
