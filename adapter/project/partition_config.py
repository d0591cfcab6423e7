"""The config ``partition_by``. It is checked before it is used in SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from iceberg_incremental.explain import model_errors
from iceberg_incremental.table.layout import SYNONYMS

_OF_NUMBERS = ("bucket", "truncate")
_PART = r"(?:`(?:[^`]|``)+`|(?!\d+\b)\w+)"
_COLUMN = re.compile(rf"{_PART}(?:\.{_PART})*")
_CALL = re.compile(r"(\w+)\s*\((.*)\)", re.DOTALL)


def fields(partition_by: object, model: str) -> list[str]:
    """The fields of the config ``partition_by`` in Spark SQL. Empty if it is not set.

    Raises ConfigError unless each field is a column, or an Iceberg transform of a column.
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
    """The error in a field, as far as its text shows one. None without an error."""
    if _COLUMN.fullmatch(field):
        return None
    match = _CALL.fullmatch(field)
    if match is None:
        return "neither a column name (back-quoted if it contains special characters) nor a transform of a column"
    name, arguments = match[1].lower(), [each.strip() for each in match[2].split(",")]
    numbers, columns = ([each for each in arguments if is_kind(each)] for is_kind in (str.isdecimal, _COLUMN.fullmatch))
    if name not in (*SYNONYMS, *SYNONYMS.values(), *_OF_NUMBERS, "identity"):
        return f"an unknown transform, {match[1]}"
    wanted = 1 if name in _OF_NUMBERS else 0
    if (len(numbers), len(columns), len(arguments)) != (wanted, 1, wanted + 1) or "0" in numbers:
        return f"but {match[1]}() takes {'a whole number above 0 and a column' if wanted else 'exactly one column'}"
    if name == "bucket" and columns[0] == arguments[0]:
        return f"the column before the number of buckets; write bucket({numbers[0]}, {columns[0]})"
    return None
