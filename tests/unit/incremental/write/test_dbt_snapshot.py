"""The statements of an incremental dbt snapshot, and the summary of the changed keys."""

from __future__ import annotations

from iceberg_incremental.plan.versions_config import HardDeletes, HistoryConfig, MetaColumns
from iceberg_incremental.write.versions import dbt_snapshot as sql
from iceberg_incremental.write.versions.statements import insert_sql

COLUMNS = HistoryConfig(("id",))
UNTIL = HistoryConfig(
    ("id",),
    hard_deletes=HardDeletes.NEW_RECORD,
    valid_to_current="to_date('9999-12-31')",
    names=MetaColumns("version", "updated", "since", "until", "gone"),
)


def keys(row=(3, 1, 0, 0, 1, 1_767_225_600_000_000, "4", "9", "8", "9"), key=("id",), types=("int",)):
    return sql.changed_keys("v_keys", key, types, row)


def test_the_summary_of_changed_keys():
    found = keys()
    assert (found.keys, found.most_added, found.nulls, found.keys_only_added) == (3, 1, 0, 1)
    assert [bound.sql for bound in found.bounds] == [
        "DBT_INTERNAL_DEST.`id` between cast('4' as int) and cast('9' as int)"
    ]
    assert [bound.sql for bound in found.added_bounds] == [
        "DBT_INTERNAL_DEST.`id` between cast('8' as int) and cast('9' as int)"
    ]
    assert "string(min(`id`) filter (where DBT_INTERNAL_REMOVED = 0))" in sql.summary_sql("v", ["id"], ["int"])


def test_keys_without_bounds():
    assert keys((0, 0, 0, 0, 0, 1, None, None, None, None)).bounds == ()
    assert keys((2, 1, 1, 0, 0, 1, "4", "9", "8", "9")).bounds == ()  # one of the keys is NULL
    assert keys((2, 1, 0, 0, 0, 1), ("ok",), ("array<int>",)).bounds == ()


def test_open_versions():
    assert sql.is_open(COLUMNS) == "DBT_INTERNAL_DEST.`dbt_valid_to` is null"
    assert sql.is_open(UNTIL) == (
        "(DBT_INTERNAL_DEST.`until` is null or DBT_INTERNAL_DEST.`until` = (to_date('9999-12-31')))"
    )
    found = sql.open_versions_sql("t", UNTIL, keys(), ())
    assert found.startswith("select * from t as DBT_INTERNAL_DEST where (DBT_INTERNAL_DEST.`until` is null or ")
    assert "exists (select /*+ BROADCAST(ip_keys) */ 1 from v_keys as ip_keys where true and" in found


def test_ids_are_searched_only_in_places_where_they_may_be():
    given = ("v", COLUMNS, ["`id`", "`dbt_scd_id`", "null as `old`"])
    assert sql.new_sql(*given, None) == (
        "select `id`, `dbt_scd_id`, null as `old` from (select * from v where dbt_change_type = 'insert') as ip_new"
    )
    assert "left anti join (select" in sql.new_sql(*given, "t.s")
    times = ("1767225600000000", "1767225600000001")
    rows = [(0, 1, *times, "4", "5"), (0, 0, *times, "7", "9")]
    places = sql.places(COLUMNS, "timestamp", keys(), rows)
    found = sql.new_sql(*given, "t.s", places)
    assert "where ((`dbt_updated_at` between " in found
    assert "or `dbt_updated_at` is null) and `id` between cast('4' as int) and cast('5' as int)) or (" in found
    assert found.count("`id` between") == 2
    assert sql.new_sql(*given, "t.s", [*places, ()]) == sql.new_sql(*given, "t.s")


def test_places_of_the_ids_of_new_versions():
    found = sql.places_sql("v", COLUMNS, "timestamp", keys())
    assert "timestampadd(day, -1, min(`dbt_updated_at`))" in found
    assert "left join v_keys as ip_keys on ip_staged.`id` = ip_keys.`id` where dbt_change_type = 'insert'" in found
    assert "timestampadd" not in sql.places_sql("v", COLUMNS, "date", keys())
    assert ", null, null, string(min(`id`))" in sql.places_sql("v", COLUMNS, "array<int>", keys())
    assert len(sql.places(COLUMNS, "array<int>", keys(), [(0, 2, None, None, "4", "9")])[0]) == 1
    assert sql.places(COLUMNS, "array<int>", keys(), [(1, 2, None, None, "4", "9")]) == ((),)  # a key is NULL


def test_local_times_that_a_time_zone_skips_are_stored_as_later_ones():
    assert "timestampadd(day, -1, min(`dbt_updated_at`))" in sql.places_sql("v", COLUMNS, "timestamp_ntz", keys())


def test_staged_changes_have_the_types_of_the_table():
    """For deleted rows, dbt writes the current time to columns of another type."""
    given = [("id", "int"), ("dbt_updated_at", "timestamp"), ("dbt_change_type", "string")]
    assert sql.staged_sql("select 1", given, {"id": "int", "dbt_updated_at": "timestamp"}) == "select 1"
    assert sql.staged_sql("select 1", given, {"id": "int", "dbt_updated_at": "date"}) == (
        "select `id`, cast(`dbt_updated_at` as date) as `dbt_updated_at`, `dbt_change_type` from (\nselect 1\n)"
    )
    with_zone = sql.staged_sql("select 1", [("at", "timestamp_ntz")], {"at": "timestamp"})
    assert "cast(`at` as timestamp_ltz)" in with_zone


def test_keys_whose_text_is_ambiguous_are_not_bounds():
    times = keys((3, 1, 0, 0, 1, 1, "4", "9", "8", "9"), ("at",), ("timestamp",))
    columns = HistoryConfig(("at",))
    assert sql.places(columns, "array<int>", times, [(0, 2, None, None)]) == ((),)


def test_staged_changes_that_are_not_new_versions_end_one():
    assert sql.Versions(total=4, distinct=3, new=2, known=1).ended == 2


def test_added_keys_that_have_an_open_version():
    found = sql.versions_sql("v", COLUMNS, "o", keys())
    assert "(select count(*) from o as DBT_INTERNAL_DEST where exists (" in found
    assert "where DBT_INTERNAL_REMOVED = 0 and DBT_INTERNAL_DEST.`id` = ip_keys.`id`" in found
    none = keys((3, 1, 0, 0, 0, 1_767_225_600_000_000, "4", "9", "8", "9"))
    assert " o " not in sql.versions_sql("v", COLUMNS, "o", none)


def test_ids_of_other_times():
    assert sql.other_ids_sql("t", COLUMNS, "md5(x)").endswith("where not `dbt_scd_id` <=> (md5(x)) limit 1)")
    assert "and not `gone` <=> 'True'" in sql.other_ids_sql("t", UNTIL, "md5(x)")


def test_ended_versions():
    found = sql.close_sql("t.b", "v", UNTIL, keys().bounds)
    assert "on ip_ended.`version` = DBT_INTERNAL_DEST.`version` and (DBT_INTERNAL_DEST.`until` is null or " in found
    assert found.endswith("when matched then update set `until` = ip_ended.`until`")
    assert "between" in found and "('update', 'delete')" in found


def test_ended_versions_are_deleted_by_id_and_inserted_again():
    found = sql.delete_sql("t.b", "v", UNTIL, keys().bounds)
    assert found.startswith("delete from t.b as DBT_INTERNAL_DEST where (DBT_INTERNAL_DEST.`until` is null or ")
    assert "between" in found and "('update', 'delete')" in found
    assert found.endswith("as ip_ended where ip_ended.`version` = DBT_INTERNAL_DEST.`version`)")
    rows = sql.ended_sql("v", UNTIL, ["id", "until", "version"], "o")
    assert "DBT_INTERNAL_DEST.`id`, ip_ended.`until`, DBT_INTERNAL_DEST.`version` from o as" in rows
    assert insert_sql("t.b", ["id"], "a", "b") == "insert into t.b (`id`)\na\nunion all\nb"


def test_repeated_keys_are_searched_in_the_whole_query_or_among_new_keys():
    assert "where true group by `id`" in sql.repeated_sql("select * from t", ["id"])
    found = sql.repeated_sql("select * from t", ["id"], keys())
    assert "where `id` between cast('8' as int)" in found and "DBT_INTERNAL_REMOVED = 0" in found


def test_keys_of_several_columns_may_contain_the_separator():
    assert "count_if(false)" in sql.repeated_sql("select * from t", ["id"])
    found = sql.repeated_sql("select * from t", ["a", "b"])
    assert "count_if(contains(string(`a`), '|') or contains(string(`b`), '|'))" in found


def test_columns_of_dbts_statements():
    assert sql.internal_columns(["a", "b"]) == (
        "dbt_change_type", "dbt_unique_key", "dbt_unique_key_1", "dbt_unique_key_2",
    )  # fmt: skip
