"""Kinds of values: types and literals of columns. No expression fails, and no result depends on an order.

Numbers are small, and doubles are multiples of 0.5, so that sums are exact in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The generator's classification of a value.

    NUMSTR, DATESTR: strings that can be cast. RATIO: a double that must not be added. SPARE: a string whose column may
    be renamed, so that only stars read it.
    """

    INT = "int"
    DEC = "dec"
    DBL = "dbl"
    RATIO = "ratio"
    STR = "str"
    NUMSTR = "numstr"
    DATE = "date"
    DATESTR = "datestr"
    TS = "ts"
    BOOL = "bool"
    INTS = "ints"
    INFO = "info"
    ATTRS = "attrs"
    ITEMS = "items"
    SPARE = "spare"

    def __repr__(self) -> str:
        return self.name


SCALARS = (Kind.INT, Kind.DEC, Kind.DBL, Kind.STR, Kind.NUMSTR, Kind.DATE, Kind.DATESTR, Kind.TS, Kind.BOOL)
ORDERED = (*SCALARS, Kind.RATIO, Kind.INTS, Kind.INFO, Kind.ITEMS, Kind.SPARE)
"""Kinds that can be sorted and grouped by: all except maps."""


@dataclass(frozen=True)
class Column:
    """A column of a query or a table, under its original name."""

    name: str
    kind: Kind


TYPES: dict[Kind, tuple[str, ...]] = {
    Kind.INT: ("int", "int", "bigint"),
    Kind.DEC: ("decimal(10,2)", "decimal(18,4)", "decimal(30,2)"),
    Kind.DBL: ("double", "double", "float"),
    Kind.STR: ("string",),
    Kind.NUMSTR: ("string",),
    Kind.DATE: ("date",),
    Kind.DATESTR: ("string",),
    Kind.TS: ("timestamp", "timestamp", "timestamp_ntz"),
    Kind.BOOL: ("boolean",),
    Kind.INTS: ("array<int>",),
    Kind.INFO: ("struct<a: int, b: string>",),
    Kind.ATTRS: ("map<string, int>",),
    Kind.ITEMS: ("array<struct<a: int, b: string>>",),
    Kind.SPARE: ("string",),
}

LITERALS: dict[Kind, tuple[str, ...]] = {
    Kind.INT: ("0", "1", "2", "3", "4", "5", "7", "9", "-1", "-3", "12", "40"),
    Kind.DEC: ("0.00", "1.50", "-2.25", "10.00", "10.10", "3.00", "99.99"),
    Kind.DBL: ("0.0D", "-0.0D", "1.5D", "-2.0D", "3.5D", "double('NaN')", "double('Infinity')", "double('-Infinity')"),
    Kind.RATIO: ("0.0D", "1.5D"),
    Kind.STR: (
        "'a'",
        "'A'",
        "'b'",
        "'B '",
        "' b'",
        "''",
        "'ab c'",
        "'it''s'",
        "'x%y'",
        "'Zoë'",
        "'nULL'",
        "'today'",
        "'now'",
    ),
    Kind.NUMSTR: ("'0'", "'1'", "'2'", "'03'", "'7'", "'12'"),
    Kind.DATE: (
        "date '2026-01-01'",
        "date '2026-01-02'",
        "date '2026-01-31'",
        "date '2026-02-01'",
        "date '2025-12-31'",
    ),
    Kind.DATESTR: ("'2026-01-01'", "'2026-01-02'", "'2026-02-01'", "'2025-12-31'"),
    Kind.TS: (
        "timestamp '2026-01-01 00:00:00'",
        "timestamp '2026-01-01 23:30:00'",
        "timestamp '2026-02-01 00:00:00.000001'",
        "timestamp '2026-03-29 02:30:00'",
        "timestamp '2026-10-25 02:30:00'",
    ),
    Kind.BOOL: ("true", "false"),
    Kind.INTS: ("array(1, 2)", "array(2, 1, 1)", "array(3, null)", "array()", "array(0)"),
    Kind.INFO: (
        "named_struct('a', 1, 'b', 'x')",
        "named_struct('a', 2, 'b', cast(null as string))",
        "named_struct('a', cast(null as int), 'b', 'x')",
        "named_struct('a', 1, 'b', 'y')",
    ),
    Kind.ATTRS: ("map('p', 1)", "map('p', 2, 'q', 1)", "map('q', 1, 'p', 2)", "map('p', 3)", "map('q', 0)"),
    Kind.ITEMS: (
        "array(named_struct('a', 1, 'b', 'x'), named_struct('a', 2, 'b', 'y'))",
        "array(named_struct('a', 1, 'b', 'x'))",
        "array(named_struct('a', cast(null as int), 'b', 'z'))",
    ),
    Kind.SPARE: ("'u'",),
}
"""Values in SQL. Columns compare as in GROUP BY: -0.0 equals 0.0, NaN equals NaN, and maps have no order."""

SMALL_INTS = ("1", "2", "3", "-1")
