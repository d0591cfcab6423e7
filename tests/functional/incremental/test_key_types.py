"""Types of the columns by which rows are compared: Spark's casts prove which of them may differ; all others fail."""

from __future__ import annotations

import random
from itertools import combinations

from pyspark.errors import AnalysisException

from dbt.adapters.spark_iceberg.incremental.publish.assignment import fits
from dbt.adapters.spark_iceberg.incremental.table.spark_types import compares_alike

_RANDOM = random.Random(22)


def _integers(digits: int) -> list[str]:
    """Whole numbers as SQL, of up to so many digits, and those at the ends of smaller types."""
    ends = [0, 1, 2, 9, 10, 127, 128, 32767, 32768, 16777217, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1]
    drawn = [_RANDOM.randrange(10 ** _RANDOM.randint(1, digits)) for _ in range(40)]
    listed = sorted({sign * number for number in (*ends, *drawn) for sign in (1, -1)})
    return [str(number) for number in listed if len(str(abs(number))) <= digits]


def _decimals(precision: int, scale: int) -> list[str]:
    units = _integers(precision)
    return [f"{unit}e-{scale}" for unit in units] + [f"{unit}e0" for unit in units if len(unit) <= precision - scale]


def _floats() -> list[str]:
    drawn = [repr(_RANDOM.uniform(-1, 1) * 10 ** _RANDOM.randint(-5, 20)) for _ in range(40)]
    return ["0.1", "0.5", "-0.0", "0.0", "1", "16777217", "1e30", "NaN", "Infinity", "-Infinity", *drawn]


def _times() -> list[str]:
    """Local times, among them those of New York's changes to summer time and back."""
    days = ["2026-03-08", "2026-11-01", "1969-12-31", "2026-01-01", "0001-01-01"]
    drawn = [f"{_RANDOM.randint(1, 23):02}:{_RANDOM.randint(0, 59):02}:{_RANDOM.random() * 59:09.6f}" for _ in days]
    return [f"{day} {time}" for day in days for time in ("00:00:00", "01:30:00", "02:30:00", "23:59:59.999999", *drawn)]


TEXTS = ["a", "A", "b", "1", "01", "1.0", "1.00", "+1", " 1", "9", "10", "true", "t", "2026-01-01", "2026-1-1", "", "é"]
VALUES: dict[str, list[str]] = {
    "tinyint": _integers(3),
    "smallint": _integers(5),
    "int": _integers(10),
    "bigint": _integers(19),
    "decimal(5,0)": _integers(5),
    "decimal(25,0)": _integers(25),
    "decimal(10,2)": _decimals(10, 2),
    "decimal(20,2)": _decimals(20, 2),
    "decimal(12,4)": _decimals(12, 4),
    "float": _floats(),
    "double": _floats(),
    "string": TEXTS,
    "string collate UTF8_LCASE": TEXTS,
    "binary": TEXTS,
    "boolean": ["true", "false"],
    "date": ["2026-01-01", "2026-03-08", "2026-11-01", "1969-12-31", "0001-01-01"],
    "timestamp": [*_times(), "2026-11-01 01:30:00 EST", "2026-11-01 01:30:00 EDT"],
    "timestamp_ntz": _times(),
}
"""Values of each type that Spark compares and Iceberg stores, as text that casts to it."""

BY_DECLARATION = {frozenset({"string", "binary"})}
"""Types of which every value converts exactly, which are not taken for alike: no Iceberg column takes the other."""


def _castable(session, given: str) -> list[str]:
    """The types that Spark casts a type to at all."""
    found = []
    for target in VALUES:
        try:
            session.sql(f"select try_cast(cast(null as {given}) as {target})")
        except AnalysisException as error:
            assert "DATATYPE_MISMATCH" in str(error)
        else:
            found.append(target)
    return found


def _keeping(session, given: str) -> set[str]:
    """The types in which values of a type keep order and equality, and from which they come back as they were.

    Values that are too large for the other type, for which an INSERT fails, do not count.
    """
    columns = []
    for number, target in enumerate(_castable(session, given)):
        cast = f"try_cast(v as {target})"
        places = (f"rank() over (partition by {cast} is null order by {each})" for each in ("v", cast))
        kept = f"try_cast({cast} as {given}) <=> v and {' = '.join(places)}"
        columns.append(f"if({cast} is null, null, {kept}) as `{target}`")
    values = ", ".join(f"try_cast('{text}' as {given})" for text in VALUES[given])
    kept = session.sql(f"select {', '.join(columns)} from (select explode(array({values})) as v) where v is not null")
    (row,) = kept.selectExpr(*(f"every(`{target}`)" for target in kept.columns)).collect()
    return {target for target, every in zip(kept.columns, row, strict=True) if every}


def test_types_compare_alike_where_spark_s_casts_keep_all_comparisons_both_ways(outside):
    """In both ways: what a model's SQL returned before as the one type, it may now return as the other."""
    session = outside.session.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.codegen.wholeStage", "false")  # compiling takes longer than running
    kept = {given: _keeping(session, given) for given in VALUES}
    pairs = [pair for pair in combinations(VALUES, 2) if frozenset(pair) not in BY_DECLARATION]
    proven = {(one, other) for one, other in pairs if other in kept[one] and one in kept[other]}
    assert proven == {pair for pair in pairs if compares_alike(*pair)}
    assert {("int", "bigint"), ("bigint", "decimal(25,0)"), ("decimal(10,2)", "decimal(20,2)")} <= proven


def test_types_that_are_not_alike_by_declaration_do_not_fit_each_other():
    for one, other in BY_DECLARATION:
        assert not compares_alike(one, other) and not fits(one, other) and not fits(other, one)
