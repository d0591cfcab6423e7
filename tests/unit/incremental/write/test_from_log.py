"""The text of the SQL of a history from a log. ``functional/fuzz/test_log_versions.py`` runs the SQL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.plan.versions_config import HardDeletes, HistoryConfig
from iceberg_incremental.write.columns.table_columns import Column
from iceberg_incremental.write.versions.from_log import (
    EventRows,
    changes_sql,
    events_sql,
    hidden_sql,
    line_sql,
    sound_sql,
    versions_sql,
)
from iceberg_incremental.write.versions.statements import merge_sql
from iceberg_incremental.write.versions.versioned import UNKNOWN

COLUMNS = (Column("ID", "bigint"), Column("v", "string"), Column("m", "map<string,int>"), Column("At", "date"))


def rows(**config):
    return EventRows(HistoryConfig(("id",), sequence_by="at", **config), COLUMNS)


def test_columns_have_the_tables_spelling():
    assert (rows().keys, rows().key_types, rows().sequence, rows().time_type) == (("ID",), ("bigint",), "At", "date")


def test_a_changed_sequence_is_a_new_version_only_if_it_is_listed():
    assert [each.name for each in rows().tracked] == ["ID", "v", "m"]
    assert [each.name for each in rows(check_cols=("v", "at")).tracked] == ["v", "At"]


def test_a_missing_sequence_column_is_an_error():
    with pytest.raises(ConfigError, match="sequence_by"):
        EventRows(HistoryConfig(("id",), sequence_by="position"), COLUMNS).time_type  # noqa: B018


def test_a_deletion_has_only_key_and_sequence():
    sql = events_sql("log", rows(), "run")
    assert "cast(`ID` as bigint) as `ID`" in sql
    assert "if(DBT_INTERNAL_IS_KEPT, cast(`v` as string), null) as `v`" in sql
    assert "where" not in sql
    assert events_sql("log", rows(hard_deletes=HardDeletes.IGNORE), "run").endswith("where DBT_INTERNAL_IS_KEPT")


def test_only_rows_of_keys_with_new_events_are_read():
    def sql(changed):
        return rows().of_events("events", replace(UNKNOWN, keys=changed))

    assert "exists (select /*+ BROADCAST(DBT_INTERNAL_SOURCE) */ 1 from (select distinct `ID` from events)" in sql(3)
    assert "BROADCAST" not in sql(10**9)


def test_all_events_of_a_key_are_combined():
    sql = line_sql("events", rows(hard_deletes=HardDeletes.NEW_RECORD), "known", "(hidden)")
    assert "from known where coalesce(lower(`dbt_is_deleted`), 'false') <> 'true'" in sql
    assert "true as DBT_INTERNAL_STORED from (hidden)" in sql
    assert "known" not in line_sql("events", rows())


def test_events_without_an_order_fail():
    sql = sound_sql("line", rows())
    assert "have the same unique_key (ID) and the same sequence_by (At)" in sql
    assert "have NULL in sequence_by (At)" in sql


def test_the_times_of_versions_have_the_type_of_the_sequence():
    sql = versions_sql("placed", rows(valid_to_current="'9999-12-31'"))
    assert "coalesce(DBT_INTERNAL_END, cast('9999-12-31' as date)) as `dbt_valid_to`" in sql


def test_events_with_a_version_are_not_remembered_again():
    sql = hidden_sql("placed", rows())
    assert "where not DBT_INTERNAL_STORED and not (DBT_INTERNAL_IS_ROW and `At` = DBT_INTERNAL_LATEST)" in sql
    assert sql.startswith("select `ID`, `v`, `m`, `At`, `_change_type` from")


def test_unchanged_versions_are_left_alone():
    assert "else not DBT_INTERNAL_ALL end" in changes_sql("versions", "known", rows())
    assert "array_sort(transform(map_entries(`m`), " in changes_sql("versions", "known", rows())


def test_a_version_that_is_deleted_has_its_key():
    sql = changes_sql("versions", "known", rows())
    assert sql.startswith("select `ID` as `ID`, DBT_INTERNAL_VALUES.`v` as `v`")


def test_ids_distinguish_sequences_of_text_that_are_not_utf8():
    found = EventRows(HistoryConfig(("id",), sequence_by="v"), COLUMNS)
    assert "is_valid_utf8(min(`v`))" in versions_sql("placed", found)
    assert "is_valid_utf8" not in versions_sql("placed", rows())


def test_obsolete_versions_are_deleted_and_missing_versions_are_an_error():
    sql = merge_sql("t", "select 1", rows())
    assert "when matched and DBT_INTERNAL_SOURCE.DBT_INTERNAL_IS_GONE then delete" in sql
    assert sql.count("dbt_scd_id does not identify a version") == 2
