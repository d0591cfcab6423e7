"""Spark's types as DESCRIBE names them, and how their values compare with those of another type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

INTEGERS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""Decimal digits that hold every value, in the order of their sizes."""

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
    """A type of Spark. ``parts``: the fields of a struct by name, the element of an array, key and value of a map.

    ``numbers``: precision and scale of a decimal.
    """

    name: str
    parts: tuple[tuple[str, SparkType], ...] = ()
    numbers: tuple[int, int] = (0, 0)


def parsed(text: str) -> SparkType:
    """Read a type. One that is not understood is a type of its own text, which is like no other."""
    text = text.strip().lower()
    head, opened, rest = text.partition("<")
    if opened and rest.endswith(">") and head in ("array", "map", "struct"):
        pieces = _split(rest[:-1])
        if head == "struct":
            named = [piece.partition(":") for piece in pieces]
            return SparkType(head, tuple((name.strip(), parsed(part)) for name, _, part in named))
        if len(pieces) == {"array": 1, "map": 2}[head]:
            return SparkType(head, tuple((str(place), parsed(piece)) for place, piece in enumerate(pieces)))
    found = _PRIMITIVE.fullmatch(text)
    if found is None:
        return SparkType(text)
    name = _SYNONYMS.get(found[1], found[1])
    return SparkType(name, numbers=(int(found[2] or 10), int(found[3] or 0)) if name == "decimal" else (0, 0))


def compares_alike(one: str, other: str) -> bool:
    """Whether values of two types are equal, and in the same order, in whichever of the types they are compared.

    That holds for types that differ only in how large their numbers may be. All others convert with a loss in one
    direction: what was 10:30 as a timestamp is midnight as a date, 0.1 as a float is not 0.1 as a double, and as text
    '10' is less than '9' and '1' is not '1.00'.
    """
    return _compare_alike(parsed(one), parsed(other))


def is_collated(type_: str) -> bool:
    """Whether text of a type compares by a collation, which an Iceberg column does not have."""
    return _is_collated(parsed(type_))


def _compare_alike(one: SparkType, other: SparkType) -> bool:
    if "void" in (one.name, other.name):  # it has no value
        return True
    return same_parts(one, other, _compare_alike) if one.parts or other.parts else _unsized(one) == _unsized(other)


def same_parts(one: SparkType, other: SparkType, fits: Callable[[SparkType, SparkType], bool]) -> bool:
    """Whether two nested types are of one kind, with parts of the same names, each of which fits."""
    if one.name != other.name or len(one.parts) != len(other.parts):
        return False
    pairs = zip(one.parts, other.parts, strict=True)
    return all(name == its_name and fits(ours, theirs) for (name, ours), (its_name, theirs) in pairs)


def _unsized(type_: SparkType) -> SparkType:
    """A primitive type as if its numbers could be of any size: a decimal, with so many digits after the point."""
    if type_.name in INTEGERS:
        return SparkType("decimal")
    return SparkType(type_.name, numbers=(0, type_.numbers[1]))


def _is_collated(type_: SparkType) -> bool:
    if type_.parts:
        return any(_is_collated(part) for _, part in type_.parts)
    return _COLLATED.match(type_.name) is not None


def _split(text: str) -> Sequence[str]:
    """The parts between those commas that are in no brackets."""
    parts, start, depth = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]] if text.strip() else []
