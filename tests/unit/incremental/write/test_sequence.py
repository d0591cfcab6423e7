"""Order within a key: the SQL of the views, and the errors about rows whose order is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dbt.adapters.base.column import Column

from iceberg_incremental.errors import SequenceError
from iceberg_incremental.table.checkpoint import Deletions
from iceberg_incremental.table.history import TableName
from iceberg_incremental.table.intervals import Interval
from iceberg_incremental.write.order.deletions import deletions_table, readable, remember_sql
from iceberg_incremental.write.order.ordered import Ordered
from iceberg_incremental.write.order.sequence import (
    ERRORS,
    Flaw,
    Known,
    built_deletions_sql,
    built_sql,
    compared_sql,
    deletions_sql,
    differing_sql,
    newest_sql,
    read_sql,
)
from iceberg_incremental.write.strategies.changelog import Bound
from tests.unit.incremental import histories as h

TARGET = TableName("lake", "ops", "flights")
BESIDE = Deletions("lake.ops.flights__ip_deleted", 9)
COLUMNS = (Column("id", "int"), Column("at", "timestamp"), Column("n", "bigint"), Column("m", "map<string,int>"))
MIRROR = Ordered(COLUMNS, ("id",), ("at", "n"), has_deletions=True)
MERGED = replace(MIRROR, has_deletions=False)
KNOWN = Known(TARGET, h.snapshot(7, 6), BESIDE, (), 3)


def compared(ordered=MIRROR, **known):
    return compared_sql("`r`", ordered, replace(KNOWN, **known))


def test_a_deletion_has_key_and_sequence_with_the_tables_types():
    sql = read_sql("`c`", MIRROR, is_kept=" K ", run="ip_1_x")
    assert "cast(`id` as int) as `id`, cast(`at` as timestamp_ltz) as `at`, cast(`n` as bigint) as `n`" in sql
    assert "if(DBT_INTERNAL_IS_KEPT, `m`, null) as `m`" in sql
    assert "_change_type = 'UPDATE_BEFORE' as DBT_INTERNAL_IS_BEFORE, _change_type = 'UPDATE_AFTER' as " in sql
    assert "'ip_1_x' as DBT_INTERNAL_RUN" in sql
    assert "_change_type" not in read_sql("`c`", MERGED, is_kept="true", run="r")


def test_rows_are_ordered_by_all_sequence_columns_with_nulls_first():
    order = "order by (`at` is null or `n` is null) desc, `at` desc, `n` desc"
    for sql in (compared(), compared(MERGED), built_sql("`r`", MIRROR, "m"), built_deletions_sql("`r`", MIRROR, "m")):
        assert f"rank() over (partition by `id` {order})" in sql


def test_only_keys_and_sequence_of_the_table_are_read():
    sql = compared()
    assert "select /*+ BROADCAST(DBT_INTERNAL_CHANGED) */ DBT_INTERNAL_DEST.`id`, cast(DBT_INTERNAL_DEST.`at`" in sql
    assert "from `lake`.`ops`.`flights` VERSION AS OF 7 as DBT_INTERNAL_DEST left semi join" in sql
    assert "from `lake`.`ops`.`flights__ip_deleted` VERSION AS OF 9 as DBT_INTERNAL_DEST left semi join" in sql
    assert "DBT_INTERNAL_DEST.`m`" not in sql
    assert "VERSION AS OF" not in compared(snapshot=None, deletions=None)


def test_deletions_have_bounds_only_on_their_own_columns():
    bounds = (
        Bound("id", "DBT_INTERNAL_DEST.`id` = 1", Interval()),
        Bound("day", "DBT_INTERNAL_DEST.`day` = 2", Interval()),
    )
    sql = compared(bounds=bounds)
    assert sql.count("`id` = 1") == 2 and sql.count("`day` = 2") == 1


def test_null_is_a_key_only_in_a_changelog():
    assert "DBT_INTERNAL_DEST.`id` <=> DBT_INTERNAL_CHANGED.`id`" in compared()
    assert "DBT_INTERNAL_DEST.`id` = DBT_INTERNAL_CHANGED.`id`" in compared(MERGED)
    assert "where not (`id` is null)" in compared(MERGED) and "`id` is null" not in compared()
    assert newest_sql("`r`", "`c`", MERGED).endswith("from `r` where `id` is null")
    assert "union" not in newest_sql("`r`", "`c`", MIRROR)
    assert "union" not in built_sql("`r`", MIRROR, "m") and "union" in built_sql("`r`", MERGED, "m")


def test_a_row_is_late_if_a_row_or_a_deletion_is_newer():
    place = "struct(DBT_INTERNAL_SOURCE.`at`, DBT_INTERNAL_SOURCE.`n`)"
    deletion = "DBT_INTERNAL_KNOWN.DBT_INTERNAL_DELETION"
    assert f"{place} < DBT_INTERNAL_KNOWN.DBT_INTERNAL_ROW" in compared()
    assert f"if(DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_KEPT, {place} < {deletion}, {place} <= {deletion})" in compared()


def test_a_deletion_of_ip_changelog_has_the_sequence_of_the_row_that_it_deletes():
    assert "'deletes same'" in compared()
    assert "'deletes same'" not in compared(replace(MIRROR, deletes_same=True))


def test_rows_are_equal_if_all_columns_are_equal():
    sql = differing_sql("`c`", MIRROR, KNOWN)
    assert "any_value(`m`) as `m`" in sql
    assert "group by `id`, `at`, `n`, array_sort(transform(map_entries(`m`), " in sql
    assert "DBT_INTERNAL_DEST.`at` <=> DBT_INTERNAL_CHANGED.`at`" in sql
    assert "from `lake`.`ops`.`flights`.`branch_main` as" in sql


def test_a_row_of_a_window_replaces_a_row_with_the_same_sequence():
    assert "'same as row'" in compared(MERGED)
    assert "'same as row'" not in compared(MERGED, replaces_same=True)


def test_remembered_deletions_have_only_keys_and_sequence():
    keyed = replace(MIRROR, keys=("id", "at"))
    assert deletions_sql("`v`", keyed) == "select `id`, `at`, `n` from `v` where not DBT_INTERNAL_IS_KEPT"
    beside = deletions_table(TARGET)
    assert str(beside) == BESIDE.table
    names = ("id", "at", "n")
    first, later = (
        remember_sql(beside, TARGET, MIRROR.remembered, "select 1", before, names) for before in (None, BESIDE)
    )
    assert first.startswith("create or replace table `lake`.`ops`.`flights__ip_deleted` using iceberg tblproperties")
    assert "('ip.deletions-of' = 'lake.ops.flights') as\nselect cast(`id` as int) as `id`" in first
    assert "VERSION" not in first
    assert "union all select `id`, `at`, `n` from `lake`.`ops`.`flights__ip_deleted` VERSION AS OF 9" in later
    assert "null as `n` from" in remember_sql(beside, TARGET, MIRROR.remembered, "select 1", BESIDE, names[:2])


COMPACTION = {"added-data-files": "1", "deleted-data-files": "2", "total-data-files": "1"}


@pytest.mark.parametrize(
    ("snapshots", "readable_at"),
    [
        ([(8, None, "append"), (9, 8, "append")], 9),
        ([(9, 8, "append"), (10, 9, "replace")], 10),
        ([(10, 9, "replace")], 10),
        ([(9, None, "append"), (10, 9, "append")], 9),
        ([(11, 9, "replace"), (12, 11, "append")], 11),
        ([(9, 8, "append"), (12, None, "append")], 9),
        ([(10, 9, "append")], None),
        ([(12, None, "append")], None),
        ([], None),
    ],
    ids=[
        "head",
        "compacted",
        "compacted and expired",
        "of a failed run",
        "kept for a clone",
        "made again",
        "lost",
        "all lost",
        "empty",
    ],
)
def test_deletions_are_read_at_an_existing_snapshot(snapshots, readable_at):
    commits = [
        h.snapshot(number, parent, operation, summary=COMPACTION if operation == "replace" else h.APPEND)
        for number, parent, operation in snapshots
    ]
    found = readable(BESIDE, h.history(*commits))
    assert found == (None if readable_at is None else replace(BESIDE, snapshot_id=readable_at))


def test_an_old_version_is_a_deletion_unless_a_new_version_has_the_same_sequence():
    newest, same = "where not (DBT_INTERNAL_IS_BEFORE and DBT_INTERNAL_HAS_KEPT)", "DBT_INTERNAL_HAS_AFTER"
    assert compared().index("rank() over") < compared().index(newest)
    assert newest not in compared(MERGED) and same not in compared()
    shown = compared(replace(MIRROR, deletes_same=True))
    assert same in shown and newest in shown


def test_nested_types_are_not_written_as_types():
    """Spark does not quote the field names in such types."""
    column = Column("at", "struct<a b:int>")
    sql = read_sql("`c`", Ordered((column,), ("at",), ("at",), has_deletions=True), is_kept="K", run="r")
    assert sql.startswith("select `at` as `at`, DBT_INTERNAL_IS_KEPT")


def test_types_without_an_order():
    assert not MIRROR.without_order
    assert replace(MIRROR, sequence=("n", "m")).without_order == [("m", "map<string,int>")]


@pytest.mark.parametrize("flaw", Flaw)
def test_errors_name_the_model_the_columns_and_the_keys(flaw):
    error = ERRORS[flaw]("model.shop.mirror", ("id",), ("at", "n"), '{"id":1} (2 rows)')
    assert isinstance(error, SequenceError)
    for part in ("model.shop.mirror", "id", "at, n", '{"id":1} (2 rows)', "Expected: ", "Found: ", "To fix"):
        assert part in error.msg


def test_a_build_fails_for_rows_of_unknown_order():
    sql = built_sql("`r`", MIRROR, "model.shop.mirror")
    assert sql.count("raise_error(concat(") == 2 and "model.shop.mirror" in sql and "to_json(struct(`id`)" in sql
