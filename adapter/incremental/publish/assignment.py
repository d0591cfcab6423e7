"""Whether a column of one type can take every value of another type, and give it back as it was.

Spark's own rule for writing into a table (``spark.sql.storeAssignmentPolicy=ANSI``) is about types that go together,
and not about values: it rounds a double to a float and a decimal to fewer digits, cuts a double to an int and a
timestamp to a date, and takes the fields of a struct by their places, whatever their names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_INTEGERS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
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
_EXACT_TEXT = {*_INTEGERS, "float", "double", "decimal", "boolean", "date", "timestamp_ntz"}
"""Types whose text says the value, whatever the session's settings."""
_WIDER = {
    "float": {"tinyint", "smallint"},
    "double": {"tinyint", "smallint", "int", "float"},
    "timestamp": {"date"},
    "timestamp_ntz": {"date"},
    "string": _EXACT_TEXT,
}
_PRIMITIVE = re.compile(r"([a-z_]+)(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")


@dataclass(frozen=True)
class _Type:
    """A type of Spark. ``parts``: the fields of a struct by name, the element of an array, key and value of a map.

    ``numbers``: precision and scale of a decimal.
    """

    name: str
    parts: tuple[tuple[str, _Type], ...] = ()
    numbers: tuple[int, int] = (0, 0)


def fits(given: str, target: str) -> bool:
    """Whether a column of type ``target`` keeps every value of type ``given``; types as DESCRIBE shows them."""
    return same_type(given, target) or _fits(_parsed(given), _parsed(target))


def same_type(given: str, target: str) -> bool:
    """Whether an Iceberg column of the one type is one of the other: it has one type of text, and no small integers."""
    return _stored(_parsed(given)) == _stored(_parsed(target))


def promotes(before: str, after: str) -> bool:
    """Whether Iceberg can change a column from one type to another: it then keeps every value."""
    old, new = _stored(_parsed(before)), _stored(_parsed(after))
    if old.name == new.name == "decimal":
        return old.numbers[1] == new.numbers[1] and old.numbers[0] <= new.numbers[0]
    return (old.name, new.name) in (("int", "bigint"), ("float", "double"))


def _fits(given: _Type, target: _Type) -> bool:
    if given == target or given.name == "void":
        return True
    if given.parts or target.parts:
        return (
            given.name == target.name
            and [name for name, _ in given.parts] == [name for name, _ in target.parts]
            and all(_fits(ours, theirs) for (_, ours), (_, theirs) in zip(given.parts, target.parts, strict=True))
        )
    precision, scale = target.numbers
    if given.name in _INTEGERS and target.name in _INTEGERS:
        return _INTEGERS[given.name] <= _INTEGERS[target.name]
    if given.name in _INTEGERS and target.name == "decimal":
        return _INTEGERS[given.name] <= precision - scale
    if given.name == target.name == "decimal":
        return given.numbers[1] <= scale and given.numbers[0] - given.numbers[1] <= precision - scale
    return given.name in _WIDER.get(target.name, ())


def _stored(type_: _Type) -> _Type:
    """The type as Iceberg stores it."""
    if type_.name in ("tinyint", "smallint"):
        return _Type("int")
    return _Type(type_.name, tuple((name, _stored(part)) for name, part in type_.parts), type_.numbers)


def _parsed(text: str) -> _Type:
    """Read a type. One that is not understood is a type of its own text, which is like no other."""
    text = text.strip().lower()
    head, opened, rest = text.partition("<")
    if opened and rest.endswith(">") and head in ("array", "map", "struct"):
        pieces = _split(rest[:-1])
        if head == "struct":
            named = [piece.partition(":") for piece in pieces]
            return _Type(head, tuple((name.strip(), _parsed(part)) for name, _, part in named))
        if len(pieces) == {"array": 1, "map": 2}[head]:
            return _Type(head, tuple((str(place), _parsed(piece)) for place, piece in enumerate(pieces)))
    found = _PRIMITIVE.fullmatch(text)
    if found is None:
        return _Type(text)
    name = _SYNONYMS.get(found[1], found[1])
    return _Type(name, numbers=(int(found[2] or 10), int(found[3] or 0)) if name == "decimal" else (0, 0))


def _split(text: str) -> list[str]:
    """The parts between those commas that are in no brackets."""
    parts, start, depth = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]] if text.strip() else []
