"""What the manifests say of changed files, as a predicate that keeps all of their rows."""

from __future__ import annotations

import datetime
import random
import sqlite3
import struct
from contextlib import closing
from decimal import Decimal

import pytest

from dbt.adapters.spark_iceberg.incremental.expose.bounds import Interval, bounds_sql, interval_of
from dbt.adapters.spark_iceberg.incremental.table.changed_files import (
    ChangedFiles,
    DataFile,
    FileDifference,
    PartitionField,
    TableColumn,
)

ID, DAY = TableColumn(1, "id", "int"), TableColumn(2, "day", "date")
DAY_US = 86_400_000_000


def whole(value):
    return struct.pack("<i", value)


def long(value):
    return struct.pack("<q", value)


def file(path="f", partition=(), lower=None, upper=None, nulls=None, values=None):
    """A file with ``partition`` as (source id, transform, value) triples."""
    return DataFile(
        path,
        records=10,
        size=100,
        spec=tuple(PartitionField(1000 + i, source, how) for i, (source, how, _) in enumerate(partition)),
        partition=tuple(value for _, _, value in partition),
        lower=lower or {},
        upper=upper or {},
        nulls=nulls or {},
        values=values or {},
    )


def ids(low, high, nulls=0):
    return file(f"{low}", lower={1: whole(low)}, upper={1: whole(high)}, nulls={1: nulls}, values={1: 10})


def predicate(*files, columns=(ID, DAY), start=None, clustered_by=()):
    difference = FileDifference(at_start=files[:1], at_end=files[1:], with_other_deletes=())
    return bounds_sql(ChangedFiles(start or columns, columns, difference, clustered_by), files)


def test_nothing_is_known():
    assert bounds_sql(ChangedFiles((ID,), (ID,)), ()) is None
    assert predicate(file()) is None


def test_one_box_a_file():
    assert predicate(ids(1, 5), ids(7, 7)) == "(`id` >= 1 and `id` <= 5) or (`id` = 7)"


def test_a_column_that_one_file_does_not_bound_bounds_nothing():
    assert predicate(ids(1, 5), file()) is None


def test_nulls_are_kept():
    assert predicate(ids(1, 5, nulls=2)) == "(`id` >= 1 and `id` <= 5 or `id` is null)"
    unknown = file(lower={1: whole(1)}, upper={1: whole(5)})
    assert predicate(unknown) == "(`id` >= 1 and `id` <= 5 or `id` is null)"
    only = file(nulls={1: 10}, values={1: 10})
    assert predicate(only) == "`id` is null"


def test_one_bound_alone():
    assert predicate(file(lower={1: whole(3)}, nulls={1: 0})) == "`id` >= 3"


def test_a_promoted_or_new_column_bounds_nothing():
    assert predicate(ids(1, 5), start=(TableColumn(1, "id", "long"), DAY)) is None
    assert predicate(ids(1, 5), start=(DAY,)) is None


def test_columns_that_cluster_the_table_come_first():
    day = file(partition=[(2, "identity", 3)], lower={1: whole(1)}, upper={1: whole(9)}, nulls={1: 0, 2: 0})
    assert predicate(day, clustered_by=(2,)) == "`day` = date '1970-01-04' and `id` >= 1 and `id` <= 9"


def test_no_more_boxes_than_can_be_planned():
    text = predicate(*(ids(10 * n, 10 * n + 1) for n in range(1000)))
    assert text.count(" or ") + 1 <= 64
    for n in range(1000):
        assert any(
            int(low) <= 10 * n and 10 * n + 1 <= int(high)
            for low, high in (
                (part.split(">= ")[1].split(" ")[0], part.split("<= ")[1].rstrip(")")) for part in text.split(" or ")
            )
        )


@pytest.mark.parametrize("apart", [5, 1])
def test_no_box_spans_days_that_lie_between_the_changed_ones(apart):
    """Files of 30 days, ten a day, which are more than can be told apart."""
    days = [n * apart for n in range(30)]
    files = [
        file(partition=[(2, "identity", day)], lower={1: whole(n)}, upper={1: whole(n)}, nulls={1: 0})
        for day in days
        for n in range(day * 100, day * 100 + 10)
    ]
    text = predicate(*files, clustered_by=(2,))
    literals = [f"`day` = date '{datetime.date(1970, 1, 1) + datetime.timedelta(day)}'" for day in days]
    assert all(literal in text for literal in literals)
    assert text.count("`day` = ") == text.count("`day` ") == text.count(" or ") + 1 <= 64


def test_what_the_files_have_in_common_is_said_once():
    """Spark evaluates it for each row."""
    files = [
        file(partition=[(2, "identity", day)], lower={1: whole(day)}, upper={1: whole(999 - day)}, nulls={1: 0})
        for day in (3, 9, 27)
    ]
    days = ", ".join(f"date '1970-01-{day:02}'" for day in (4, 10, 28))
    assert predicate(*files, clustered_by=(2,)) == f"`id` >= 0 and `id` <= 999 and (`day` in ({days}))"
    names = (TableColumn(1, "name", "string"),)
    alike = [file(lower={1: low}, upper={1: high}, nulls={1: 0}) for low, high in ((b"Ab", b"Zoe"), (b"Ann", b"Yan"))]
    assert predicate(*alike, columns=names) == "`name` >= 'Ab' and `name` <= 'Zoe'"
    months = [file(partition=[(1, "identity", f"2026-{month:02}")]) for month in (1, 9)]
    assert predicate(*months, columns=names) == "`name` in ('2026-01', '2026-09')"


@pytest.mark.parametrize(
    ("type_", "lower", "upper", "expected"),
    [
        ("int", 1_003, 249_997, "`id` >= 0 and `id` <= 251903"),
        ("int", 0, 249_990, "`id` >= 0 and `id` <= 251903"),
        ("int", -7, 90, "`id` >= -7 and `id` <= 90"),
        ("int", -249_997, -1_003, "`id` >= -251904 and `id` <= -1"),
        # numbers that go up with each commit: the next one's are not to be read too
        ("int", 2_000_000, 2_999_999, "`id` >= 2000000 and `id` <= 2999999"),
        ("int", -2_999_999, -2_000_000, "`id` >= -2999999 and `id` <= -2000000"),
        ("int", -(2**31), 2**31 - 1, "`id` >= -2147483648 and `id` <= 2147483647"),
        ("long", -5_000, 2**63 - 1, f"`id` >= {-(2**57)} and `id` <= {2**63 - 1}"),
        ("date", 0, 4_000, "`id` >= date '1970-01-01' and `id` <= date '1980-12-14'"),
    ],
)
def test_bounds_that_many_files_have_in_common_are_rounded_outward(type_, lower, upper, expected):
    """So that tomorrow's statement has the same ones; not where few files may be apart from others by them."""
    size = 8 if type_ == "long" else 4
    low, high = (value.to_bytes(size, "little", signed=True) for value in (lower, upper))
    columns = (TableColumn(1, "id", type_), TableColumn(2, "day", "date"))
    many = [file(partition=[(2, "identity", day)], lower={1: low}, upper={1: high}, nulls={1: 0}) for day in range(3)]
    assert predicate(*many, columns=columns).startswith(f"{expected} and (`day` in (")
    if (type_, lower) == ("int", 1_003):
        assert "`id` >= 1003 and `id` <= 249997" in predicate(*many[:2], columns=columns)


@pytest.mark.parametrize("seed", range(40))
def test_every_row_of_the_files_is_kept(seed):
    choose = random.Random(seed)
    columns = (TableColumn(1, "a", "int"), TableColumn(2, "b", "int"))
    files, rows = [], []
    for _ in range(choose.randint(1, 90)):
        held = [
            [choose.choice((None, low, low + choose.randint(0, wide))) for _ in range(3)]
            for low, wide in ((choose.randint(-50, 50), choose.choice((0, 1, 20, 50_000))) for _ in columns)
        ]
        rows += zip(*held, strict=True)
        known = {n: [value for value in values if value is not None] for n, values in enumerate(held, 1)}
        files.append(
            file(
                lower={n: whole(min(values)) for n, values in known.items() if values},
                upper={n: whole(max(values)) for n, values in known.items() if values},
                nulls={n: 3 - len(values) for n, values in known.items()},
                values=dict.fromkeys(known, 3),
            )
        )
    where = predicate(*files, columns=columns) or "true"
    with closing(sqlite3.connect(":memory:")) as database:
        for a, b in rows:
            assert database.execute(f"select 1 from (select ? as a, ? as b) where {where}", (a, b)).fetchone()


def test_no_value_breaks_out():
    evil = "x' or '1'='1"
    text = predicate(file(partition=[(1, "identity", evil)]), columns=(TableColumn(1, "a`b", "string"),))
    assert text == "`a``b` = 'x\\' or \\'1\\'=\\'1'"


@pytest.mark.parametrize(
    ("type_", "raw", "literal"),
    [
        ("int", whole(-5), "-5"),
        ("long", long(5_000_000_000), "5000000000"),
        ("long", whole(7), "7"),
        ("date", whole(-1), "date '1969-12-31'"),
        ("timestamp", long(DAY_US + 1), "timestamp_ntz '1970-01-02 00:00:00.000001'"),
        ("timestamptz", long(-1), "timestamp_ltz '1969-12-31 23:59:59.999999+00:00'"),
        ("string", b"it's ${x}", "'it\\'s \\u0024{x}'"),
        ("long", long(-(2**63)), "(-9223372036854775807 - 1)"),
        ("date", whole(4_000_000), "date_from_unix_date(4000000)"),
        ("timestamptz", long(2**62), f"timestamp_micros({2**62})"),
        ("timestamp", long(2**62), f"timestampadd(MICROSECOND, {2**62}, timestamp_ntz '1970-01-01 00:00:00')"),
        ("boolean", b"\x01", "true"),
        ("decimal(5, 2)", b"\xff\x85", "cast('-1.23' as decimal(5, 2))"),
        ("decimal(38, 0)", (10**38 - 1).to_bytes(16, "big"), f"cast('{'9' * 38}' as decimal(38, 0))"),
        ("decimal(38, 2)", (1 - 10**38).to_bytes(16, "big", signed=True), f"cast('-{'9' * 36}.99' as decimal(38, 2))"),
    ],
)
def test_literals(type_, raw, literal):
    found = file(lower={1: raw}, upper={1: raw}, nulls={1: 0})
    assert predicate(found, columns=(TableColumn(1, "c", type_),)) == f"`c` = {literal}"


@pytest.mark.parametrize(
    ("type_", "raw"),
    [
        ("double", struct.pack("<d", 1.0)),
        ("binary", b"a"),
        ("uuid", b"a" * 16),
        ("string", b"\xff\xfe"),
        ("int", b"\x00"),
    ],
)
def test_what_has_no_literal_bounds_nothing(type_, raw):
    found = file(lower={1: raw}, upper={1: raw}, nulls={1: 0})
    assert predicate(found, columns=(TableColumn(1, "c", type_),)) is None


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


def test_metrics_are_closer_than_a_partition_by_time_and_an_identity_than_cut_strings():
    day = file(partition=[(1, "day", 0)], lower={1: long(5)}, upper={1: long(6)}, nulls={1: 0})
    assert interval_of(day, 1, "timestamp") == Interval(5, 6, has_nulls=False)
    text = file(partition=[(1, "identity", "abcdef")], lower={1: b"abc"}, upper={1: b"abd"})
    assert interval_of(text, 1, "string") == Interval("abcdef", "abcdef", has_nulls=False)


def seen_by_iceberg(value):
    """A string as Iceberg decodes its bytes."""
    return value.decode("utf-8", errors="replace")


def bounds_in_manifest(values):
    """The bounds of a file with these values: 16 characters, the last one of a cut upper bound incremented."""
    low, high = seen_by_iceberg(min(values))[:16], seen_by_iceberg(max(values))
    if len(high) > 16:
        high = high[:15] + chr(ord(high[15]) + 1)
    return low.encode(), high.encode()


def random_text(random_):
    parts = [b"a", b"b", b"\x7f", b"\x80", b"\xc3", b"\xff", b"\xf0\x9f", *map(str.encode, "üﾽ\ufffd\ufffe😀")]
    return b"".join(random_.choices(parts, k=random_.choice([0, 1, 2, 3, 17])))


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_strings_hold_whether_bytes_or_what_iceberg_reads_of_them_are_compared(seed):
    """A changed file with any bytes, and another file that holds one of its values: it must not be pruned."""
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


def test_times_before_1970_in_orc_have_no_bounds():
    """Iceberg reads a fraction of the last second before 1970 from ORC as one of 1970."""
    for path, low, bound in (("a.orc", -1, False), ("a.orc", 0, True), ("a.parquet", -1, True)):
        each = file(path, lower={3: long(low)}, upper={3: long(5)}, nulls={3: 0})
        assert interval_of(each, 3, "timestamptz").is_bound is bound
    by_day = file("a.orc", partition=[(3, "day", -1)])
    assert not interval_of(by_day, 3, "timestamptz").is_bound
