"""Columns of sources and of the model's table that are renamed, swapped, or dropped and added again."""

from __future__ import annotations

import pytest

from .test_auto import Auto

SWAPPED = ["rename column id to x", "rename column k to id", "rename column x to k"]
RENAMED = ["rename column id to number"]
ADDED_AGAIN = ["drop column v", "add column v string"]
QUERIES = {
    "copied": "select id, k, v from {numbers}",
    "filtered": "select id, v from {numbers} where id = 5 or k = 101",
    "matched": "select n.id, n.v from {numbers} n join {names} m on n.id = m.id where m.name = 'five'",
}
OWN_FILTER = "select id, v from {{{{ ip_as_of(source('raw', 'numbers')) }}}} as n where {condition}"


@pytest.fixture
def auto(shop):
    numbers = shop.source("numbers", "id int, k int, v string")
    names = shop.source("names", "id int, name string")
    # Joins of partition columns can skip files when they are executed. The names of the fields do not stop a rename.
    shop.sql(f"alter table {numbers} add partition field id as by_id")
    shop.sql(f"alter table {numbers} add partition field k as by_k")
    shop.insert(names, "(5, 'five')", "(9, 'nine')")
    for number in range(5, 9):
        shop.insert(numbers, f"({number}, {number + 95}, 'a{number}')")
    return Auto(shop, {"numbers": numbers, "names": names})


def rows(auto, sql):
    return auto.shop.rows(f"({sql.format(**auto.tables)})")


@pytest.mark.core("swapped")
@pytest.mark.parametrize("alter", [SWAPPED, RENAMED, ADDED_AGAIN], ids=["swapped", "renamed", "added_again"])
def test_a_source_with_pending_commits(auto, alter):
    """Iceberg prunes the newest snapshot by the present names. The rows have the names of the snapshot."""
    for name, sql in QUERIES.items():
        auto.model(name, sql, rebuild_above=1, **({"unique_key": "id"} if name == "copied" else {}))
    conditions = {"by_id": "id = 5", "by_k": "k = 100"}
    for name, condition in conditions.items():
        auto.shop.model(name, OWN_FILTER.format(condition=condition), incremental_strategy="merge", unique_key="id")
    auto.shop.run()
    auto.change("update {numbers} set v = 'b' where id = 5", "delete from {numbers} where id = 8")
    queries = {**QUERIES, **{name: f"select id, v from {{numbers}} where {each}" for name, each in conditions.items()}}
    expected = {name: rows(auto, sql) for name, sql in queries.items()}
    auto.change(*(f"alter table {{numbers}} {each}" for each in alter))
    for arguments in ([], ["--full-refresh"]):
        auto.shop.run(*arguments)
        assert {name: auto.shop.rows(auto.shop.built(name)) for name in queries} == expected
    if alter is not RENAMED:
        auto.change("insert into {numbers} (id, k, v) values (5, 100, 'd'), (105, 10, 'e')")
        auto.shop.run("--select", *QUERIES)
        for name, sql in QUERIES.items():
            assert auto.differs(name, sql) == [[], []], name


@pytest.mark.core("added_again")
@pytest.mark.parametrize(
    ("reader", "alter"),
    [
        ("auto", ["drop column v", "add column v string"]),
        ("auto", ["drop column s.f", "add column s.f int"]),
        ("auto", ["drop column v"]),
        ("auto", ["rename column a to x", "rename column b to a", "rename column x to b"]),
        ("spark", ["rename column a to x", "rename column b to a", "rename column x to b"]),
    ],
    ids=["added_again", "field_added_again", "dropped", "swapped", "read_by_spark"],
)
def test_the_table_was_altered_by_hand(auto, reader, alter):
    """Also if no source has new rows, and if the commit of the newest run has expired."""
    auto.shop._target["metadata_reader"] = reader
    auto.shop.configure({})
    sql = "select id, v, id as a, k as b, named_struct('e', 1, 'f', k) as s from {numbers}"
    config = {"on_schema_change": "append_new_columns"} if alter == ["drop column v"] else {}
    auto.model("copied", sql, rebuild_above=1, unique_key="id", **config)
    auto.shop.run()
    table = auto.shop.built("copied")
    for change in ([], ["update {numbers} set v = 'b' where id = 5"]):
        for each in alter:
            auto.shop.sql(f"alter table {table} {each}")
        if change and reader == "auto":  # Spark cannot read older metadata files
            compact = "rewrite_data_files(table => '{}', options => map('rewrite-all', 'true'))"
            expire = "expire_snapshots(table => '{}', retain_last => 1, older_than => timestamp '2999-01-01 00:00:00')"
            for call in (compact, expire):
                auto.shop.sql(f"call lakehouse.system.{call.format(table)}")
        auto.change(*change)
        found = auto.shop.run()
        assert ("on_schema_change alters its columns" if config else "its columns have changed") in found.printed
        columns = "id, v, a, b, s"
        assert auto.shop.rows(table, columns) == rows(auto, f"select {columns} from ({sql})")
        assert auto.shop.run().action("copied") == "nothing"


@pytest.mark.core("auto")
@pytest.mark.parametrize("reader", ["auto", "spark"])
def test_a_partitioning_that_was_edited_away_with_its_column(shop, reader):
    """Iceberg cannot delete rows in place in such a table, also if it was replaced or altered since."""
    shop._target["metadata_reader"] = reader
    shop.configure({})
    events = shop.source("events", "id int, v string, at timestamp")
    configs = {
        "kept": ("select {} from {{{{ source('raw', 'events') }}}}", "auto"),
        "merged": ("select {} from {{{{ ip_changes(source('raw', 'events')) }}}}", "merge"),
        "mirror": ("select {}, _change_type from {{{{ ip_changelog(source('raw', 'events')) }}}} c", "apply_changes"),
    }

    def write(columns, **config):
        for name, (sql, strategy) in configs.items():
            more = {"rebuild_above": 1} if strategy == "auto" else {"on_source_rewrite": "upserts"}
            config = {**config, "unique_key": "id", **more}
            shop.model(name, sql.format(columns), incremental_strategy=strategy, **config)

    write("id, v, at", partition_by="days(at)")
    shop.insert(events, *(f"({number}, 'a', timestamp '2026-01-01 00:00:00')" for number in range(20)))
    shop.run()
    write("id, v")
    shop.run("--full-refresh")
    for number in range(2):
        shop.sql(f"update {events} set v = 'b{number}' where id in (3, 4)")
        shop.run()
        for name in configs:
            table = shop.built(name)
            assert shop.rows(table) == shop.rows(f"(select id, v from {events})"), name
            shop.sql(f"alter table {table} set tblproperties ('write.delete.mode' = 'merge-on-read')")
