"""The types of Spark and Iceberg: their parts, and how their values compare with values of other types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from functools import cache
from typing import Any

from ..names import sql_name

INTEGERS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""The number of decimal digits that hold every value, ordered by size."""


class Trait(Flag):
    """What is true of the values of a Spark type."""

    NONE = 0
    NUMBER = auto()
    """They are numbers, or truth values as 0 and 1."""
    SUMMED = auto()
    """Their sum is exact, in any order."""
    EXACT = auto()
    """They have an order, in which equal values are identical: neither 0.0 and -0.0, nor texts of a collation."""
    BOUNDED = auto()
    """Iceberg's bounds of a column include them all, and can be written as literals. Those of floats leave NaN out."""


_PLAIN = Trait.EXACT | Trait.BOUNDED
_TRAITS = {
    **dict.fromkeys([*INTEGERS, "decimal"], _PLAIN | Trait.NUMBER | Trait.SUMMED),
    "boolean": _PLAIN | Trait.NUMBER,
    **dict.fromkeys(["string", "date", "timestamp", "timestamp_ntz"], _PLAIN),
    "binary": Trait.EXACT,
    **dict.fromkeys(["float", "double"], Trait.NUMBER),
}

_SYNONYMS = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "timestamp_ltz": "timestamp",
    "char": "string",
    "varchar": "string",
}
_PRIMITIVE = re.compile(r"([a-z_]+)(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_COLLATED = re.compile(r"string\s+collate\b")


@dataclass(frozen=True)
class SparkType:
    """A Spark type. ``parts``: the fields of a struct by name, the element of an array, or the key and value of a map.

    ``numbers``: the precision and scale of a decimal.
    """

    name: str
    parts: tuple[tuple[str, SparkType], ...] = ()
    numbers: tuple[int, int] = (0, 0)


def parsed(text: str) -> SparkType:
    """Parse a type, with field names in lower case.

    An unknown type is represented by its own text, and equals no other type.
    """
    return as_written(text.lower())


def as_written(text: str) -> SparkType:
    """Parse a type as ``parsed`` does, but with field names as they are written, which may differ only in case."""
    text = text.strip()
    head, opened, rest = text.partition("<")
    head = head.lower()
    if opened and rest.endswith(">") and head in ("array", "map", "struct"):
        pieces = _split(rest[:-1])
        if head == "struct":
            named = [piece.partition(":") for piece in pieces]
            return SparkType(head, tuple((name.strip(), as_written(part)) for name, _, part in named))
        if len(pieces) == {"array": 1, "map": 2}[head]:
            return SparkType(head, tuple((str(index), as_written(piece)) for index, piece in enumerate(pieces)))
    text = text.lower()
    found = _PRIMITIVE.fullmatch(text)
    if found is None:
        return SparkType(text)
    name = _SYNONYMS.get(found[1], found[1])
    return SparkType(name, numbers=(int(found[2] or 10), int(found[3] or 0)) if name == "decimal" else (0, 0))


@cache
def traits(type_: str) -> Trait:
    """What is true of the values of a type, as DESCRIBE shows it. NONE for an unknown type."""
    return _traits(parsed(type_))


def _traits(type_: SparkType) -> Trait:
    if type_.name in ("array", "struct"):
        return Trait.EXACT if all(Trait.EXACT in _traits(part) for _, part in type_.parts) else Trait.NONE
    return _TRAITS.get(type_.name, Trait.NONE)


def type_text(type_: SparkType) -> str:
    """A type in SQL."""
    parts = [type_text(part) for _, part in type_.parts]
    if type_.name == "struct":
        named = (f"{sql_name(name)}: {part}" for (name, _), part in zip(type_.parts, parts, strict=True))
        return f"struct<{', '.join(named)}>"
    if parts:
        return f"{type_.name}<{', '.join(parts)}>"
    return f"decimal({type_.numbers[0]},{type_.numbers[1]})" if type_.name == "decimal" else type_.name


def compares_alike(one: str, other: str) -> bool:
    """Whether values of two types have the same equality and order, in whichever type they are compared.

    This holds for types that differ only in the size of their numbers. All other types lose information in one
    direction. For example, the timestamp 10:30 becomes midnight as a date, 0.1 as a float differs from 0.1 as a double,
    and as text '10' is less than '9' and '1' differs from '1.00'.
    """
    return _compare_alike(parsed(one), parsed(other))


def is_collated(type_: str) -> bool:
    """Whether text of a type is compared by a collation, which Iceberg columns do not have."""
    return _is_collated(parsed(type_))


def _compare_alike(one: SparkType, other: SparkType) -> bool:
    if "void" in (one.name, other.name):  # void has no values
        return True
    return same_parts(one, other, _compare_alike) if one.parts or other.parts else _unsized(one) == _unsized(other)


def same_parts(one: SparkType, other: SparkType, fits: Callable[[SparkType, SparkType], bool]) -> bool:
    """Whether two nested types are of the same kind, with parts of the same names, each of which ``fits``."""
    if one.name != other.name or len(one.parts) != len(other.parts):
        return False
    pairs = zip(one.parts, other.parts, strict=True)
    return all(name == its_name and fits(ours, theirs) for (name, ours), (its_name, theirs) in pairs)


def _unsized(type_: SparkType) -> SparkType:
    """A primitive type regardless of the size of its numbers: a decimal with the same number of fractional digits."""
    if type_.name in INTEGERS:
        return SparkType("decimal")
    return SparkType(type_.name, numbers=(0, type_.numbers[1]))


def _is_collated(type_: SparkType) -> bool:
    if type_.parts:
        return any(_is_collated(part) for _, part in type_.parts)
    return _COLLATED.match(type_.name) is not None


def _split(text: str) -> Sequence[str]:
    """The parts between the commas that are not in brackets."""
    parts, start, depth = [], 0, 0
    for index, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]] if text.strip() else []


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
