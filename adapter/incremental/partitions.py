"""How a table is partitioned: as a model is configured, and as Spark describes the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .explain import model_errors

_SYNONYMS = {"year": "years", "month": "months", "day": "days", "date": "days", "hour": "hours", "date_hour": "hours"}
_TRANSFORM = re.compile(r"(\w+)\((.*)\)")
_OF_NUMBERS = ("bucket", "truncate")
_PART = r"(?:`(?:[^`]|``)+`|(?!\d+\b)\w+)"
_COLUMN = re.compile(rf"{_PART}(?:\.{_PART})*")
_CALL = re.compile(r"(\w+)\s*\((.*)\)", re.DOTALL)


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


def specified(spec: Mapping[str, Any], names: Mapping[int, str]) -> tuple[str, ...]:
    """The fields of a spec of Iceberg's metadata as normal forms; ``names``: of the table's columns by their ids."""
    found = []
    for field in spec["fields"]:
        name, (transform, _, argument) = (
            names.get(field["source-id"], str(field.get("name"))),
            field["transform"].partition("["),
        )
        if transform == "identity":
            found.append(_normal(name))
        elif transform != "void":
            arguments = f"{argument.rstrip(']')},{name}" if argument else name
            found.append(_normal(f"{transform}({arguments})"))
    return tuple(found)


def fields(partition_by: object, model: str) -> list[str]:
    """The config ``partition_by`` as Spark SQL takes it, field by field; none where it is not set.

    Raises ConfigError for what is neither a column nor a transform of one that Iceberg knows.
    """
    listed = [partition_by] if isinstance(partition_by, (str, Mapping)) else partition_by or []
    if not isinstance(listed, Sequence):
        raise model_errors.wrong_partition_by(model, partition_by, f"a {type(partition_by).__name__}")
    for field in listed:
        wrong = f"a {type(field).__name__}" if not isinstance(field, str) else _wrong(field.strip())
        if wrong is not None:
            raise model_errors.wrong_partition_by(model, field, wrong)
    return [field.strip() for field in listed]


def _wrong(field: str) -> str | None:
    """What is wrong with one field; None where nothing is, as far as its text tells."""
    if _COLUMN.fullmatch(field):
        return None
    match = _CALL.fullmatch(field)
    if match is None:
        return "neither a column's name nor a transform of one"
    name, arguments = match[1].lower(), [each.strip() for each in match[2].split(",")]
    numbers, columns = ([each for each in arguments if is_kind(each)] for is_kind in (str.isdecimal, _COLUMN.fullmatch))
    if name not in (*_SYNONYMS, *_SYNONYMS.values(), *_OF_NUMBERS, "identity"):
        return f"an unknown transform, {match[1]}"
    wanted = 1 if name in _OF_NUMBERS else 0
    if (len(numbers), len(columns), len(arguments)) != (wanted, 1, wanted + 1) or "0" in numbers:
        return f"{match[1]}() without {'a whole number above 0 and a column' if wanted else 'one column'}"
    return None


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
