"""A capture lists data files with exactly the rows of its SQL, or no files at all."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa
import pytest

from iceberg_incremental.command.documents import Omitted

from .lake import Lake

READ = "union_by_name = true, hive_partitioning = false"
MERGE_ON_READ = "tblproperties ('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')"


def captured(lake, *options):
    """The source as it was captured. The run is aborted."""
    answer = lake.capture(*options)
    assert answer.code == 0, answer.said
    lake.abort(answer)
    (source,) = answer.document["sources"]
    return source


def by_sql(lake, source):
    columns = ", ".join(source["columns"])
    return Counter(lake.sql(f"select {columns} from ({source['sql']})"))


def by_files(source):
    files, columns = [file["path"] for file in source["files"]], ", ".join(source["columns"])
    return Counter(duckdb.sql(f"select {columns} from read_parquet({files!r}, {READ})").fetchall())


def assert_exact(lake, *options, rows=None):
    source = captured(lake, *options)
    assert source["files_omitted"] is None
    assert by_files(source) == by_sql(lake, source)
    assert sum(file["records"] for file in source["files"]) == sum(by_files(source).values())
    if rows is not None:
        assert by_files(source) == Counter(rows)


def assert_omitted(lake, why, *options, rows=None):
    source = captured(lake, *options)
    assert (source["files"], source["files_omitted"]) == (None, why.value)
    if rows is not None:
        assert by_sql(lake, source) == Counter(rows)


@pytest.fixture
def merged(outside, warehouse, tmp_path):
    return Lake(outside.session, warehouse, tmp_path, MERGE_ON_READ)


def test_files_of_a_whole_table(lake):
    lake.insert((1, "a"), (2, "b"))
    lake.sql("delete from {s} where id = 1")  # copy-on-write: the file is replaced
    lake.insert((3, "c"))
    assert_exact(lake, rows=[(2, "b"), (3, "c")])


def test_a_whole_table_with_delete_files(merged):
    merged.insert((1, "a"), (2, "b"))
    merged.sql("delete from {s} where id = 1")
    assert_omitted(merged, Omitted.DELETE_FILES, rows=[(2, "b")])


@pytest.mark.core
def test_files_of_appends_around_a_compaction(lake):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    lake.compact(lake.source)
    lake.insert((3, "c"))
    assert_exact(lake, rows=[(2, "b"), (3, "c")])


@pytest.mark.parametrize("is_whole_file", [True, False])
def test_rows_that_were_added_and_deleted_within_the_range(lake, is_whole_file):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    lake.insert((3, "c")) if is_whole_file else lake.insert((3, "c"), (4, "d"))
    lake.sql("delete from {s} where id = 3")
    assert_exact(lake, rows=[(2, "b")] if is_whole_file else [(2, "b"), (4, "d")])


def test_an_expiry_by_pyiceberg_within_the_range(lake):
    """The first snapshot that is left loses its parent. Older metadata files still have it."""
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    lake.insert((3, "c"))
    table = lake.iceberg(lake.source)
    table.maintenance.expire_snapshots().by_ids([each.snapshot_id for each in table.metadata.snapshots[:-1]]).commit()
    assert by_sql(lake, captured(lake)) == Counter([(2, "b"), (3, "c")])


def test_rows_that_were_deleted_in_place_within_the_range(merged):
    merged.insert((1, "a"))
    merged.run()
    merged.insert((2, "b"), (3, "c"))
    merged.sql("delete from {s} where id = 3")
    assert_omitted(merged, Omitted.DELETE_FILES, rows=[(2, "b")])


def test_an_overwrite_that_only_adds(lake):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    lake.sql("merge into {s} t using (select 3 as id, 'c' as v) n on t.id = n.id when not matched then insert *")
    assert_exact(lake, rows=[(2, "b"), (3, "c")])


@pytest.mark.parametrize("table", ["lake", "merged"])
def test_changed_rows(table, request):
    lake = request.getfixturevalue(table)
    lake.insert((1, "a"), (2, "b"))
    lake.run()
    lake.sql("update {s} set v = 'B' where id = 2")
    lake.insert((3, "c"))
    assert_omitted(lake, Omitted.CHANGED_ROWS, "--on-source-rewrite=upserts", rows=[(2, "B"), (3, "c")])
    assert_exact(lake, "--on-source-rewrite=ignore", rows=[(3, "c")])
    lake.insert((4, "d"), (5, "e"))
    lake.sql("delete from {s} where id = 5")  # the policy reads appended rows as they were when they were appended
    assert_exact(lake, "--on-source-rewrite=ignore", rows=[(3, "c"), (4, "d"), (5, "e")])


def test_a_column_that_was_added(lake):
    lake.insert((1, "a"))
    lake.sql("alter table {s} add column w int")
    lake.sql("insert into {s} values (2, 'b', 20)")
    assert_exact(lake, rows=[(1, "a", None), (2, "b", 20)])


@pytest.mark.parametrize(
    "changes",
    [
        ["alter table {s} rename column v to w"],
        ["alter table {s} drop column v", "alter table {s} add column v string"],
        ["alter table {s} add column w int", "alter table {s} alter column w type bigint"],
    ],
)
def test_columns_that_differ_between_files(lake, changes):
    lake.insert((1, "a"))
    for change in changes:
        lake.sql(change)
    lake.sql("insert into {s} select * from {s}")
    assert_omitted(lake, Omitted.COLUMNS)


def test_a_column_that_was_dropped(lake):
    lake.insert((1, "a"))
    lake.sql("alter table {s} drop column v")
    lake.sql("insert into {s} values (2)")
    assert_exact(lake, rows=[(1,), (2,)])


def test_partitioned_files_have_their_columns(outside, warehouse, tmp_path):
    lake = Lake(outside.session, warehouse, tmp_path, "partitioned by (v)")
    lake.insert((1, "a"), (2, "b/c"))
    lake.sql("insert into {s} values (3, null)")  # the folder is v=null
    assert_exact(lake, rows=[(1, "a"), (2, "b/c"), (3, None)])


@pytest.mark.core
def test_partitioned_files_that_pyiceberg_wrote(outside, warehouse, tmp_path):
    """PyIceberg's commits do not state whether their files were written or imported."""
    lake = Lake(outside.session, warehouse, tmp_path, "partitioned by (v)")
    rows = {"id": [1, 2, 3, 4], "v": ["a", "b/ü", None, "a"]}
    lake.iceberg(lake.source).append(pa.table(rows, pa.schema({"id": pa.int64(), "v": pa.string()})))
    written = [(1, "a"), (2, "b/ü"), (3, None), (4, "a")]
    assert_exact(lake, rows=written)
    lake.run()
    lake.iceberg(lake.source).append(pa.table({"id": [5], "v": ["c"]}))
    assert_exact(lake, rows=[(5, "c")])
    lake.iceberg(lake.source).append(pa.table({"id": [6], "v": ["more than 16 characters"]}))
    assert_omitted(lake, Omitted.IMPORTED, rows=[(5, "c"), (6, "more than 16 characters")])  # the bounds are cut off


def test_column_names_that_differ_in_files(lake):
    lake.sql("drop table {s}")
    lake.sql("create table {s} (id bigint, `v w` string) using iceberg")
    lake.sql("insert into {s} values (1, 'a')")
    assert_omitted(lake, Omitted.COLUMNS)


@pytest.mark.parametrize("in_file", [None, "A"])
def test_files_that_were_imported_may_lack_partition_columns(outside, warehouse, tmp_path, in_file):
    """They may also have other values than their folder, which Iceberg reads."""
    lake = Lake(outside.session, warehouse, tmp_path, "partitioned by (v)")
    folder = tmp_path / "imported"
    columns = "cast(1 as bigint) as id" if in_file is None else f"cast(1 as bigint) as id, '{in_file}' as v"
    lake.session.sql(f"select {columns}").coalesce(1).write.parquet(f"{folder}/v=a")
    lake.session.sql(
        f"call lakehouse.system.add_files(table => '{lake.source}', source_table => '`parquet`.`{folder}`')"
    )
    assert_omitted(lake, Omitted.IMPORTED, rows=[(1, "a")])


def test_other_formats(outside, warehouse, tmp_path):
    lake = Lake(outside.session, warehouse, tmp_path, "tblproperties ('write.format.default' = 'avro')")
    lake.insert((1, "a"))
    assert_omitted(lake, Omitted.NOT_PARQUET, rows=[(1, "a")])


def test_a_changelog_and_a_whole_table(lake):
    lake.insert((1, "a"), (2, "b"))
    lake.run()
    lake.sql("delete from {s} where id = 1")
    answer = lake.command("capture", f"--target={lake.target}", f"--changelog={lake.source}", f"--as-of={lake.source}")
    changelog, whole = answer.document["sources"]
    assert changelog["files_omitted"] == Omitted.CHANGELOG.value
    assert lake.sql(f"select id, _change_type from ({changelog['sql']})") == [(1, "DELETE")]
    assert by_files(whole) == by_sql(lake, whole) == Counter([(2, "b")])


def test_the_changes_of_each_commit(lake):
    lake.insert((1, "a"), (2, "b"))
    lake.run()
    lake.insert((3, "c"))
    lake.sql("delete from {s} where id in (1, 3)")
    answer = lake.command("capture", f"--target={lake.target}", f"--changelog-per-commit={lake.source}")
    (changelog,) = answer.document["sources"]
    assert (changelog["read"], changelog["files_omitted"]) == ("changelog_per_commit", Omitted.CHANGELOG.value)
    found = lake.sql(f"select id, _change_type, _commit_order from ({changelog['sql']})")
    assert sorted(found) == [(1, "DELETE", 1), (3, "DELETE", 1), (3, "INSERT", 0)]
