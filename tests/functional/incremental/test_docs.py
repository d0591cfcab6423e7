"""`dbt docs generate`: the descriptions of tables come from their metadata, without a statement for each table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from iceberg_incremental.metadata.describe import describe

from .shop import CATALOG, Shop

TYPES = (
    "id bigint comment 'the \\'key\\'', ts timestamp, at timestamp_ntz, d date, price decimal(9,2), flag boolean, "
    "f float, g double, b binary, tags array<string>, m map<string, struct<x: int, `y z`: array<int>>>, v variant, "
    "`odd name` string"
)


def generated(shop: Shop) -> dict[str, Any]:
    return json.loads((shop.folder / "target" / "catalog.json").read_text())


def metadata_file(shop: Shop, table: str) -> Path:
    (log,) = shop.sql(f"select file from {table}.metadata_log_entries order by timestamp desc limit 1")
    return Path(log[0].removeprefix("file:"))


@pytest.mark.core
def test_tables_are_described_by_metadata(shop: Shop, asked_of_spark: list[str]):
    shop.sql(
        f"create table {shop.raw('wide')} ({TYPES}) using iceberg partitioned by (days(ts), bucket(4, id)) "
        "comment 'it\\'s wide' tblproperties ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')"
    )
    shop.sql(f"alter table {shop.raw('wide')} write ordered by id desc")
    row = "timestamp '2020-01-01', null, null, 1.5, true, 1, 2, null, null, null, null, 'x'"
    shop.insert(shop.raw("wide"), f"(1, {row})", f"(2, {row})")
    shop.sql(f"delete from {shop.raw('wide')} where id = 1")
    shop.sql(f"create table {shop.raw('bare')} (id int) using iceberg")
    shop.sql(f"create view {shop.raw('shown')} as select 1 as id")
    shop.declare("wide", "bare", "shown", "gone")
    asked_of_spark.clear()

    assert shop.dbt("docs", "generate").success

    sources = {name.rpartition(".")[2]: each for name, each in generated(shop)["sources"].items()}
    assert set(sources) == {"wide", "bare", "shown"}
    wide = sources["wide"]
    assert wide["metadata"]["comment"] == "it's wide"
    assert {c["name"]: (c["type"], c["comment"]) for c in wide["columns"].values()} == {
        each.name: (each.type, each.comment)
        for each in describe(shop.sql(f"describe table {shop.raw('wide')}")).columns
    }
    stats = {key: each["value"] for key, each in wide["stats"].items()}
    assert stats.pop("bytes") > 0
    assert stats.pop("last_modified").endswith(" UTC")
    assert stats == {
        "has_stats": True,
        "format_version": 3,
        "partitioned_by": "days(ts), bucket(4, id)",
        "sorted_by": "id desc nulls last",
        "snapshots": 2,
        "files": 1,
        "delete_files": 1,
        "rows": 1,
    }
    assert sources["bare"]["stats"]["rows"]["value"] == 0
    assert sources["bare"]["stats"]["last_modified"]["value"] == "never"
    assert sources["shown"]["metadata"]["type"] == "view"
    assert not [sql for sql in asked_of_spark if "wide" in sql or "bare" in sql]


def test_a_schema_is_listed_once(shop: Shop, asked_of_spark: list[str]):
    shop.source("orders")
    shop.model("m", "select 1 as id", materialized="view")
    asked_of_spark.clear()

    assert shop.dbt("docs", "generate").success

    listings = [sql for sql in asked_of_spark if sql.startswith("show tables")]
    assert len(listings) == len(set(listings)) == 2  # of the models, for dbt's cache, and of the sources


def test_a_broken_table_leaves_the_others(shop: Shop):
    for name in ("whole", "broken"):
        shop.source(name)
        shop.insert(shop.raw(name), "(1, 'a')")
    file = metadata_file(shop, shop.raw("broken"))
    hidden = file.with_suffix(".hidden")
    file.rename(hidden)
    try:
        outcome = shop.dbt("docs", "generate")
    finally:
        hidden.rename(file)

    catalog = generated(shop)
    assert not outcome.success
    assert list(catalog["sources"]) == ["source.shop.raw.whole"]
    assert catalog["sources"]["source.shop.raw.whole"]["stats"]["rows"]["value"] == 1
    (error,) = catalog["errors"]
    assert f"The catalog has no entry for `{CATALOG}`.`{shop.source_schema}`.`broken`" in error
    assert file.name in error
