"""Net changes: when they can be read, with which method, and with which SQL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.expose.parts import Reading, readings_of
from iceberg_incremental.expose.relations import (
    changed_keys_sql,
    changelog_sql,
    changes_sql,
    signed_sql,
    uncompared_sql,
)
from iceberg_incremental.plan.changes import Rewritten, plan_changes, plan_whole
from iceberg_incremental.plan.net_changes import break_of_net, plan_net
from iceberg_incremental.plan.policy import Cause
from iceberg_incremental.plan.ranges import Counts, Kind, Range
from iceberg_incremental.spark.port import Rows
from iceberg_incremental.table.commits import keeps_row_ids
from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from tests.unit.incremental import histories as h

NAME = "`lake`.`ops`.`flights`"
COLUMNS = (TableColumn(1, "id", "int"), TableColumn(2, "v", "string"))
OLD, NEW, TOUCHED = (DataFile(path, records=10, size=100) for path in ("o.parquet", "n'w.parquet", "t.parquet"))
DIFFERENCE = FileDifference(at_start=(OLD,), at_end=(NEW,), with_other_deletes=(TOUCHED,))
LIBRARY = {"iceberg-version": "Apache Iceberg 1.12.0 (commit abc)", "engine-name": "spark"}
OTHER_ENGINE = {**LIBRARY, "engine-name": "flink"}


def bounded(path, value):
    bound = {1: value.to_bytes(4, "little")}
    return DataFile(path, records=1, size=1, lower=bound, upper=bound, nulls={1: 0})


REPEATED = FileDifference((bounded("a", 1),), (bounded("b", 2),), (), has_repeated=True)


def rewritten(**summary):
    source = h.history(*h.chain(2), h.snapshot(3, 2, "overwrite", {**h.OVERWRITE, **summary}))
    found = plan_changes(source, h.at(2), source.current)
    assert isinstance(found, Rewritten)
    return found


def net(changed, **summary):
    return plan_net(rewritten(**summary), changed)


def planned(source, start):
    found = plan_changes(source, h.at(start), source.current)
    assert isinstance(found, Range)
    return found


def test_counts_of_changed_files_and_rows():
    changed = ChangedFiles(COLUMNS, COLUMNS, DIFFERENCE)
    assert net(changed).counts == Counts(1, 3, 18, 300, at_most=True)
    assert net(changed, **{"added-records": "90"}).counts.records == 30
    merged = {f"spark.merge-into.num-target-rows-{each}": "1" for each in ("inserted", "updated", "deleted")}
    assert net(changed, **merged).counts.records == 4


def test_counts_come_from_summaries_if_the_files_are_unknown():
    planned = net(ChangedFiles(COLUMNS, COLUMNS))
    assert (planned.kind, planned.counts.files, planned.counts.records) == (Kind.NET, 2, 18)


def test_no_file_has_changed():
    planned = net(ChangedFiles(COLUMNS, COLUMNS, FileDifference((), (), ())))
    assert (planned.kind, planned.brings_rows, planned.position.snapshot_id) == (Kind.EMPTY, False, 3)


def test_the_start_must_still_exist():
    found = rewritten()
    assert break_of_net(found) is None
    expired = h.history(*found.commits)
    broken = break_of_net(replace(found, history=expired))
    assert broken is not None
    assert broken.cause is Cause.EXPIRED


@pytest.mark.parametrize(
    ("has_row_ids", "summary", "since"),
    [
        (True, LIBRARY, 2),
        (False, LIBRARY, None),
        (True, {}, None),
        (True, {**LIBRARY, "iceberg-version": "Apache Iceberg 1.10.1-amzn-0 (commit abc)"}, None),
        (True, {**LIBRARY, "iceberg-version": "Apache Iceberg 1.11.0-amzn-0 (commit abc)"}, 2),
        (True, {**LIBRARY, "iceberg-version": "Apache Iceberg 1.12.0-amzn-0 (commit abc)"}, 2),
        (True, {**LIBRARY, "iceberg-version": "Apache Iceberg 2.0.0"}, 2),
        (True, OTHER_ENGINE, None),
    ],
)
def test_row_lineage_is_used_if_it_is_reliable(has_row_ids, summary, since):
    planned = net(ChangedFiles(COLUMNS, COLUMNS, DIFFERENCE, start_has_row_ids=has_row_ids), **summary)
    assert planned.net.untouched_since == since


def test_row_lineage_is_not_used_if_files_may_have_the_ids_of_another_table():
    imported = {key: value for key, value in h.APPEND.items() if key not in h.SPARK}
    first, second = h.chain(2)
    source = h.history(
        replace(first, summary=imported), second, h.snapshot(3, 2, "overwrite", {**h.OVERWRITE, **LIBRARY})
    )
    found = plan_changes(source, h.at(2), source.current)
    assert isinstance(found, Rewritten)
    changed = ChangedFiles(COLUMNS, COLUMNS, DIFFERENCE, start_has_row_ids=True)
    assert plan_net(found, changed).net.untouched_since is None


def test_row_lineage_is_not_used_if_no_file_was_removed():
    in_place = FileDifference(at_start=(), at_end=(NEW,), with_other_deletes=(TOUCHED,))
    planned = net(ChangedFiles(COLUMNS, COLUMNS, in_place, start_has_row_ids=True), **LIBRARY)
    assert planned.net.untouched_since is None
    assert "_row_id" not in changelog_sql(planned)


def test_appends_of_new_files_lose_no_row_ids():
    assert keeps_row_ids(h.snapshot(1, None))
    assert not keeps_row_ids(h.snapshot(1, None, summary={"total-records": "2", "added-data-files": "1"}))
    assert not keeps_row_ids(h.snapshot(2, 1, "replace", h.OVERWRITE))


END, START = f"{NAME} VERSION AS OF 3", f"{NAME} VERSION AS OF 2"


def of_files(*, added=(), removed=(), kept=(), **details):
    files = FileDifference(at_start=removed, at_end=added, with_other_deletes=kept)
    return ChangedFiles(COLUMNS, COLUMNS, files, **details)


def test_one_scan_returns_added_rows_and_rows_deleted_in_place():
    sql = changes_sql(net(of_files(added=(NEW,), kept=(TOUCHED,), start_has_deletes=False), **h.SPARK))
    assert sql == (
        "(select `id`, `v` from (select `id`, `v`, sum(_ip_n) as _ip_n from (select /*+ coalesce(1) */ * from ("
        f"select `id`, `v`, if(_deleted, -1, 1) as _ip_n from {END} where (_deleted <> (_file in ('n\\'w.parquet')))"
        ")) group by `id`, `v` having sum(_ip_n) > 0)"
        " lateral view explode(sequence(1L, _ip_n)) _ip_i as _ip_i)"
    )


def test_rows_that_were_deleted_before_are_excluded():
    sql = changes_sql(net(of_files(kept=(TOUCHED,)), **h.SPARK))
    assert (
        f"(select `id`, `v`, -1 as _ip_n, _file as _ip_file, _pos as _ip_pos from {END} where (_deleted = true))"
        f" as _ip_rows left anti join (select _file as _ip_file, _pos as _ip_pos from {START} where (_deleted = true))"
        " as _ip_others on _ip_rows._ip_file = _ip_others._ip_file and _ip_rows._ip_pos = _ip_others._ip_pos" in sql
    )


def test_an_end_without_changed_files_is_not_read():
    assert END not in changes_sql(net(of_files(removed=(OLD,)), **h.SPARK))
    assert START not in changes_sql(net(of_files(added=(NEW,)), **h.SPARK))


def test_row_lineage_excludes_unchanged_rows():
    sql = changes_sql(net(of_files(added=(NEW,), removed=(OLD,), start_has_row_ids=True), **LIBRARY))
    added = f"from {END} where (_file in ('n\\'w.parquet'))"
    assert f"select `id`, `v`, 1 as _ip_n {added} and (_last_updated_sequence_number > 2)" in sql
    kept = "select shiftright(_row_id, 6), 0L, shiftleft(1L, int(_row_id & 63))"
    assert f"{kept} {added} and (_last_updated_sequence_number <= 2)" in sql
    assert "case when block is null or count_if(before <> 0) > bit_count(bit_or(before))" in sql
    lost = "count_if(kept <> 0) > bit_count(bit_or(before) & bit_or(kept))"
    assert f"{lost} then raise_error('The rows that were deleted from" in sql
    assert "select /*+ broadcast(_ip_others) */ `id`, `v`, _ip_n from" in sql


def test_only_changed_keys_are_read_if_no_row_was_moved():
    apart = net(of_files(added=(NEW,), kept=(TOUCHED,), start_has_deletes=False), **h.SPARK)
    assert changed_keys_sql(apart, ["V"]) == (
        "(select /*+ coalesce(1) */ * from ("
        f"select `v`, if(_deleted, -1, 1) as _ip_n from {END} where (_deleted <> (_file in ('n\\'w.parquet')))))"
    )
    moved = net(of_files(added=(NEW,), removed=(OLD,)), **h.SPARK)
    assert changed_keys_sql(moved, ["v"]) == changelog_sql(moved)


def test_signed_rows_are_not_compared():
    moved = net(of_files(added=(NEW,), removed=(OLD,), kept=(TOUCHED,), start_has_deletes=False), **h.SPARK)
    assert signed_sql(moved) == (
        f"(select `id`, `v`, if(_deleted, -1, 1) as _change_sign from {END} where (_deleted <> (_file in"
        f" ('n\\'w.parquet'))) union all select `id`, `v`, -1 as _change_sign from {START}"
        " where (_file in ('o.parquet')))"
    )


def test_added_and_deleted_rows_need_no_comparison():
    apart = net(of_files(added=(NEW,), kept=(TOUCHED,), start_has_deletes=False), **h.SPARK)
    assert uncompared_sql(apart, at_ends=True) == (
        "(select /*+ coalesce(1) */ * from ("
        f"select `id`, `v`, if(_deleted, -1, 1) as _change_sign from {END} where (_deleted <> (_file in"
        " ('n\\'w.parquet')))))"
    )


def test_rows_that_may_only_have_moved_are_compared():
    moved = net(of_files(added=(NEW,), removed=(OLD,)), **h.SPARK)
    assert uncompared_sql(moved, at_ends=False) is uncompared_sql(moved, at_ends=True) is None


def test_rows_of_ranges_with_intermediate_snapshots_are_compared():
    apart = net(of_files(added=(NEW,)), **h.SPARK)
    logged = replace(apart, net=replace(apart.net, has_log=True))
    segments = replace(apart, net=replace(apart.net, segments=(apart.net, apart.net)))
    for planned in (logged, segments):
        assert uncompared_sql(planned, at_ends=True) is None
        assert uncompared_sql(planned, at_ends=False) is not None


def test_rows_since_an_expired_start_are_not_compared():
    planned = net(of_files(added=(NEW,)), **h.SPARK)
    expired = replace(planned, net=replace(planned.net, start_id=None))
    assert uncompared_sql(expired, at_ends=True) == signed_sql(expired)


def test_signed_rows_of_segments_add_up():
    first, second = (net(of_files(added=(file,)), **h.SPARK) for file in (NEW, OLD))
    both = replace(first, net=replace(first.net, segments=(first.net, second.net)))
    assert signed_sql(both).count("1 as _change_sign") == 2


def test_rows_are_compared_if_too_many_files_changed():
    many = tuple(DataFile(f"{'n' * 100}{number}", records=1, size=1) for number in range(1_000))
    unnamed = net(of_files(added=many, kept=(TOUCHED,), start_has_deletes=False), **h.SPARK)
    assert "_file" not in changelog_sql(unnamed)
    assert changed_keys_sql(unnamed, ["v"]) == changelog_sql(unnamed)


def test_each_scan_has_the_bounds_of_its_own_files():
    sql = changes_sql(net(of_files(added=(bounded("b", 2),), removed=(bounded("a", 1),)), **h.SPARK))
    assert f"{END} where (_file in ('b')) and (`id` = 2)" in sql
    assert f"{START} where (_file in ('a')) and (`id` = 1)" in sql


def test_bounds_are_omitted_if_most_files_have_changed():
    changed = of_files(added=(bounded("b", 2),), removed=(bounded("a", 1),))
    few, most = (changes_sql(net(changed, **h.SPARK, **{"total-data-files": total})) for total in ("3", "2"))
    assert "(`id` = 2)" in few
    assert "`id` =" not in most


@pytest.mark.parametrize(
    ("changed", "summary"),
    [
        # a file that add_files added again also exists at the start, but the list of the start lacks its name
        (replace(of_files(removed=(bounded("a", 1),), added=(bounded("b", 2),)), files=REPEATED), h.OVERWRITE),
        # an unknown writer removed delete files, so it is unknown whether the rows are still deleted
        (of_files(removed=(bounded("a", 1),), added=(bounded("b", 2),)), {"removed-dvs": "1", "added-data-files": "1"}),
    ],
)
def test_each_scan_reads_all_files_if_they_do_not_identify_added_rows(changed, summary):
    source = h.history(*h.chain(2), h.snapshot(3, 2, "overwrite", summary))
    found = plan_changes(source, h.at(2), source.current)
    assert isinstance(found, Rewritten)
    sql = changes_sql(plan_net(found, changed))
    assert sql.count("_file in ('a', 'b')") == sql.count("(`id` >= 1 and `id` <= 2)") == 2


@pytest.mark.parametrize("summary", [{}, LIBRARY])
def test_all_scans_have_the_same_bounds_if_one_list_is_too_long(summary):
    """If only one end had a list of files, rows of other files would remain at the other end."""
    many = tuple(bounded(f"{n:0100}", 2) for n in range(2000))
    changed = ChangedFiles(COLUMNS, COLUMNS, FileDifference((bounded("a", 1),), many, ()), start_has_row_ids=True)
    sql = changes_sql(net(changed, **summary))
    assert "_file" not in sql
    assert sql.count("(`id` >= 1 and `id` <= 2)") == sql.count("VERSION AS OF")


def test_the_reported_method_is_the_chosen_one():
    class Exact:
        def rows(self, *args, **more):
            return Rows("ip_files.x")

    by_names = net(of_files(added=(NEW,), removed=(OLD,)), **h.SPARK).net
    unknown = ChangedFiles(COLUMNS, COLUMNS, None)
    assert readings_of(by_names, Exact()) == [Reading.EXACT_FILES]
    assert readings_of(by_names, None) == [Reading.FILE_NAMES]
    assert readings_of(net(unknown, **h.SPARK).net, Exact()) == [Reading.ENDS]
    expired = replace(by_names, start_id=None)
    assert readings_of(expired, Exact()) == [Reading.EXACT_FILES]
    assert readings_of(replace(by_names, segments=(by_names, by_names)), None) == [Reading.FILE_NAMES]


def test_a_changelog():
    changed = ChangedFiles(COLUMNS, COLUMNS)
    assert changelog_sql(net(changed)).startswith(
        "(select `id`, `v`, _ip_kind as _change_type from (select `id`, `v`, "
    )
    keyed = changelog_sql(net(changed), ["ID"])
    assert "min(_ip_kind) over (partition by `ID`) <> max(_ip_kind) over (partition by `ID`)" in keyed


def test_a_changelog_of_added_rows():
    source = h.history(*h.chain(3))
    whole = plan_whole(source, source.current)
    assert changelog_sql(whole) == f"(select *, 'INSERT' as _change_type from {NAME}.`snapshot_id_3`)"
    appended = changelog_sql(planned(source, 1), ["id"])
    assert appended.startswith(
        f"(select *, 'INSERT' as _change_type from ({NAME}.`branch_main` WITH (`start-snapshot-id` = '1'"
    )
    empty = changelog_sql(planned(source, 3))
    assert empty == f"(select *, 'INSERT' as _change_type from {NAME}.`snapshot_id_3` TABLESAMPLE (0 ROWS))"


def test_internal_columns_do_not_collide_with_the_tables_columns():
    columns = (TableColumn(1, "_ip_n", "int"), TableColumn(2, "_IP_I", "int"), TableColumn(3, "a`b", "float"))
    sql = changes_sql(net(ChangedFiles(columns, columns)))
    assert "sum(_ip_n_) as _ip_n_" in sql
    assert "_ip_i_ as _ip_i_" in sql
    assert "any_value(`a``b`) as `a``b`" in sql
    assert "group by `_ip_n`, `_IP_I`, `a``b`, string(`a``b`)" in sql
