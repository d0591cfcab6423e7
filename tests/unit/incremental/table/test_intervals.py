"""The range of a column's values in a file, according to its partition and metrics."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from iceberg_incremental.table.intervals import DAY_US, Interval, enclosing_interval, has_partition_values, interval_of
from tests.unit.incremental.data_files import file, long, whole


@pytest.mark.parametrize(
    ("type_", "raw", "value"),
    [
        ("int", whole(-5), -5),
        ("long", long(5_000_000_000), 5_000_000_000),
        ("long", whole(7), 7),  # the column was an int
        ("int", b"\x00", None),
        ("date", whole(-1), -1),
        ("date", long(-1), None),
        ("timestamp", long(20_000 * DAY_US + 1), 20_000 * DAY_US + 1),
        ("timestamptz", long(-20_000 * DAY_US), -20_000 * DAY_US),
        ("timestamptz", whole(-1), None),
        ("string", b"it's", "it's"),
        ("string", b"\xff\xfe", None),
        ("string", b"a" * 257, None),
        ("boolean", b"\x01", True),
        ("boolean", b"\x00", False),
        ("decimal(5, 2)", b"\xff\x85", Decimal("-1.23")),
        ("decimal(5, 2)", b"", None),
        ("decimal(38, 0)", (10**38 - 1).to_bytes(16, "big"), Decimal("9" * 38)),
        ("decimal(38, 2)", (1 - 10**38).to_bytes(16, "big", signed=True), Decimal(f"-{'9' * 36}.99")),
        ("double", long(1), None),
        ("binary", b"a", None),
    ],
)
def test_bounds_of_metrics(type_, raw, value):
    found = interval_of(file(lower={1: raw}, upper={1: raw}, nulls={1: 0}), 1, type_)
    assert (found.lower, found.upper) == (value, value)


@pytest.mark.parametrize(
    ("intervals", "hull"),
    [
        ([Interval(1, 2, False), Interval(5, 9, False)], Interval(1, 9, False)),
        ([Interval(1, 2, False), Interval(5, 9)], Interval(1, 9, True)),
        ([Interval(1, 2, False), Interval(None, 9, False)], Interval(None, 9, False)),
        ([Interval(1, 2, False), Interval(has_values=False)], Interval(1, 2, True)),
        ([Interval(has_values=False), Interval(has_values=False)], Interval(has_values=False)),
    ],
)
def test_the_enclosing_interval_contains_all_intervals(intervals, hull):
    assert enclosing_interval(intervals) == enclosing_interval(intervals[::-1]) == hull


@pytest.mark.parametrize(
    ("type_", "transform", "value", "interval"),
    [
        ("string", "identity", "eu", Interval("eu", "eu", has_nulls=False)),
        ("string", "identity", None, Interval(has_values=False)),
        ("decimal(9, 2)", "identity", Decimal("1.50"), Interval(Decimal("1.50"), Decimal("1.50"), has_nulls=False)),
        ("timestamp", "day", 3, Interval(3 * DAY_US, 4 * DAY_US - 1, has_nulls=False)),
        ("timestamptz", "hour", 25, Interval(25 * DAY_US // 24, 26 * DAY_US // 24 - 1, has_nulls=False)),
        ("date", "month", 1, Interval(31, 58, has_nulls=False)),
        ("date", "year", 30, Interval(10957, 11322, has_nulls=False)),
        ("date", "year", -2, Interval(-1096, -366, has_nulls=False)),
        ("timestamp", "day", None, Interval(has_values=False)),
        ("int", "truncate[10]", -10, Interval(-10, -1, has_nulls=False)),
        ("int", "bucket[8]", 3, Interval()),
        ("int", "bucket[8]", None, Interval()),
        ("string", "truncate[2]", "ab", Interval()),
        ("int", "void", None, Interval()),
    ],
)
def test_partition_values(type_, transform, value, interval):
    assert interval_of(file(partition=[(1, transform, value)]), 1, type_) == interval


def test_the_narrower_of_partition_and_metrics_is_used():
    low, high = 20_000 * DAY_US + 5, 20_000 * DAY_US + 6
    day = file(partition=[(1, "day", 20_000)], lower={1: long(low)}, upper={1: long(high)}, nulls={1: 0})
    assert interval_of(day, 1, "timestamp") == Interval(low, high, has_nulls=False)
    text = file(partition=[(1, "identity", "abcdef")], lower={1: b"abc"}, upper={1: b"abd"})
    assert interval_of(text, 1, "string") == Interval("abcdef", "abcdef", has_nulls=False)


def seen_by_iceberg(value):
    """Decode the bytes of a string as Iceberg does."""
    return value.decode("utf-8", errors="replace")


def bounds_in_manifest(values):
    """The bounds of a file, with at most 16 characters. The last character of a cut upper bound is incremented."""
    low, high = seen_by_iceberg(min(values))[:16], seen_by_iceberg(max(values))
    if len(high) > 16:
        high = high[:15] + chr(ord(high[15]) + 1)
    return low.encode(), high.encode()


def random_text(random_):
    parts = [b"a", b"b", b"\x7f", b"\x80", b"\xc3", b"\xff", b"\xf0\x9f", *map(str.encode, "üﾽ\ufffd\ufffe😀")]
    return b"".join(random_.choices(parts, k=random_.choice([0, 1, 2, 3, 17])))


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_strings_are_valid_for_bytes_and_for_decoded_text(seed):
    """Another file that contains a value of a changed file, with arbitrary bytes, must not be pruned."""
    random_ = random.Random(seed)
    for _ in range(500):
        changed = [random_text(random_) for _ in range(random_.choice([1, 2, 5]))]
        low, high = bounds_in_manifest(changed)
        interval = interval_of(file(lower={1: low}, upper={1: high}), 1, "string")
        value = random_.choice(changed)
        others = [random_text(random_) for _ in range(random_.choice([0, 1, 3]))]
        least, greatest = (bound.decode() for bound in bounds_in_manifest([value, *others]))
        if interval.lower is not None:
            assert interval.lower.encode() <= value
            assert interval.lower <= seen_by_iceberg(value)
            assert interval.lower <= greatest
        if interval.upper is not None:
            assert value <= interval.upper.encode()
            assert seen_by_iceberg(value) <= interval.upper
            assert least <= interval.upper


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("Amsterdam", "Amsterdam", "Amsterdam"),
        ("Zürich", "Zürich", "["),
        ("a\x7fü", "a\x7fü", "b"),
        ("ü", "ü", None),
        ("id-\ufffd", "id-", "id."),
        ("a😀b", "a", "b"),
        ("\ufffd", None, None),
    ],
)
def test_bounds_of_strings(text, lower, upper):
    for found in (
        file(lower={1: text.encode()}, upper={1: text.encode()}, nulls={1: 0}),
        file(partition=[(1, "identity", text)]),
    ):
        assert interval_of(found, 1, "string") == Interval(lower, upper, has_nulls=False)


NOON_2026 = 1_767_268_800_000_000


@pytest.mark.parametrize(
    ("low", "high", "bounds"),
    [
        (NOON_2026, NOON_2026, (NOON_2026, NOON_2026)),
        (0, NOON_2026, (0, NOON_2026)),
        (NOON_2026 // 1000, NOON_2026 // 1000, (None, None)),
        (NOON_2026 // 1000, 253_402_300_799_999, (None, None)),  # up to the end of the year 9999
        (-62_135_596_800_000, NOON_2026 // 1000, (None, None)),  # from the beginning of the year 1
        (NOON_2026 // 1000, None, (None, None)),
    ],
)
def test_times_that_may_be_in_milliseconds_are_no_bounds(low, high, bounds):
    """add_files copies the bounds of a Parquet file with times in milliseconds, as if they were microseconds."""
    lower, upper = ({} if each is None else {3: long(each)} for each in (low, high))
    for type_ in ("timestamp", "timestamptz"):
        found = interval_of(file(lower=lower, upper=upper, nulls={3: 0}), 3, type_)
        assert (found.lower, found.upper) == bounds


def test_times_before_1970_in_orc_have_no_bounds():
    """Iceberg reads times within the last second before 1970 from ORC as times in 1970."""
    for path, low, bound in (("a.orc", -1, False), ("a.orc", 0, True), ("a.parquet", -1, True)):
        each = file(path, lower={3: long(low)}, upper={3: long(NOON_2026)}, nulls={3: 0})
        assert interval_of(each, 3, "timestamptz").is_bound is bound
    by_day = file("a.orc", partition=[(3, "day", -1)])
    assert not interval_of(by_day, 3, "timestamptz").is_bound


US = 20_000 * DAY_US


@pytest.mark.parametrize(
    ("type_", "value", "lower", "upper", "nulls", "expected"),
    [
        ("string", "größe", "größe".encode(), "größe".encode(), 0, True),
        ("string", "a", b"a", b"b", 0, False),
        ("string", "A", b"a", b"a", 0, False),  # the folder of an imported file has another value than its column
        ("string", "a", b"a", b"a", 1, False),
        ("string", "a", None, None, 0, False),
        ("string", "\ufffd", "\ufffd".encode(), "\ufffd".encode(), 0, False),
        ("string", None, None, None, 10, True),
        ("string", None, b"a", b"a", 9, False),
        ("int", 5, whole(5), whole(5), 0, True),
        ("int", 5, whole(5), whole(6), 0, False),
        ("date", 5, whole(5), whole(5), 0, True),
        ("timestamp", US, long(US), long(US), 0, True),
        ("timestamp", US, long(US // 1000), long(US // 1000), 0, False),  # milliseconds
        ("boolean", False, b"\x00", b"\x00", 0, True),
        ("decimal(5, 2)", Decimal("-1.23"), b"\xff\x85", b"\xff\x85", 0, True),
        ("double", 0.0, long(0), long(0), 0, False),
    ],
)
def test_values_that_a_file_is_proven_to_contain(type_, value, lower, upper, nulls, expected):
    bounds = [{} if each is None else {1: each} for each in (lower, upper)]
    found = file("f", [(1, "identity", value), (2, "day", 7)], *bounds, nulls={1: nulls}, values={1: 10})
    assert has_partition_values(found, {1: type_}) is expected


@pytest.mark.parametrize(("values", "types"), [({}, {1: "int"}), ({1: 9}, {1: "int"}), ({1: 10}, {})])
def test_files_without_complete_metrics_prove_nothing(values, types):
    found = file("f", [(1, "identity", 5)], {1: whole(5)}, {1: whole(5)}, nulls={1: 0}, values=values)
    assert not has_partition_values(found, types)
    assert has_partition_values(file("f", [(1, "bucket[4]", 1)]), types)
