"""A table's current columns, partitioning and sort order, in Spark SQL's notation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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


SYNONYMS = {"year": "years", "month": "months", "day": "days", "date": "days", "hour": "hours", "date_hour": "hours"}
_DIRECTION = re.compile(r"(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*$", re.IGNORECASE)
_NULLS = {"asc": "first", "desc": "last"}
_TRANSFORM = re.compile(r"(\w+)\((.*)\)")


@dataclass(frozen=True)
class LiveSpec:
    """A partition spec of live data files, and the number of these files.

    ``fields``: in normal form; None if the reader cannot know them. ``is_current``: whether new files use the spec;
    None if the reader cannot know it.
    """

    spec_id: int
    files: int
    fields: tuple[str, ...] | None = None
    is_current: bool | None = None


def has_older_specs(specs: Sequence[LiveSpec]) -> bool:
    """Whether data files are known to use another partition spec than new files."""
    return len(specs) > 1 or any(spec.is_current is False for spec in specs)


def identity_columns(specs: Sequence[LiveSpec]) -> frozenset[str]:
    """The columns, in lower case, by which all known live files are identity-partitioned."""
    found = [frozenset(field for field in spec.fields or () if not _TRANSFORM.fullmatch(field)) for spec in specs]
    return frozenset.intersection(*found) if found else frozenset()


def fields_of_spec(spec: Mapping[str, Any], names: Mapping[int, str]) -> tuple[str, ...]:
    """The fields of a spec in Iceberg's metadata, in normal form. ``names``: the column names by id."""
    fields = ((field["transform"], names.get(field["source-id"], str(field.get("name")))) for field in spec["fields"])
    return tuple(_normal(field) for each in fields if (field := transform_sql(*each)) is not None)


def transform_sql(transform: str, column: str) -> str | None:
    """A transform of a column in Spark SQL. None for a transform without values (void)."""
    name, _, argument = transform.partition("[")
    if name == "identity":
        return column
    if name == "void":
        return None
    arguments = f"{argument.rstrip(']')}, {column}" if argument else column
    return f"{SYNONYMS.get(name, name)}({arguments})"


def normal_fields(partition_by: str | Sequence[str] | None) -> list[str]:
    """Partition fields in normal form, from a config or from Spark's description.

    For example ``days(ts)``, ``bucket(16,id)``, ``region``.
    """
    fields = [partition_by] if isinstance(partition_by, str) else partition_by or []
    return [_normal(field) for field in fields]


def sort_field(text: str) -> tuple[str, str]:
    """A field of a sort order, without and with its direction in normal form: ``id`` and ``asc nulls first``."""
    match = _DIRECTION.search(text)
    direction, nulls = (part and part.lower() for part in match.groups()) if match else (None, None)
    direction = direction or "asc"
    return text[: match.start()] if match else text, f"{direction} nulls {nulls or _NULLS[direction]}"


def normal_sorts(sort_by: Sequence[str]) -> list[str]:
    """The fields of a sort order in normal form, from a config or from metadata, such as ``id asc nulls first``."""
    return [f"{_normal(field)} {direction}" for field, direction in map(sort_field, sort_by)]


def columns_of(fields: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The source columns of partition fields. For a field within a struct, the column of the struct."""
    sources = {_argument(field) for field in normal_fields(fields)}
    roots = {source.partition(".")[0] for source in sources}
    return [name for name in columns if _plain(name) in sources | roots]


def _argument(field: str) -> str:
    """The source column of a field in normal form."""
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
    if name == "identity":
        return str(arguments)
    parts = sorted(arguments.split(","), key=lambda part: not part.isdecimal())  # bucket(id, 16) is bucket(16, id)
    return f"{SYNONYMS.get(name, name)}({','.join(parts)})"
