"""The configs ``partition_by`` and ``sort_by``. They are checked before they are used in SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from iceberg_incremental.explain import model_errors
from iceberg_incremental.sql import sql_name
from iceberg_incremental.table.layout import SYNONYMS, sort_field

DISTRIBUTION = "write.distribution-mode"
"""The property for how writers distribute rows to tasks."""

_OF_NUMBERS = ("bucket", "truncate")
_PART = r"(?:`(?:[^`]|``)+`|(?!\d+\b)\w+)"
_COLUMN = re.compile(rf"{_PART}(?:\.{_PART})*")
_CALL = re.compile(r"(\w+)\s*\((.*)\)", re.DOTALL)


def partition_fields(partition_by: object, model: str) -> list[str]:
    """The fields of the config ``partition_by`` in Spark SQL. Empty if it is not set.

    Raises ConfigError unless each field is a column, or an Iceberg transform of a column.
    """
    return _checked(partition_by, lambda field: field, partial(model_errors.wrong_partition_by, model))


def sort_fields(sort_by: object, model: str) -> list[str]:
    """The fields of the config ``sort_by`` in Spark SQL. Empty if it is not set.

    Raises ConfigError unless each field is a column or an Iceberg transform of a column, with a direction or without.
    """
    return _checked(sort_by, lambda field: sort_field(field)[0], partial(model_errors.wrong_sort_by, model))


def _checked(
    value: object, without_direction: Callable[[str], str], error: Callable[[object, str], Exception]
) -> list[str]:
    listed = [value] if isinstance(value, (str, Mapping)) else value or []
    if not isinstance(listed, Sequence):
        raise error(value, f"a {type(value).__name__}")
    for field in listed:
        wrong = f"a {type(field).__name__}"
        if isinstance(field, str):
            wrong = _wrong(without_direction(field.strip())) or ""
        if wrong:
            raise error(field, wrong)
    return [field.strip() for field in listed]


@dataclass(frozen=True)
class WriteOrder:
    """The order of rows in the files of a model's table. ``sort_by``, ``partition_by``: as in the configs, checked.

    ``is_partitioned``: also true for a table with ``clustered_by``. ``has_mode``: whether the model's properties set
    how writers distribute rows, which this class then leaves as it is.
    """

    sort_by: Sequence[str]
    partition_by: Sequence[str]
    is_partitioned: bool
    has_mode: bool

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties with which the table is created, so that its first rows keep the order of ``rows_sql``."""
        return {} if self.has_mode else {DISTRIBUTION: "none"}

    def rows_sql(self, rows: str, catalog: str) -> str:
        """The query of a table's first rows, sorted by partition and by the fields. ``rows``: a query.

        Spark samples the rows to sort them, so it computes them twice.
        """
        fields = [_expression(each, catalog) for each in self.partition_by]
        for each in self.sort_by:
            field, direction = sort_field(each)
            fields.append(f"{_expression(field, catalog)} {direction}")
        return f"select * from (\n{rows}\n)\norder by {', '.join(fields)}"

    @property
    def clause(self) -> str:
        """The clause of ALTER TABLE after which all writers sort the rows of each file.

        Iceberg would otherwise sort all rows of a write by range, for which Spark computes them twice.
        """
        how = "DISTRIBUTED BY PARTITION " if self.is_partitioned and not self.has_mode else ""
        return f"WRITE {how}LOCALLY ORDERED BY {', '.join(self.sort_by)}"


def write_order(config: Mapping[str, Any], properties: Mapping[str, Any], model: str) -> WriteOrder | None:
    """The order of rows in the table of a model. None if its config sets none. ``properties``: those of its table.

    Raises ConfigError as ``sort_fields`` and ``partition_fields`` do.
    """
    if not (sort_by := sort_fields(config.get("sort_by"), model)):
        return None
    partition_by = partition_fields(config.get("partition_by"), model)
    is_partitioned = bool(partition_by or config.get("clustered_by"))
    return WriteOrder(sort_by, partition_by, is_partitioned, DISTRIBUTION in properties)


def _expression(field: str, catalog: str) -> str:
    """A column or a transform of one as an expression. Iceberg's transforms are functions of each of its catalogs."""
    match = _CALL.fullmatch(field)
    if match is None or _COLUMN.fullmatch(field):
        return field
    name, arguments = match[1].lower(), [each.strip() for each in match[2].split(",")]
    if name == "identity":
        return arguments[0]
    ordered = sorted(arguments, key=lambda each: not each.isdecimal())
    return f"{sql_name(catalog)}.system.{SYNONYMS.get(name, name)}({', '.join(ordered)})"


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
