"""The SQL of the two statements that apply a changelog, and the summary of the changes that precedes them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from dbt.adapters.base.column import Column

from iceberg_incremental.expose.groups import MOST_BROADCAST_NUMBERS
from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from iceberg_incremental.write.strategies.changelog import (
    ChangesView,
    Summary,
    delete_sql,
    repeated_sql,
    summary_of,
    summary_sql,
    useful,
    view_sql,
)
from iceberg_incremental.write.strategies.replacement import Inserted, Replacement, inserted, with_paths
from tests.unit.incremental import histories as h

LIBRARY = {**h.APPEND, "iceberg-version": "Apache Iceberg 1.12.0 (commit abc)"}
COMMIT = h.snapshot(3, 2, summary=LIBRARY)
TARGET = replace(h.history(*h.chain(2), COMMIT, properties={"write.delete.mode": "merge-on-read"}), format_version=3)
BY_SEQUENCE = inserted(TARGET, COMMIT, None, list)
BY_FILE = with_paths(inserted(replace(TARGET, format_version=2), COMMIT, None, list), ["a", "b"])
CHANGES = ChangesView("`v`", Replacement(("id",), ("int",)))
SOME = Summary(keys=9, kept=7, most_kept=1, gone=2, added=0, has_nulls=False, digest="x")
COLUMNS = [Column("id", "int"), Column("day", "date"), Column("at", "timestamp"), Column("v", "array<int>")]


def deletion(new: Inserted = BY_SEQUENCE, changes: ChangesView = CHANGES, **more: object) -> str:
    return delete_sql(new, changes, replace(SOME, **more), "model.shop.mirror")  # type: ignore[arg-type]


def test_a_deleted_row_keeps_only_its_identifying_columns():
    replacement = Replacement(("at", "id"), ("timestamp", "int"), ("day",))
    sql = view_sql("`c`", COLUMNS, replacement, is_kept="K", shows_old=False, run="ip_1_x")
    assert "cast(`id` as int) as `id`, cast(`day` as date) as `day`, cast(`at` as timestamp_ltz) as `at`" in sql
    assert "if(DBT_INTERNAL_IS_KEPT, `v`, null) as `v`" in sql
    assert "_change_type = 'INSERT' as DBT_INTERNAL_IS_NEW, 'ip_1_x' as DBT_INTERNAL_RUN" in sql


def test_with_old_rows_a_key_without_an_old_row_is_new():
    sql = view_sql("`c`", COLUMNS, CHANGES.replacement, is_kept="K", shows_old=True, run="r")
    assert "DBT_INTERNAL_IS_KEPT as DBT_INTERNAL_IS_NEW" in sql


@pytest.mark.parametrize(
    ("low", "high", "values", "bound"),
    [
        ("3", "3", 10, "`id` = cast('3' as int)"),
        ("3", "5", 10, "`id` between cast('3' as int) and cast('5' as int)"),
        ("3", "5", 9, "(DBT_INTERNAL_DEST.`id` between cast('3' as int) and cast('5' as int) or"),
        (None, None, 0, "`id` is null"),
    ],
)
def test_the_smallest_and_largest_keys_bound_the_search(low, high, values, bound):
    found = summary_of(CHANGES, (4, 3, 1, 1, 2, 10 - values, 10, "77", low, high, values))
    (only,) = found.bounds
    assert bound in only.sql
    assert (found.keys, found.kept, found.most_kept, found.gone, found.added) == (4, 3, 1, 1, 2)
    assert found.has_nulls == (values < 10)
    assert only.sql in deletion(bounds=found.bounds)


@pytest.mark.parametrize(("type_", "high"), [("double", "NaN"), ("string", "ff")])
def test_values_without_a_literal_are_not_bounds(type_, high):
    changes = ChangesView("`v`", Replacement(("k",), (type_,)))
    low = "00" if type_ == "string" else "1.0"
    assert summary_of(changes, (1, 1, 1, 0, 0, 0, 1, "7", low, high, 1)).bounds == ()


def test_columns_without_literals_are_not_queried():
    nested = ChangesView("`v`", Replacement(("k", "id"), ("struct<a:int>", "int")))
    assert summary_sql(nested).count("min(") == 2  # of `id`, once by key and once over all keys
    assert [name for name, _ in nested.bounded] == ["id"]


def test_rows_that_represent_several_copies_are_counted():
    changes = ChangesView("`v`", Replacement(("id",), ("int",)), copies="n")
    assert "coalesce(max(n), 0) from (select `id`" in summary_sql(changes)
    found = summary_of(changes, (4, 3, 1, 1, 2, 0, 10, "77", "1", "2", 10, 3))
    assert (found.most_copies, len(found.bounds)) == (3, 1)
    assert summary_of(CHANGES, (4, 3, 1, 1, 2, 0, 10, "77", "1", "2", 10)).most_copies == 1


def test_deciding_values_are_part_of_the_digest():
    changes = ChangesView("`v`", Replacement(("id",), ("int",)), deciding=("a", "b, c"))
    sql = summary_sql(changes)
    assert "bit_xor(xxhash64(a, b, c)) as DBT_INTERNAL_DECIDING" in sql
    assert "xxhash64(`id`, DBT_INTERNAL_KEPT, DBT_INTERNAL_IS_NEW, DBT_INTERNAL_DECIDING)" in sql
    assert "DBT_INTERNAL_DECIDING" not in summary_sql(replace(changes, deciding=()))


def test_fixed_columns_also_bound_the_search():
    changes = ChangesView("`v`", Replacement(("id",), ("int",), ("day",)), ("date",))
    row = (1, 1, 1, 0, 0, 0, 1, "7", "1", "1", 1, "20454", "20454", 1)
    assert summary_of(changes, row).bounds[1].sql == "DBT_INTERNAL_DEST.`day` = date '2026-01-01'"


def test_fixed_columns_are_not_bounds_if_a_deletion_lacks_them():
    changes = ChangesView("`v`", Replacement(("id",), ("int",), ("day",)), ("date",))
    row = (2, 1, 1, 1, 0, 0, 2, "7", "1", "2", 2, "20454", "20454", 1)
    assert [bound.column for bound in summary_of(changes, row).bounds] == ["id"]


@pytest.mark.parametrize(
    "other", [(5, 3, 1, 1, 2, 0, 10, "77", "1", "2", 10), (4, 3, 1, 1, 2, 0, 10, "78", "1", "2", 10)]
)
def test_summaries_of_other_changes_differ(other):
    assert summary_of(CHANGES, (4, 3, 1, 1, 2, 0, 10, "77", "1", "2", 10)) != summary_of(CHANGES, other)


def test_older_rows_are_recognized_by_lineage_or_file():
    sql = deletion()
    assert "max(cast(3 as decimal(18, 0))) as _ip_since" in sql
    assert "_last_updated_sequence_number, 0) <> DBT_INTERNAL_SOURCE._ip_since" in sql
    assert "DBT_INTERNAL_DEST._file not in ('a', 'b') and exists" in deletion(BY_FILE)


def test_without_inserted_rows_every_row_is_older():
    assert "_file" not in deletion(BY_FILE, kept=0, gone=9)
    assert "_ip_since" not in deletion(kept=0, gone=9)


@pytest.mark.parametrize("new", [BY_SEQUENCE, BY_FILE], ids=["by_sequence", "by_file"])
def test_only_an_older_row_with_a_new_key_is_an_error(new):
    """The condition uses both sides of the join. Spark would evaluate a condition on one side for more rows."""
    sql = deletion(new, added=3)
    assert sql.count("exists (") == 1
    assert "every(DBT_INTERNAL_IS_NEW) as DBT_INTERNAL_IS_NEW from `v` group by `id`" in sql
    (_, condition) = sql.split("and case when ")
    assert condition.startswith(
        "DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_NEW and DBT_INTERNAL_DEST.`id` <=> DBT_INTERNAL_SOURCE.`id` and "
    )
    assert condition.index("_file" if new is BY_FILE else "_ip_since") < condition.index("then raise_error(")
    assert condition.endswith(" else true end)")
    assert "raise_error" not in deletion(new)


def test_null_keys_are_compared_only_if_they_occur():
    assert "DBT_INTERNAL_DEST.`id` = DBT_INTERNAL_SOURCE.`id`" in deletion()
    assert "DBT_INTERNAL_DEST.`id` <=> DBT_INTERNAL_SOURCE.`id`" in deletion(has_nulls=True)
    assert "is not null" not in repeated_sql(CHANGES)


def test_too_many_keys_for_the_driver_are_not_broadcast():
    assert "BROADCAST(DBT_INTERNAL_SOURCE)" in deletion(keys=MOST_BROADCAST_NUMBERS)
    assert "BROADCAST" not in deletion(keys=MOST_BROADCAST_NUMBERS + 1)


def file(low, high, nulls=0, rows=10):
    raw = [value.to_bytes(4, "little") for value in (low, high)]
    return DataFile("f", rows, 1, lower={1: raw[0]}, upper={1: raw[1]}, nulls={1: nulls}, values={1: rows})


def table(*files):
    columns = (TableColumn(1, "id", "int"),)
    return ChangedFiles(columns, columns, FileDifference((), files, ()))


@pytest.mark.parametrize(
    ("files", "is_useful"),
    [
        ([file(0, 9), file(10, 19), file(20, 29)], True),
        ([file(0, 29), file(0, 29), file(1, 28)], False),
        ([file(0, 9), *[file(3, 30)] * 9], False),
        ([file(0, 9, nulls=10), file(10, 19)], True),
    ],
)
def test_bounds_that_exclude_few_files_are_not_used(files, is_useful):
    bounds = summary_of(CHANGES, (4, 3, 1, 1, 2, 0, 10, "77", "12", "15", 10)).bounds
    assert useful(bounds, table(*files)) == (bounds if is_useful else ())


def test_numbers_are_not_compared_with_text():
    (bound,) = summary_of(CHANGES, (4, 3, 1, 1, 2, 0, 10, "77", "12", "15", 10)).bounds
    text = (TableColumn(1, "id", "string"),)
    files = ChangedFiles(text, text, FileDifference((), (file(0x30303030, 0x39303030),), ()))
    assert useful([bound], files) == ()


def test_a_file_with_a_null_key_is_not_excluded_if_a_changed_key_is_null():
    bounds = summary_of(CHANGES, (4, 3, 1, 1, 2, 1, 10, "77", "12", "15", 9)).bounds
    assert useful(bounds, table(file(0, 9), file(20, 29, nulls=1))) == bounds
    assert useful(bounds, table(file(0, 9, nulls=1), file(20, 29, nulls=1))) == ()


def test_bounds_are_kept_if_the_files_are_unknown():
    bounds = summary_of(CHANGES, (4, 3, 1, 1, 2, 0, 10, "77", "12", "15", 10)).bounds
    assert useful(bounds, None) == bounds == useful(bounds, replace(table(), files=None))


@pytest.mark.parametrize(
    ("type_", "low", "value"),
    [("date", "-1", -1), ("timestamp", "1", 1), ("string", "61", "a"), ("decimal(5,2)", "1.50", Decimal("1.5"))],
)
def test_bounds_are_compared_in_icebergs_units(type_, low, value):
    changes = ChangesView("`v`", Replacement(("k",), (type_,)))
    (bound,) = summary_of(changes, (1, 1, 1, 0, 0, 0, 1, "7", low, low, 1)).bounds
    assert bound.interval.lower == value
