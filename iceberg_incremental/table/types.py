"""Iceberg's types: what they consist of, and whether their values compare."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

IcebergType = str | Mapping[str, Any]
"""A type as the JSON of table metadata writes it: a primitive's name, or the object of a struct, list or map."""

# Also within the text of a Spark type, which stands for the type where Spark has read the metadata.
_FLOATING = re.compile(r"\b(float|double)\b")
_INCOMPARABLE = re.compile(r"\b(variant|geometry|geography)\b(?!:)|\bmap<")


def has_floats(type_: IcebergType) -> bool:
    """Whether a type is, or holds, a floating-point number."""
    return any(_FLOATING.search(name) for name in _primitives(type_))


def is_comparable(type_: IcebergType) -> bool:
    """Whether Spark can group rows by values of the type."""
    return not any(_INCOMPARABLE.search(name) for name in _primitives(type_))


def has_maps(type_: IcebergType) -> bool:
    """Whether a type is, or holds, a map."""
    if isinstance(type_, str):
        return False
    return type_["type"] == "map" or any(has_maps(part) for part in parts_of(type_))


def _primitives(type_: IcebergType) -> list[str]:
    """The names of all primitive types in a type."""
    if isinstance(type_, str):
        return [type_]
    return [name for part in parts_of(type_) for name in _primitives(part)]


def parts_of(type_: Mapping[str, Any]) -> list[IcebergType]:
    """The types that a struct, list or map consists of."""
    if type_["type"] == "struct":
        return [field["type"] for field in type_["fields"]]
    return [type_["element"]] if type_["type"] == "list" else [type_["key"], type_["value"]]
