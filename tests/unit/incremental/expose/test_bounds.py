"""Bounds of changed files from manifests, as a predicate that keeps all rows of these files."""

from __future__ import annotations

import datetime
import random
import sqlite3
import struct
from contextlib import closing

import pytest

from iceberg_incremental.expose.bounds import bounds_sql
from iceberg_incremental.table.files import ChangedFiles, FileDifference, TableColumn
from tests.unit.incremental.data_files import file, whole

ID, DAY = TableColumn(1, "id", "int"), TableColumn(2, "day", "date")


def ids(low, high, nulls=0):
    return file(f"{low}", lower={1: whole(low)}, upper={1: whole(high)}, nulls={1: nulls}, values={1: 10})


def predicate(*files, columns=(ID, DAY), start=None, clustered_by=()):
    difference = FileDifference(at_start=files[:1], at_end=files[1:], with_other_deletes=())
    return bounds_sql(ChangedFiles(start or columns, columns, difference, clustered_by), files)


def test_nothing_is_known():
    assert bounds_sql(ChangedFiles((ID,), (ID,)), ()) is None
    assert predicate(file()) is None


def test_each_file_has_its_own_bounds():
    assert predicate(ids(1, 5), ids(7, 7)) == "(`id` >= 1 and `id` <= 5) or (`id` = 7)"


def test_a_column_without_bounds_in_one_file_is_not_used():
    assert predicate(ids(1, 5), file()) is None


def test_nulls_are_kept():
    assert predicate(ids(1, 5, nulls=2)) == "(`id` >= 1 and `id` <= 5 or `id` is null)"
    unknown = file(lower={1: whole(1)}, upper={1: whole(5)})
    assert predicate(unknown) == "(`id` >= 1 and `id` <= 5 or `id` is null)"
    only = file(nulls={1: 10}, values={1: 10})
    assert predicate(only) == "`id` is null"


def test_a_single_bound():
    assert predicate(file(lower={1: whole(3)}, nulls={1: 0})) == "`id` >= 3"


def test_a_promoted_or_new_column_is_not_used():
    assert predicate(ids(1, 5), start=(TableColumn(1, "id", "long"), DAY)) is None
    assert predicate(ids(1, 5), start=(DAY,)) is None


def test_columns_that_cluster_the_table_come_first():
    day = file(partition=[(2, "identity", 3)], lower={1: whole(1)}, upper={1: whole(9)}, nulls={1: 0, 2: 0})
    assert predicate(day, clustered_by=(2,)) == "`day` = date '1970-01-04' and `id` >= 1 and `id` <= 9"


def test_the_number_of_conditions_is_limited():
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
def test_no_condition_includes_days_between_the_changed_days(apart):
    """Ten files a day for 30 days are more files than the predicate can list separately."""
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


def test_common_conditions_are_written_once():
    """Spark evaluates the predicate for each row."""
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
        # the numbers grow with each commit, so rounding must not include those of the next commit
        ("int", 2_000_000, 2_999_999, "`id` >= 2000000 and `id` <= 2999999"),
        ("int", -2_999_999, -2_000_000, "`id` >= -2999999 and `id` <= -2000000"),
        ("int", -(2**31), 2**31 - 1, "`id` >= -2147483648 and `id` <= 2147483647"),
        ("long", -5_000, 2**63 - 1, f"`id` >= {-(2**57)} and `id` <= {2**63 - 1}"),
        ("date", 0, 4_000, "`id` >= date '1970-01-01' and `id` <= date '1980-12-14'"),
    ],
)
def test_common_bounds_are_rounded_outward(type_, lower, upper, expected):
    """Rounded bounds stay the same in later runs."""
    size = 8 if type_ == "long" else 4
    low, high = (value.to_bytes(size, "little", signed=True) for value in (lower, upper))
    columns = (TableColumn(1, "id", type_), TableColumn(2, "day", "date"))
    many = [file(partition=[(2, "identity", day)], lower={1: low}, upper={1: high}, nulls={1: 0}) for day in range(3)]
    assert predicate(*many, columns=columns).startswith(f"{expected} and (`day` in (")
    assert predicate(*many[:2], columns=columns).startswith(f"{expected} and ")


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


def test_values_and_names_are_quoted():
    evil = "x' or '1'='1"
    text = predicate(file(partition=[(1, "identity", evil)]), columns=(TableColumn(1, "a`b", "string"),))
    assert text == "`a``b` = 'x\\' or \\'1\\'=\\'1'"


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
def test_a_value_without_a_literal_is_not_used(type_, raw):
    found = file(lower={1: raw}, upper={1: raw}, nulls={1: 0})
    assert predicate(found, columns=(TableColumn(1, "c", type_),)) is None


def test_a_bound_of_a_manifest_becomes_a_literal_of_its_type():
    found = file(lower={1: b"\xff\x85"}, upper={1: b"\xff\x85"}, nulls={1: 0})
    assert predicate(found, columns=(TableColumn(1, "c", "decimal(5, 2)"),)) == "`c` = cast('-1.23' as decimal(5, 2))"
