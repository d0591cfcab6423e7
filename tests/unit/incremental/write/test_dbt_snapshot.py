"""The statements of a dbt snapshot by what changed, and what is known of the changed keys."""

from __future__ import annotations

from iceberg_incremental.write import dbt_snapshot as sql

COLUMNS = sql.Columns(("id",), "dbt_valid_to", "dbt_scd_id", "dbt_updated_at")
UNTIL = sql.Columns(("id",), "until", "version", "updated", "to_date('9999-12-31')", "gone")


def keys(row=(3, 1, 0, 0, 1, 1_767_225_600_000_000, "4", "9"), key=("id",), types=("int",)):
    return sql.changed_keys("v_keys", key, types, row)


def test_what_a_summary_says():
    found = keys()
    assert (found.keys, found.most_came, found.nulls, found.keys_only_added) == (3, 1, 0, 1)
    assert [bound.sql for bound in found.bounds] == [
        "DBT_INTERNAL_DEST.`id` between cast('4' as int) and cast('9' as int)"
    ]


def test_keys_without_bounds():
    assert keys((0, 0, 0, 0, 0, 1, None, None)).bounds == ()
    assert keys((2, 1, 1, 0, 0, 1, "4", "9")).bounds == ()  # one of them is NULL
    assert keys((2, 1, 0, 0, 0, 1), ("ok",), ("array<int>",)).bounds == ()


def test_open_versions():
    assert COLUMNS.is_open == "DBT_INTERNAL_DEST.`dbt_valid_to` is null"
    assert UNTIL.is_open == (
        "(DBT_INTERNAL_DEST.`until` = (to_date('9999-12-31')) or DBT_INTERNAL_DEST.`until` is null)"
    )
    found = sql.open_versions_sql("t", UNTIL, keys(), ())
    assert found.startswith("select * from t as DBT_INTERNAL_DEST where (DBT_INTERNAL_DEST.`until` = ")
    assert "exists (select /*+ BROADCAST(ip_keys) */ 1 from v_keys as ip_keys where true and" in found


def test_ids_are_looked_up_where_versions_may_have_them():
    given = ("t.b", "v", COLUMNS, ["id", "dbt_scd_id"])
    assert "anti join" not in sql.insert_sql(*given, None)
    assert "left anti join (select" in sql.insert_sql(*given, "t.s")
    row = (3, 3, 2, 1, "1767225600000000", "1767225600000001")
    bound = sql.versions(COLUMNS, "timestamp", row).bound
    found = sql.insert_sql(*given, "t.s", bound)
    assert "where (`dbt_updated_at` between " in found and "or `dbt_updated_at` is null)" in found


def test_times_of_versions():
    assert "timestampadd(day, -1, min(if(" in sql.versions_sql("v", COLUMNS, "timestamp")
    assert "min(if(" in sql.versions_sql("v", COLUMNS, "date")
    assert sql.versions_sql("v", COLUMNS, "array<int>").endswith(", null, null from v")
    found = sql.versions(COLUMNS, "array<int>", (4, 3, 2, 2, None, None))
    assert (found.total, found.distinct, found.new, found.bound) == (4, 3, 2, None)


def test_ids_of_other_times():
    assert sql.other_ids_sql("t", COLUMNS, "md5(x)").endswith("where not `dbt_scd_id` <=> (md5(x)) limit 1)")
    assert "and not `gone` <=> 'True'" in sql.other_ids_sql("t", UNTIL, "md5(x)")


def test_ended_versions():
    found = sql.close_sql("t.b", "v", UNTIL, keys().bounds)
    assert "on ip_ended.`version` = DBT_INTERNAL_DEST.`version` and (DBT_INTERNAL_DEST.`until` = " in found
    assert found.endswith("when matched then update set `until` = ip_ended.`until`")
    assert "between" in found and "('update', 'delete')" in found


def test_repeated_keys_are_looked_for_in_the_whole_query_or_beside_new_rows():
    assert "where true group by `id`" in sql.repeated_sql("select * from t", ["id"])
    found = sql.repeated_sql("select * from t", ["id"], keys())
    assert "where `id` between" in found and "DBT_INTERNAL_GONE = 0" in found


def test_keys_of_several_columns_may_have_what_divides_them():
    assert "count_if(false)" in sql.repeated_sql("select * from t", ["id"])
    found = sql.repeated_sql("select * from t", ["a", "b"])
    assert "count_if(contains(string(`a`), '|') or contains(string(`b`), '|'))" in found


def test_columns_of_dbts_statements():
    assert sql.internal_columns(["a", "b"]) == (
        "dbt_change_type", "dbt_unique_key", "dbt_unique_key_1", "dbt_unique_key_2",
    )  # fmt: skip
