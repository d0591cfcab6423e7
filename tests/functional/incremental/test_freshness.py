"""`dbt source freshness` without loaded_at_field uses commits that changed rows, and sends no Spark statement."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from .shop import CATALOG, Outcome, Shop

DAILY = {"freshness": {"warn_after": {"count": 1, "period": "day"}, "error_after": {"count": 2, "period": "day"}}}
ONE_FILE = "map('rewrite-all', 'true')"


def committed_at(shop: Shop, table: str, snapshot_id: int | None) -> datetime:
    (found,) = shop.sql(f"select unix_millis(committed_at) from {table}.snapshots where snapshot_id = {snapshot_id}")[0]
    return datetime.fromtimestamp(found / 1000, timezone.utc)


def compact(shop: Shop, table: str) -> None:
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{table}', options => {ONE_FILE})")


def expire(shop: Shop, table: str) -> None:
    """Expire every snapshot except the head."""
    later = datetime.now(timezone.utc) + timedelta(minutes=1)
    shop.sql(
        f"call {CATALOG}.system.expire_snapshots(table => '{table}', "
        f"older_than => timestamp '{later:%Y-%m-%d %H:%M:%S}Z', retain_last => 1)"
    )


def freshness(shop: Shop) -> tuple[Outcome, dict[str, Any]]:
    """The outcome of `dbt source freshness`, and the results in sources.json for each source."""
    outcome = shop.dbt("source", "freshness")
    found = json.loads((shop.folder / "target" / "sources.json").read_text())["results"]
    return outcome, {each["unique_id"].rpartition(".")[2]: each for each in found}


def loaded_at(source: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(source["max_loaded_at"].replace("Z", "+00:00"))


@pytest.mark.core
def test_only_commits_that_change_rows_count(shop: Shop, asked_of_spark: list[str]):
    orders = shop.source("orders")
    shop.insert(orders, "(1, 'a')")
    shop.insert(orders, "(2, 'b')")
    changed = committed_at(shop, orders, shop.head(orders))
    compact(shop, orders)
    shop.sql(f"insert into {orders} select 1, 'a' where false")
    shop.sql(f"merge into {orders} t using (select 9 id) s on t.id = s.id when matched then update set v = 'x'")
    shop.sql(f"alter table {orders} create branch audit")
    shop.sql(f"insert into {orders}.branch_audit values (3, 'c')")
    changes = len(shop.snapshots(orders))
    shop.declare("orders", **DAILY)
    asked_of_spark.clear()

    outcome, found = freshness(shop)

    assert outcome.success, outcome.printed[-2000:]
    assert changes > 3
    assert found["orders"]["status"] == "pass"
    assert loaded_at(found["orders"]) == changed
    assert not [sql for sql in asked_of_spark if "orders" in sql]


def test_each_source_has_its_own_result_or_error(shop: Shop):
    for name in ("full", "empty", "forgotten", "asked"):
        shop.source(name)
        if name != "empty":
            shop.insert(shop.raw(name), "(1, 'a')")
    shop.sql(f"create view {shop.raw('shown')} as select 1 as id")
    asked = {"loaded_at_field": "cast('2020-01-01' as timestamp)"}
    for name in ("full", "empty", "forgotten", "asked", "shown", "gone"):
        shop.declare(name, **DAILY, **(asked if name == "asked" else {}))
    shop.sql(f"alter table {shop.raw('forgotten')} set tblproperties ('write.metadata.previous-versions-max' = '1')")
    compact(shop, shop.raw("forgotten"))
    expire(shop, shop.raw("forgotten"))
    shop.sql(f"alter table {shop.raw('forgotten')} set tblproperties ('a' = 'b')")

    outcome, found = freshness(shop)

    assert not outcome.success
    assert {name: each["status"] for name, each in found.items()} == {
        "full": "pass",
        "empty": "error",
        "asked": "error",
    }
    assert loaded_at(found["empty"]).year == 1
    assert loaded_at(found["asked"]).year == 2020
    assert "is no longer known" in outcome.message("forgotten")
    assert "the oldest commit that has not expired" in outcome.message("forgotten")
    assert "is a view" in outcome.message("shown")
    assert f"{CATALOG}.{shop.source_schema}.gone is unknown, because the source does not exist" in outcome.message(
        "gone"
    )


def test_an_expired_change_is_found_in_an_older_metadata_file(shop: Shop):
    orders = shop.source("orders")
    shop.insert(orders, "(1, 'a')")
    shop.insert(orders, "(2, 'b')")
    changed = committed_at(shop, orders, shop.head(orders))
    compact(shop, orders)
    expire(shop, orders)
    shop.declare("orders", **DAILY)

    _, found = freshness(shop)

    assert len(shop.sql(f"select * from {orders}.snapshots")) == 1
    assert loaded_at(found["orders"]) == changed


def test_due_nodes_are_built_without_a_scan(shop: Shop):
    for name in ("orders", "customers"):
        shop.source(name)
        shop.insert(shop.raw(name), "(1, 'a')")
        shop.declare(name, **DAILY)
        shop.model(f"{name}_copy", f"select * from {{{{ ip_changes(source('raw', '{name}')) }}}}")
    shop.run()
    freshness(shop)
    state = shop.folder / "state"
    state.mkdir()
    shutil.copy(shop.folder / "target" / "sources.json", state)
    shop.insert(shop.raw("orders"), "(2, 'b')")
    compact(shop, shop.raw("customers"))
    freshness(shop)

    outcome = shop.dbt("build", "--select", "source_status:fresher+", "--state", str(state))

    assert outcome.success
    assert set(outcome.nodes) == {"orders_copy"}
    assert shop.rows(shop.built("orders_copy")) == {(1, "a"): 1, (2, "b"): 1}
