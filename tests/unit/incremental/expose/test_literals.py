"""Values of Iceberg's types as SQL literals."""

from __future__ import annotations

from decimal import Decimal

import pytest

from iceberg_incremental.expose.literals import has_literals, sql_type, typed_literal
from iceberg_incremental.table.intervals import DAY_US


@pytest.mark.parametrize(
    ("type_", "value", "literal"),
    [
        ("int", -5, "-5"),
        ("long", 5_000_000_000, "5000000000"),
        ("long", -(2**63), "(-9223372036854775807 - 1)"),
        ("date", -1, "date '1969-12-31'"),
        ("date", 4_000_000, "date_from_unix_date(4000000)"),
        ("timestamp", DAY_US + 1, "timestamp_ntz '1970-01-02 00:00:00.000001'"),
        ("timestamp", 2**62, f"timestampadd(MICROSECOND, {2**62}, timestamp_ntz '1970-01-01 00:00:00')"),
        ("timestamptz", -1, "timestamp_ltz '1969-12-31 23:59:59.999999+00:00'"),
        ("timestamptz", 2**62, f"timestamp_micros({2**62})"),
        ("string", "it's ${x}", "'it\\'s \\u0024{x}'"),
        ("boolean", True, "true"),
        ("decimal(5, 2)", Decimal("-1.23"), "cast('-1.23' as decimal(5, 2))"),
        ("decimal(38, 0)", Decimal("9" * 38), f"cast('{'9' * 38}' as decimal(38, 0))"),
    ],
)
def test_literals(type_, value, literal):
    assert has_literals(type_)
    assert typed_literal(value, type_) == literal


@pytest.mark.parametrize("type_", ["float", "double", "binary", "uuid", "fixed[16]", "time"])
def test_types_without_literals(type_):
    assert not has_literals(type_)


def test_types_of_spark():
    types = ["long", "timestamp", "timestamptz", "decimal( 9,2 )"]
    assert [sql_type(type_) for type_ in types] == ["bigint", "timestamp_ntz", "timestamp_ltz", "decimal(9, 2)"]
