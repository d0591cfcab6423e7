"""The text of a history's SQL. ``functional/fuzz/test_versions.py`` runs the SQL."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from iceberg_incremental.capture.versions_run import CommitTime
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.plan.versions_config import HardDeletes, HistoryConfig
from iceberg_incremental.write.versions.from_changes import (
    HistoryRows,
    built_sql,
    delete_sql,
    events_sql,
    inserted_sql,
    versions_sql,
)
from iceberg_incremental.write.versions.statements import merge_sql
from iceberg_incremental.write.versions.versioned import UNKNOWN


@dataclass(frozen=True)
class Column:
    name: str
    dtype: str


COLUMNS = (Column("ID", "bigint"), Column("v", "string"), Column("m", "map<string,int>"))
COMMITS = (CommitTime(11, 1000), CommitTime(12, 2000))


def rows(**config):
    return HistoryRows(HistoryConfig(("id",), **config), COLUMNS, commits=COMMITS)


def versions(found, *, changed=3, compares=False):
    return versions_sql("t", "events", found, replace(UNKNOWN, keys=changed, has_nulls=False), compares=compares)


def test_keys_have_the_tables_spelling():
    assert (rows().keys, rows().key_types) == (("ID",), ("bigint",))


def test_only_valid_versions_are_read_and_written():
    for sql in (versions(rows()), merge_sql("t", "select 1", rows())):
        assert "`dbt_valid_to` is null" in sql
    end = rows(valid_to_current="to_date('9999-12-31')")
    assert "= cast(to_date('9999-12-31') as timestamp))" in versions(end)


def test_changed_versions_are_deleted_by_their_ids():
    found = delete_sql("t", "v", rows(), 3, ())
    assert found.startswith("delete from t as DBT_INTERNAL_DEST where DBT_INTERNAL_DEST.`dbt_valid_to` is null and ")
    assert "BROADCAST" in found and "DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_OLD" in found
    assert found.endswith("and DBT_INTERNAL_DEST.`ID` <=> DBT_INTERNAL_SOURCE.`ID`)")
    assert "BROADCAST" not in delete_sql("t", "v", rows(), 10**9, ())


def test_ended_versions_are_inserted_by_a_separate_query():
    ended, valid = inserted_sql("v", rows())
    assert ended.endswith("from v where not `dbt_valid_to` is null") and valid.endswith("where `dbt_valid_to` is null")


def test_versions_of_changed_keys_are_found_by_a_semi_join():
    assert "exists (select /*+ BROADCAST(DBT_INTERNAL_SOURCE) */ 1 from (select distinct `ID` from events)" in versions(
        rows()
    )
    assert "BROADCAST" not in versions(rows(), changed=10**9)
    assert "exists (select /*+" not in versions(rows(), compares=True)


def test_missing_keys_count_as_deleted_if_the_whole_source_is_compared():
    assert "not exists (select 1 from events" in versions(rows(), compares=True)
    assert "not exists" not in versions(rows(hard_deletes=HardDeletes.IGNORE), compares=True)
    assert "not exists" not in versions(rows())


def test_maps_are_compared_by_their_sorted_entries():
    entries = "named_struct('key', `_ip_0`.key, 'value', `_ip_0`.value)"
    assert f"struct(`ID`, `v`, array_sort(transform(map_entries(`m`), `_ip_0` -> {entries})))" in versions(rows())
    assert "struct(`v`) as DBT_INTERNAL_TRACKED" in versions(rows(check_cols=("V",)))


def test_check_cols_must_exist():
    with pytest.raises(ConfigError, match="check_cols"):
        versions(rows(check_cols=("w",)))


def test_ignored_deletions_are_not_events():
    assert events_sql("log", rows(hard_deletes=HardDeletes.IGNORE), "run").endswith("where DBT_INTERNAL_IS_KEPT")
    assert not events_sql("log", rows(), "run").endswith("where DBT_INTERNAL_IS_KEPT")


def test_a_first_build_has_the_times_of_its_commit():
    sql = built_sql("log", rows(hard_deletes=HardDeletes.NEW_RECORD))
    assert "timestamp_millis(array(1000L, 2000L)[cast(_commit_order as int)]) as `dbt_valid_from`" in sql
    assert "cast(null as timestamp) as `dbt_valid_to`" in sql
    assert "'False' as `dbt_is_deleted`" in sql


def test_versions_are_merged_by_their_ids_and_keys():
    sql = merge_sql("t", "select 1", rows())
    assert "`dbt_scd_id` and DBT_INTERNAL_DEST.`ID` <=> DBT_INTERNAL_SOURCE.`ID` and" in sql


def test_only_ids_of_text_distinguish_bytes_that_are_not_utf8():
    assert "is_valid_utf8" not in rows().id_at("0")
    by_text = HistoryRows(HistoryConfig(("v",)), COLUMNS, commits=COMMITS)
    assert by_text.id_at("0").endswith("coalesce(if(is_valid_utf8(`v`), null, concat('|0:', hex(`v`))), '')))")


def test_a_missing_valid_version_is_an_error():
    assert "raise_error(concat('dbt_scd_id does not identify a valid version" in merge_sql("t", "select 1", rows())
