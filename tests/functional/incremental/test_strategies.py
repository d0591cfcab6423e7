"""Append, merge and insert_overwrite, and their configs."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from .shop import CATALOG, FILLS_IN_COLUMNS

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
GROUPS = "select id, k, max(v) as v from {{{{ ip_changed_groups(source('raw', 'events'), {}) }}}} group by id, k"


@pytest.mark.core
def test_merge_on_two_keys_with_the_columns_that_are_chosen(shop):
    events = shop.source("events", "a int, b string, v string, w string")
    shop.model(
        "latest",
        CHANGES,
        incremental_strategy="merge",
        unique_key=["a", "b"],
        merge_exclude_columns=["w"],
    )
    shop.insert(events, "(1, 'x', 'old', 'kept')", "(1, 'y', 'other', 'kept')")
    shop.run()
    shop.insert(events, "(1, 'x', 'new', 'ignored')", "(2, 'x', 'added', 'taken')")
    shop.run()
    assert shop.rows(shop.built("latest")) == Counter(
        [(1, "x", "new", "kept"), (1, "y", "other", "kept"), (2, "x", "added", "taken")]
    )
    shop.model("latest", CHANGES, incremental_strategy="merge", unique_key=["a", "b"], merge_update_columns=["w"])
    shop.insert(events, "(2, 'x', 'ignored', 'updated')")
    shop.run()
    assert (2, "x", "added", "updated") in shop.rows(shop.built("latest"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sql", "key"),
    [
        (CHANGES, ["id"]),
        (GROUPS.format("'k'"), ["id", "k"]),
        (GROUPS.format("['id', 'k']"), ["k", "id"]),
    ],
    ids=["rows", "groups", "groups_by_the_key"],
)
def test_rows_that_were_written_before_a_table_became_v3_are_replaced(shop, sql, key):
    """They have no row lineage, which would distinguish new rows from older ones."""
    events = shop.source("events", "id int, k int, v string")
    v2 = {"format-version": "2", "write.delete.mode": "merge-on-read"}
    shop.model("latest", sql, incremental_strategy="merge", unique_key=key, tblproperties=v2)
    latest = shop.built("latest")
    shop.insert(events, "(1, 1, 'a')", "(2, 1, 'b')", "(3, 2, 'c')")
    shop.run()
    shop.sql(f"alter table {latest} set tblproperties ('format-version'='3')")
    for v in ("d", "e"):
        shop.insert(events, f"(1, 1, '{v}')")
        shop.run()
    assert shop.rows(latest, "id, k, v") == Counter([(1, 1, "e"), (2, 1, "b"), (3, 2, "c")])


def test_rows_of_another_table_s_files_are_replaced(shop, tmp_path):
    """Rows that another v3 table moved keep its sequence numbers, which mean nothing in the table that adds them."""
    v3 = {"format-version": "3", "write.delete.mode": "merge-on-read"}
    events = shop.source("events")
    shop.model("latest", CHANGES, incremental_strategy="merge", unique_key="id", tblproperties=v3)
    shop.insert(events, "(0, 'a')")
    shop.run()
    other = shop.source("others", "id int, v string", "tblproperties('format-version'='3')")
    for id_ in range(1, 7):
        shop.insert(other, f"({id_}, 'other')")
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{other}', options => map('rewrite-all', 'true'))")
    ((path,),) = shop.sql(f"select distinct _file from {other}")
    (tmp_path / "files").mkdir()
    shutil.copy(path.removeprefix("file:"), tmp_path / "files" / "moved.parquet")
    latest = shop.built("latest")
    shop.sql(
        f"call {CATALOG}.system.add_files(table => '{latest}', source_table => '`parquet`.`{tmp_path / 'files'}`')"
    )
    shop.insert(events, *(f"({id_}, 'new')" for id_ in range(7)))
    shop.run()
    assert shop.rows(latest, "id, v") == Counter([(id_, "new") for id_ in range(7)])


@pytest.mark.core
def test_merge_with_predicates(shop):
    events = shop.source("events", "id int, day date, v string")
    shop.model(
        "latest",
        CHANGES,
        incremental_strategy="merge",
        unique_key="id",
        partition_by="day",
        incremental_predicates=["DBT_INTERNAL_DEST.day >= date'2026-01-02'"],
    )
    shop.insert(events, "(1, date'2026-01-01', 'a')", "(2, date'2026-01-02', 'b')")
    shop.run()
    shop.insert(events, "(1, date'2026-01-01', 'A')", "(2, date'2026-01-02', 'B')")
    shop.run()
    assert shop.rows(shop.built("latest"), "id, v") == Counter([(1, "a"), (1, "A"), (2, "B")])


def test_a_predicate_with_or_does_not_match_rows_with_other_keys(shop):
    events = shop.source("events", "id int, day date, v string")
    config = {
        "unique_key": "id",
        "incremental_predicates": [
            "DBT_INTERNAL_DEST.day >= date'2026-01-02' or DBT_INTERNAL_DEST.day is null -- open",
            "DBT_INTERNAL_DEST.v <> 'x' or DBT_INTERNAL_DEST.v is null",
        ],
    }
    shop.model("latest", CHANGES, incremental_strategy="merge", **config)
    log = "select *, 'UPDATE_AFTER' as _change_type from {{ ip_changes(source('raw', 'events')) }}"
    shop.model("mirror", log, incremental_strategy="apply_changes", **config)
    new = "select * from {{ source('raw', 'events') }} {% if is_incremental() %} where v = 'B' {% endif %}"
    shop.model("replaced", new, materialized="incremental", incremental_strategy="delete+insert", **config)
    shop.insert(events, "(1, date'2026-01-01', 'a')", "(2, date'2026-01-02', 'b')", "(3, date'2026-01-03', 'c')")
    shop.run()
    shop.insert(events, "(2, date'2026-01-02', 'B')")
    shop.run()
    for model in ("latest", "mirror", "replaced"):
        assert shop.rows(shop.built(model), "id, v") == Counter([(1, "a"), (2, "B"), (3, "c")]), model


@pytest.mark.core
def test_a_key_that_comes_twice_in_the_changes_fails_and_nothing_is_lost(shop):
    events = shop.source("events")
    shop.model("latest", CHANGES, incremental_strategy="merge", unique_key="id")
    shop.insert(events, "(1, 'a')")
    shop.run()
    before = shop.head(shop.built("latest"))
    shop.insert(events, "(1, 'b')", "(1, 'c')")
    assert "More than one new row of model.shop.latest has the same unique_key (id)" in shop.fails()
    assert shop.head(shop.built("latest")) == before
    assert shop.branches(shop.built("latest")) == {"main"}


@pytest.mark.core
def test_insert_overwrite_replaces_the_partitions_that_the_changes_touch(shop):
    events = shop.source("events", "id int, day date")
    shop.model(
        "daily",
        """
        select day, count(*) as n from {{ ip_as_of(source('raw', 'events')) }}
        where day in (select day from {{ ip_changes(source('raw', 'events')) }})
        group by day
        """,
        incremental_strategy="insert_overwrite",
        partition_by="day",
    )
    shop.insert(events, "(1, date'2026-01-01')", "(2, date'2026-01-02')")
    shop.run()
    untouched = shop.sql(f"select _file from {shop.built('daily')} where day = date'2026-01-01'")
    shop.insert(events, "(3, date'2026-01-02')", "(4, date'2026-01-03')")
    shop.run()
    assert shop.rows(shop.built("daily"), "string(day), n") == Counter(
        [("2026-01-01", 1), ("2026-01-02", 2), ("2026-01-03", 1)]
    )
    assert shop.sql(f"select _file from {shop.built('daily')} where day = date'2026-01-01'") == untouched


@pytest.mark.core
@pytest.mark.parametrize(
    ("on_schema_change", "columns", "rows"),
    [
        pytest.param("append_new_columns", ["id", "v", "w"], [(1, "a", None), (2, None, "B")], marks=FILLS_IN_COLUMNS),
        ("sync_all_columns", ["id", "w"], [(1, None), (2, "B")]),
    ],
)
def test_on_schema_change(shop, on_schema_change, columns, rows):
    events = shop.source("events")
    shop.model("staged", CHANGES, on_schema_change=on_schema_change)
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    shop.model(
        "staged",
        "select id, upper(v) as w from {{ ip_changes(source('raw', 'events')) }}",
        on_schema_change=on_schema_change,
    )
    shop.run()
    assert [row[0] for row in shop.sql(f"show columns in {shop.built('staged')}")] == columns
    assert shop.rows(shop.built("staged")) == Counter(rows)


def test_on_schema_change_fail(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES, on_schema_change="fail")
    shop.insert(events, "(1, 'a')")
    shop.run()
    before = shop.head(shop.built("staged"))
    shop.insert(events, "(2, 'b')")
    shop.model("staged", "select id from {{ ip_changes(source('raw', 'events')) }}", on_schema_change="fail")
    assert "out of sync" in shop.fails()
    assert shop.head(shop.built("staged")) == before


def test_a_widened_type_is_synced(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES, on_schema_change="sync_all_columns")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.sql(f"alter table {events} alter column id type bigint")
    shop.insert(events, "(5000000000, 'b')")
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (5_000_000_000,)])


@pytest.mark.core
def test_table_options_hooks_docs_and_a_contract(shop):
    events = shop.source("events", "id bigint, at timestamp")
    log = shop.raw("log")
    shop.sql(f"create table {log} (line string) using iceberg")
    shop.model(
        "staged",
        CHANGES,
        partition_by=["days(at)", "bucket(4, id)"],
        tblproperties={"write.format.default": "orc", "note": "it's ${HOME} \\ fine"},
        pre_hook=f"insert into {log} values ('before')",
        post_hook=[f"insert into {log} select concat('after ', count(*)) from {{{{ this }}}}"],
        persist_docs={"relation": True, "columns": True},
        tags=["nightly"],
    )
    shop.write(
        "models/staged.yml",
        """
        version: 2
        models:
          - name: staged
            description: "it's the staged rows"
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: bigint, description: "the key", constraints: [{type: not_null}]}
              - {name: at, data_type: timestamp}
        """,
    )
    shop.insert(events, "(1, timestamp'2026-01-01 00:00:00')")
    shop.run("--select", "tag:nightly")
    shop.insert(events, "(2, timestamp'2026-01-02 00:00:00')")
    shop.run()
    staged = shop.built("staged")
    transforms = shop.sql(f"describe table {staged}")
    assert ("Part 0", "days(at)", "") in transforms
    assert ("Part 1", "bucket(4, id)", "") in transforms
    properties = shop.properties(staged)
    assert (properties["write.format.default"], properties["note"]) == ("orc", "it's ${HOME} \\ fine")
    described = {row[0]: row[1] for row in shop.sql(f"describe table extended {staged}")}
    assert described["Comment"] == "it's the staged rows"
    assert ("id", "bigint", "the key") in transforms
    assert Counter(row[0] for row in shop.sql(f"select line from {log}")) == Counter(
        ["before", "after 1", "before", "after 2"]
    )
    shop.insert(events, "(null, timestamp'2026-01-03 00:00:00')")
    before = shop.head(staged)
    assert "null" in shop.fails().lower()
    assert shop.head(staged) == before


def test_a_sql_header_is_a_statement_of_its_own(shop):
    events = shop.source("events")
    shop.write(
        "models/staged.sql",
        """
        {{ config(materialized='iceberg_incremental_snapshot') }}
        {% call set_sql_header(config) %} declare or replace variable bump int default 1 {% endcall %}
        select id + bump as id from {{ ip_changes(source('raw', 'events')) }}
        """,
    )
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    shop.run()
    assert shop.rows(shop.built("staged")) == Counter([(2,), (3,)])


def test_is_incremental(shop):
    events = shop.source("events")
    shop.model(
        "staged",
        "select id, {{ is_incremental() }} as again from {{ ip_changes(source('raw', 'events')) }}",
    )
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    shop.run()
    assert shop.rows(shop.built("staged")) == Counter([(1, False), (2, True)])
    shop.run("--full-refresh")
    assert shop.rows(shop.built("staged")) == Counter([(1, False), (2, False)])
