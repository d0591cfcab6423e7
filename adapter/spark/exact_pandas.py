"""Exact integers in pandas DataFrames from Spark.

Spark's ``toPandas()`` converts a column of integers with a NULL to doubles, which cannot represent all integers beyond
2^53. For example, 9007199254740993 becomes 9007199254740992. While the code of a model runs, such a column has pandas'
nullable integers instead. Integers within arrays, structs and maps are Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

EXACT = 2**53
"""A double can represent every integer up to this value."""

_HALF = 32
"""The number of bits in each half of a bigint. A double can represent each half."""


@contextmanager
def exact_integers(session: SparkSession) -> Iterator[None]:
    """Within the block, ``toPandas()`` of a session's DataFrames returns exact integers."""
    kind: Any = type(session.range(0))
    original = kind.toPandas
    kind.toPandas = lambda frame: _to_pandas(frame, original)
    try:
        yield
    finally:
        kind.toPandas = original


def _to_pandas(frame: DataFrame, original: Any) -> Any:
    from pyspark.sql.types import IntegralType, LongType

    columns, types = frame.columns, [field.dataType for field in frame.schema.fields]
    if not any(isinstance(each, IntegralType) or _has_long(each) for each in types):
        return original(frame)
    import pandas

    names = [f"c{number}" for number in range(len(columns))]  # columns may have the same name
    read = [part for name, each in zip(names, types, strict=True) for part in _parts(name, each)]
    found = original(frame.toDF(*names).select(*read))
    exact = {}
    for name, each in zip(names, types, strict=True):
        if isinstance(each, LongType):
            high, low = (found[f"{name}_{half}"].astype("Int64") for half in ("high", "low"))
            exact[name] = _without_null(high * 2**_HALF + low)
        elif isinstance(each, IntegralType):
            exact[name] = _without_null(found[name].astype(f"Int{_bits(each)}"))
        else:
            exact[name] = found[name].map(partial(_integers, kind=each)) if _has_long(each) else found[name]
    joined = pandas.DataFrame(exact, index=found.index)
    joined.columns = pandas.Index(columns)
    joined.attrs = found.attrs
    return joined


def _parts(name: str, kind: DataType) -> list[Column]:
    """The expressions to read for a column: a bigint in two halves, and nested bigints as decimals."""
    from pyspark.sql import functions
    from pyspark.sql.types import LongType

    column = functions.col(name)
    if isinstance(kind, LongType):
        high = functions.shiftright(column, _HALF).cast("int")
        return [high.alias(f"{name}_high"), column.bitwiseAND(2**_HALF - 1).alias(f"{name}_low")]
    return [column.cast(_with_decimals(kind)).alias(name) if _has_long(kind) else column]


def _without_null(integers: Any) -> Any:
    """A column of nullable integers. Without NULLs, it has the type that Spark uses."""
    return integers if integers.hasnans else integers.astype(str(integers.dtype).lower())


def _bits(kind: DataType) -> int:
    return {"byte": 8, "short": 16, "integer": 32}[kind.typeName()]


def _has_long(kind: DataType) -> bool:
    """Whether a type contains nested bigints."""
    return _with_decimals(kind) != kind


def _with_decimals(kind: DataType) -> DataType:
    """A type with decimals instead of nested bigints. The type bigint itself is not changed."""
    from pyspark.sql.types import ArrayType, DecimalType, LongType, MapType, StructField, StructType

    def inner(each: DataType) -> DataType:
        return DecimalType(20, 0) if isinstance(each, LongType) else _with_decimals(each)

    if isinstance(kind, ArrayType):
        return ArrayType(inner(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(inner(kind.keyType), inner(kind.valueType), kind.valueContainsNull)
    if isinstance(kind, StructType):
        return StructType([StructField(each.name, inner(each.dataType), each.nullable) for each in kind.fields])
    return kind


def _integers(value: Any, kind: DataType) -> Any:
    """Convert the decimals in a value that was read with decimals instead of bigints to Python integers."""
    from pyspark.sql import Row
    from pyspark.sql.types import ArrayType, LongType, MapType, StructType

    if value is None:
        return None
    if isinstance(kind, LongType):
        return int(value)
    if isinstance(kind, ArrayType):
        return [_integers(each, kind.elementType) for each in value]
    if isinstance(kind, MapType):
        return {_integers(k, kind.keyType): _integers(v, kind.valueType) for k, v in value.items()}
    if isinstance(kind, StructType):
        fields = [each.dataType for each in kind.fields]
        if isinstance(value, dict):
            return {name: _integers(v, each) for (name, v), each in zip(value.items(), fields, strict=True)}
        return Row(*kind.names)(*(_integers(v, each) for v, each in zip(value, fields, strict=True)))
    return value
