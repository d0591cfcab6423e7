"""Whether a column of one type can store every value of another type without loss.

Spark's own rule for writes (``spark.sql.storeAssignmentPolicy=ANSI``) checks types, not values. It rounds a double to a
float and a decimal to fewer digits, truncates a double to an int and a timestamp to a date, and assigns the fields of a
struct by position, regardless of their names.
"""

from __future__ import annotations

from ..table.spark_types import INTEGERS, SparkType, parsed, same_parts

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
