"""Which columns a statement writes and joins on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pytest

from iceberg_incremental.errors import ConfigError, OutOfSyncError
from iceberg_incremental.plan.event_window import EventWindow
from iceberg_incremental.table.history import TableName
from iceberg_incremental.write.columns.table_columns import (
    SchemaChanges,
    key_columns,
    overwriting_values,
    require_comparable,
    require_readable,
    require_recorded_types,
    require_uncollated,
    schema_changes,
    updated_columns,
    written_columns,
)


@dataclass(frozen=True)
class Column:
    name: str
    dtype: str = "int"


ID, V, W = Column("Id"), Column("v"), Column("w`x")


def test_columns_that_both_tables_have_are_written():
    assert written_columns([Column("V"), Column("id"), Column("_change_type")], [ID, V, W]) == [ID, V]


def test_all_or_the_configured_columns_are_updated():
    assert updated_columns([ID, V, W], None, None) == [ID, V, W]
    assert updated_columns([ID, V, W], ["`w``x`"], None) == [W]
    assert updated_columns([ID, V, W], None, "ID") == [V, W]


def test_column_names_that_differ_only_in_case_are_refused():
    twins = [Column("a"), Column("A")]
    for given, target in ((twins, twins), ([Column("a")], twins)):
        with pytest.raises(ConfigError, match=r"a, A in the columns of model\.shop\.t differ only in case"):
            changes("ignore", given, target)


def test_keys_have_the_target_tables_spelling():
    assert key_columns([ID, V, W], "ID") == ["Id"]
    assert key_columns([ID, V, W], ["`w``x`", "V"]) == ["w`x", "v"]


@pytest.mark.parametrize("call", [lambda: updated_columns([ID], "v", None), lambda: key_columns([ID], ["id", "v"])])
def test_an_unknown_column_is_an_error(call):
    with pytest.raises(ConfigError, match=r"names v, [^:]*: columns of the model: Id"):
        call()


def changes(on_schema_change, given, target):
    return schema_changes(on_schema_change, given, target, TableName("lake", "ops", "t"), "model.shop.t")


@pytest.mark.parametrize(
    ("policy", "given"), [("ignore", [ID]), ("fail", [ID]), ("append_new_columns", [ID, Column("v", "struct<a: int>")])]
)
def test_no_error_offers_to_rebuild_a_history(policy, given):
    table = TableName("lake", "ops", "t")
    for keeps_history in (False, True):
        with pytest.raises(ConfigError) as raised:
            schema_changes(policy, given, [ID, V], table, "model.shop.t", keeps_history=keeps_history)
        assert ("--full-refresh" in raised.value.msg) is not keeps_history
        assert ("start another history" in raised.value.msg) is keeps_history


def test_tables_that_iceberg_cannot_read():
    require_readable([ID, Column("_FILE")], "model.shop.t", replaces_rows=False)
    for name, replaces_rows in (("_file", False), ("_row_id", True), ("_SPEC_ID", True)):
        with pytest.raises(ConfigError, match=f"Found: {name}"):
            require_readable([ID, Column(name)], "model.shop.t", replaces_rows=replaces_rows)


@pytest.mark.parametrize("policy", ["ignore", "append_new_columns", "sync_all_columns", "fail"])
def test_another_order_and_case_is_not_a_change(policy):
    assert not changes(policy, [Column("V"), Column("id"), W], [ID, V, W]).alters


def test_a_new_column_is_ignored_or_added():
    new = Column("new")
    assert changes("ignore", [ID, new], [ID]) == SchemaChanges(passed_over=["new"])
    for policy in ("append_new_columns", "sync_all_columns"):
        assert changes(policy, [ID, new], [ID]).added == [new]


def test_a_missing_column_is_an_error_or_kept_or_dropped():
    with pytest.raises(ConfigError, match="returns no value for 1 column") as caught:
        changes("ignore", [ID], [ID, V])
    for named in ("no v.", "append_new_columns", "sync_all_columns", "--full-refresh --select t"):
        assert named in str(caught.value)
    assert not changes("append_new_columns", [ID], [ID, V]).alters
    assert changes("sync_all_columns", [ID], [ID, V]).removed == [V]


def test_a_missing_and_a_new_column_may_be_a_renamed_one():
    with pytest.raises(ConfigError, match=r"\(was v renamed to new\?\)\.") as caught:
        changes("ignore", [ID, Column("new")], [ID, V])
    assert "`new as v`" in str(caught.value)
    assert "ALTER TABLE `lake`.`ops`.`t` RENAME COLUMN `v` TO `new`" in str(caught.value)
    with pytest.raises(ConfigError, match=r"no v, w`x\. The SQL returns new"):
        changes("ignore", [ID, Column("new")], [ID, V, W])


def test_a_wider_type_is_applied_if_types_are_synced():
    wide = Column("v", "bigint")
    assert changes("sync_all_columns", [ID, wide], [ID, V]).retyped == [wide]
    assert not changes("sync_all_columns", [ID, V], [ID, wide]).alters
    for policy in ("ignore", "append_new_columns"):
        with pytest.raises(ConfigError, match="v is bigint in the model and int in the table") as caught:
            changes(policy, [ID, wide], [ID, V])
        assert "on_schema_change: sync_all_columns" in str(caught.value)


def test_a_type_that_iceberg_cannot_change_is_an_error_even_if_types_are_synced():
    with pytest.raises(
        ConfigError, match="v is string in the model and int in the table, which Iceberg's ALTER"
    ) as caught:
        changes("sync_all_columns", [ID, Column("v", "string")], [ID, V])
    assert "cast in the model's SQL" in str(caught.value)


def compare(given, target, **compared):
    require_comparable(given, target, compared, TableName("lake", "ops", "t"), "model.shop.t")


def test_types_of_compared_columns_may_differ_only_in_size():
    compare([Column("ID", "smallint"), Column("v", "string")], [ID, V], unique_key="`id`", sequence_by=[])
    compare([ID], [ID, V], sequence_by=["v"])  # another check refuses columns that the SQL does not return


def test_columns_that_would_be_compared_differently_are_named_with_their_configs():
    with pytest.raises(ConfigError, match="Rows would be lost or duplicated") as caught:
        compare([Column("id", "double"), Column("V", "date"), W], [ID, V, W], unique_key=["id", "w`x"], sequence_by="v")
    for text in (
        "unique_key id is double in the model and int in the table, sequence_by V is date in the model and int",
        "cast(`id` as int)",
        "--full-refresh --select t",
    ):
        assert text in str(caught.value)


def test_compared_columns_must_exist_in_the_table():
    with pytest.raises(ConfigError, match="no column for unique_key v"):
        compare([ID, V], [ID], unique_key=["id", "v"])


def test_a_collation_is_refused_only_for_compared_columns():
    columns = [Column("k", "string collate UTF8_LCASE"), ID]
    require_uncollated(columns, {"unique_key": ["id"]}, "model.shop.t")
    with pytest.raises(ConfigError, match="unique_key k of type string collate UTF8_LCASE"):
        require_uncollated(columns, {"unique_key": ["k"]}, "model.shop.t")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([ID, V, Column("new")], "not in the table: new."),
        ([ID], "not in the model's SQL: v."),
        ([ID, Column("v", "bigint")], "of another type: v is bigint in the model and int in the table."),
        ([Column("new"), V], "not in the table: new; not in the model's SQL: Id."),
    ],
)
def test_the_error_names_columns_that_are_out_of_sync(given, said):
    with pytest.raises(OutOfSyncError, match="out of sync") as caught:
        changes("fail", given, [ID, V])
    assert f"Found: {said}" in str(caught.value)


JANUARY = EventWindow(datetime(2026, 1, 1), datetime(2026, 2, 1))  # noqa: DTZ001 (as dbt gives them)


def overwriting(partition_by="days(at)", event_time="`At`", event_times=("at",)):
    columns = [Column("id", "int"), Column("at", "timestamp")]
    return overwriting_values(
        columns, JANUARY, event_time=event_time, event_times=event_times, partition_by=partition_by, model="m"
    )


def test_a_row_outside_of_a_window_fails_when_its_event_time_is_written():
    first, second = overwriting()
    assert first == "`id`"
    assert second.startswith("case when if(typeof(`At`) = 'string', raise_error(")
    assert " then `at` else raise_error('" in second
    assert second.endswith(" end as `at`")


@pytest.mark.parametrize(
    "given", [{"partition_by": "region"}, {"partition_by": "years(at)"}, {"event_times": ["at", "other"]}]
)
def test_a_window_needs_whole_partitions_and_one_event_time(given):
    with pytest.raises(ConfigError):
        overwriting(**given)


@pytest.mark.parametrize(
    ("now", "recorded", "refused"),
    [
        ({"id": "bigint"}, {"id": "int"}, False),
        ({"id": "bigint"}, {}, False),
        ({"id": "double"}, {"id": "float"}, True),
        ({"id": "string", "at": "int"}, {"at": "string"}, True),
    ],
)
def test_types_are_also_compared_with_those_of_existing_rows(now, recorded, refused):
    if not refused:
        require_recorded_types(now, recorded, TableName("lake", "ops", "t"), "model.shop.t")
        return
    with pytest.raises(ConfigError, match="returns types that differ"):
        require_recorded_types(now, recorded, TableName("lake", "ops", "t"), "model.shop.t")
