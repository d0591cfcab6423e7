"""Iceberg's types: their parts, and whether their values can be compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

IcebergType = str | Mapping[str, Any]
"""A type as in the JSON of table metadata: the name of a primitive, or the object of a struct, list or map."""

# These names also occur in the text of a Spark type, which is used if Spark has read the metadata.
_FLOATING = re.compile(r"\b(float|double)\b")
_INCOMPARABLE = re.compile(r"\b(variant|geometry|geography)\b(?!:)|\bmap<")


def has_floats(type_: IcebergType) -> bool:
    """Whether a type is or contains a floating-point type."""
    return any(_FLOATING.search(name) for name in _primitives(type_))


def is_comparable(type_: IcebergType) -> bool:
    """Whether Spark can group rows by values of the type."""
    return not any(_INCOMPARABLE.search(name) for name in _primitives(type_))


def has_maps(type_: IcebergType) -> bool:
    """Whether a type is or contains a map."""
    if isinstance(type_, str):
        return False
    return type_["type"] == "map" or any(has_maps(part) for part in parts_of(type_))


def _primitives(type_: IcebergType) -> list[str]:
    """The names of all primitive types in a type."""
    if isinstance(type_, str):
        return [type_]
    return [name for part in parts_of(type_) for name in _primitives(part)]


def fields_of(type_: IcebergType, path: str = "") -> dict[str, int]:
    """The ids of the fields of structs in a type, by their path, in order."""
    if isinstance(type_, str) or type_["type"] not in ("struct", "list", "map"):
        return {}
    found: dict[str, int] = {}
    if type_["type"] == "struct":
        for field in type_["fields"]:
            name = f"{path}.{field['name']}"
            found |= {name: field["id"], **fields_of(field["type"], name)}
        return found
    for place, part in enumerate(parts_of(type_)):
        found |= fields_of(part, f"{path}.{place}")
    return found


def parts_of(type_: Mapping[str, Any]) -> list[IcebergType]:
    """The types of which a struct, list or map consists."""
    if type_["type"] == "struct":
        return [field["type"] for field in type_["fields"]]
    return [type_["element"]] if type_["type"] == "list" else [type_["key"], type_["value"]]
