"""Whether a column of one type can store every value of another type without loss.

Spark's own rule for writes (``spark.sql.storeAssignmentPolicy=ANSI``) checks types, not values. It rounds a double to a
float and a decimal to fewer digits, truncates a double to an int and a timestamp to a date, and assigns the fields of a
struct by position, regardless of their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from ...sql import sql_name
from ...table.types import INTEGERS, SparkType, as_written, parsed, same_parts, type_text

_EXACT_TEXT = {*INTEGERS, "float", "double", "decimal", "boolean", "date", "timestamp_ntz"}
"""Types whose text represents the value exactly, regardless of the session's settings."""
_WIDER = {
    "float": {"tinyint", "smallint"},
    "double": {"tinyint", "smallint", "int", "float"},
    "timestamp": {"date"},
    "timestamp_ntz": {"date"},
    "string": _EXACT_TEXT,
}


def fits(given: str, target: str) -> bool:
    """Whether a column of type ``target`` can store every value of type ``given``. Types are named as in DESCRIBE."""
    return same_type(given, target) or _fits(parsed(given), parsed(target))


def same_type(given: str, target: str) -> bool:
    """Whether two types are the same in Iceberg, which has one type for text and none for 8-bit and 16-bit integers."""
    return _stored(parsed(given)) == _stored(parsed(target))


def promotes(before: str, after: str) -> bool:
    """Whether Iceberg can change a column's type from ``before`` to ``after``, which preserves every value."""
    old, new = _stored(parsed(before)), _stored(parsed(after))
    if old.name == new.name == "decimal":
        return old.numbers[1] == new.numbers[1] and old.numbers[0] <= new.numbers[0]
    return (old.name, new.name) in (("int", "bigint"), ("float", "double"))


def new_fields(name: str, given: str, target: str) -> list[str] | None:
    """The fields that a type has in addition to another type, each as in ALTER TABLE ADD COLUMNS.

    ``name``: the column's name in SQL. None if the types differ in any other way.
    """
    found = _new_fields(name, as_written(given), as_written(target))
    return None if found is None else list(found)


def _new_fields(path: str, given: SparkType, target: SparkType) -> tuple[str, ...] | None:
    if given.name != target.name or not given.parts:
        return () if _fits(parsed(type_text(given)), parsed(type_text(target))) else None
    if given.name != "struct":
        inner = {"array": ("element",), "map": ("key", "value")}[given.name]
        pairs = zip(inner, given.parts, target.parts, strict=True)
        return _together([_new_fields(f"{path}.{part}", ours[1], theirs[1]) for part, ours, theirs in pairs])
    rest, place = list(target.parts), " first"
    found = []
    for name, type_ in given.parts:
        if rest and rest[0][0].lower() == name.lower():
            found.append(_new_fields(f"{path}.{sql_name(name)}", type_, rest.pop(0)[1]))
        else:
            # without a place, the field would follow those of the table, although Spark assigns fields by position
            found.append((f"{path}.{sql_name(name)} {type_text(type_)}{place}",))
        place = f" after {sql_name(name)}"
    return None if rest else _together(found)


def _together(found: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The fields of all parts. None if one of them is None."""
    known = [each for each in found if each is not None]
    return tuple(chain.from_iterable(known)) if len(known) == len(found) else None


def _fits(given: SparkType, target: SparkType) -> bool:
    if given == target or given.name == "void":
        return True
    if given.parts or target.parts:
        return same_parts(given, target, _fits)
    precision, scale = target.numbers
    if given.name in INTEGERS and target.name in INTEGERS:
        return INTEGERS[given.name] <= INTEGERS[target.name]
    if given.name in INTEGERS and target.name == "decimal":
        return INTEGERS[given.name] <= precision - scale
    if given.name == target.name == "decimal":
        return given.numbers[1] <= scale and given.numbers[0] - given.numbers[1] <= precision - scale
    return given.name in _WIDER.get(target.name, ())


def _stored(type_: SparkType) -> SparkType:
    """The type as Iceberg stores it."""
    if type_.name in ("tinyint", "smallint"):
        return SparkType("int")
    return SparkType(type_.name, tuple((name, _stored(part)) for name, part in type_.parts), type_.numbers)
