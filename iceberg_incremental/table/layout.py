"""A table's current columns, partitioning and sort order, in Spark SQL's notation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .types import IcebergType

_OF_SPARK = {"long": "bigint", "timestamp": "timestamp_ntz", "timestamptz": "timestamp", "uuid": "string"}
_SPACES = re.compile(r"\s")
_CUT_OFF = re.compile(r"\.\.\. \d+ more fields")


@dataclass(frozen=True)
class DescribedColumn:
    """A column's name, Spark SQL type and comment."""

    name: str
    type: str
    comment: str | None = None

    @property
    def is_cut_off(self) -> bool:
        """Whether the type is truncated. Spark's DESCRIBE truncates structs of more than 25 fields."""
        return _CUT_OFF.search(self.type) is not None


@dataclass(frozen=True)
class Layout:
    """A table's columns, and the fields by which new files are partitioned and sorted, such as ``days(ts)``."""

    columns: tuple[DescribedColumn, ...]
    partitioned_by: tuple[str, ...] = ()
    sorted_by: tuple[str, ...] = ()


def spark_type(type_: IcebergType) -> str:
    """The Spark SQL type of an Iceberg type, as in Iceberg's ``TypeToSparkType``.

    Types that Spark lacks keep their name.
    """
    if isinstance(type_, str):
        plain = _SPACES.sub("", type_)
        return "binary" if plain.startswith("fixed") else _OF_SPARK.get(plain, plain)
    if type_["type"] == "struct":
        fields = ",".join(f"{field['name']}:{spark_type(field['type'])}" for field in type_["fields"])
        return f"struct<{fields}>"
    if type_["type"] == "list":
        return f"array<{spark_type(type_['element'])}>"
    return f"map<{spark_type(type_['key'])},{spark_type(type_['value'])}>"


def names_by_id(struct: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[int, str]]:
    """The names of all fields of a schema or struct by id. Nested fields have their path."""
    for field in struct["fields"]:
        name = f"{prefix}{field['name']}"
        yield field["id"], name
        if isinstance(field["type"], Mapping) and field["type"]["type"] == "struct":
            yield from names_by_id(field["type"], f"{name}.")
