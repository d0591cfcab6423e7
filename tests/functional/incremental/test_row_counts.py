"""Row counts in results, logs, docs and status: exact, or marked as an upper bound."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from .shop import CATALOG

SELECT = "select * from {{ source('raw', 'events') }}"
MERGE_ON_READ = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read'"


def affected(shop, *arguments: str) -> tuple[str, int | None]:
    (result,) = shop.run(*arguments).nodes.values()
    return str(result.message), result.adapter_response.get("rows_affected")


def test_a_table(shop):
    events = shop.source("events")
    shop.insert(events, *(f"({n}, 'a')" for n in range(1204)))
    shop.model("counted", SELECT, materialized="table")
    assert affected(shop) == ("OK 1,204 rows", 1204)
    shop.sql(f"delete from {events} where id > 0")
    assert affected(shop) == ("OK 1 row", 1)


@pytest.mark.core("merge-2-more1")
@pytest.mark.parametrize(
    ("strategy", "rows", "more"),
    [
        ("append", 2, {}),
        ("merge", 2, {"unique_key": "id"}),
        ("delete+insert", 2, {"unique_key": "id"}),
        ("insert_overwrite", 2, {"partition_by": "v"}),
    ],
)
def test_an_incremental_model(shop, strategy, rows, more):
    """A copy-on-write MERGE also rewrites other rows of its files. These are not counted."""
    events = shop.source("events")
    shop.insert(events, *(f"({n}, 'a')" for n in range(10)))
    limited = SELECT + "{% if is_incremental() %} where id >= 9 {% endif %}"
    shop.model("counted", limited, materialized="incremental", incremental_strategy=strategy, **more)
    assert affected(shop) == ("OK 10 rows", 10)
    shop.insert(events, "(10, 'b')")
    assert affected(shop) == (f"OK {rows} rows", rows)
    assert affected(shop, "--full-refresh") == ("OK 11 rows", 11)


def test_an_insert_overwrite_that_fails_leaves_no_setting_behind(shop):
    """Both models run on one connection. The hook of the second one overwrites a whole table, which is the default."""
    events = shop.source("events")
    overwriting = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": "v"}
    shop.model("a_fails", SELECT, **overwriting)
    shop.run()
    shop.insert(events, "(1, 'a')")
    other = shop.source("other", "id int, v string", "partitioned by (v)")
    shop.insert(other, "(1, 'a')")
    shop.model("a_fails", "select id, raise_error('no') as v from {{ source('raw', 'events') }}", **overwriting)
    shop.model(
        "b_follows", "select 1 as id", materialized="table", pre_hook=f"insert overwrite {other} values (2, 'b')"
    )
    assert not shop.dbt("run", "--threads", "1").success
    assert shop.rows(other) == Counter([(2, "b")])


def test_a_merge_statement_of_ours(shop):
    events = shop.source("events")
    shop.model(
        "counted",
        "select * from {{ ip_changes(source('raw', 'events')) }}",
        incremental_strategy="merge",
        unique_key="id",
        merge_update_columns=["v"],
        tblproperties={"write.merge.mode": "copy-on-write"},
    )
    shop.insert(events, *(f"({n}, 'a')" for n in range(10)))
    assert affected(shop) == ("OK 10 rows", 10)
    shop.insert(events, "(9, 'b')", "(10, 'b')")
    assert affected(shop) == ("OK 2 rows", 2)


def test_the_ledger_counts_the_rows_that_a_merge_replaced(shop):
    events = shop.source("events")
    merged = {"incremental_strategy": "merge", "unique_key": "id"}
    shop.model("latest", "select * from {{ ip_changes(source('raw', 'events')) }}", **merged)
    shop.insert(events, "(1, 'a')", "(2, 'a')")
    shop.run()
    shop.insert(events, "(1, 'b')", "(3, 'b')")
    shop.run()
    assert "+2 -1 rows" in shop.operation("ip_ledger", model="latest").printed


@pytest.fixture
def deleted_from(shop):
    """Create a source with a format version, in which a merge-on-read DELETE has removed 7 of 60 rows."""

    def make(version: int) -> str:
        events = shop.source(
            "events", "id int, v string", f"tblproperties('format-version'='{version}', {MERGE_ON_READ})"
        )
        shop.insert(events, *(f"({n}, 'a')" for n in range(60)))
        shop.sql(f"delete from {events} where id < 7")
        return events

    return make


@pytest.mark.parametrize("version", [2, 3])
def test_rows_that_merge_on_read_has_deleted_are_not_counted(shop, deleted_from, version):
    deleted_from(version)
    shop.model("mirrored", "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.write("models/more.yml", "version: 2\nmodels: [{name: mirrored}]\n")
    assert "53 rows" in shop.operation("ip_status").printed
    found = shop.run()
    assert f"captured {CATALOG}.{shop.source_schema}.events: 2 snapshots, 2 files, 53 rows" in found.printed
    (source,) = found.ip("mirrored")["sources"].values()
    assert source["records"] == 53
    assert "records_at_most" not in source
    assert shop.dbt("docs", "generate").success
    catalog = json.loads((shop.folder / "target" / "catalog.json").read_text())
    (of_source,) = catalog["sources"].values()
    assert of_source["stats"]["rows"]["value"] == 53


def test_rows_that_change_are_counted_at_most(shop, deleted_from):
    events = deleted_from(3)
    shop.model("logged", "select * from {{ ip_changelog(source('raw', 'events')) }}")
    shop.run()
    shop.sql(f"delete from {events} where id = 7")
    announced = shop.operation("ip_status").printed
    found = shop.run()
    (source,) = found.ip("logged")["sources"].values()
    assert source["records_at_most"] is True
    assert f"at most {source['records']} rows" in found.printed
    assert f"at most {source['records']} rows" in announced
    assert found.message("logged") == "OK 1 row"


def test_position_deletes_whose_files_a_compaction_has_replaced(shop, deleted_from):
    """They remain in the totals of format v2, although they no longer delete anything."""
    events = deleted_from(2)
    shop.sql(
        f"call {CATALOG}.system.rewrite_data_files(table => '{events}', options => map('rewrite-all', 'true', "
        "'remove-dangling-deletes', 'false'))"
    )
    shop.model("mirrored", "select * from {{ ip_changes(source('raw', 'events')) }}")
    found = shop.run()
    (source,) = found.ip("mirrored")["sources"].values()
    assert source["records"] == 53
