"""``ip_explain``: which models are incremental and how, why others are not, and what the next run would do."""

from __future__ import annotations

import json

import pytest

from iceberg_incremental.plan import learned

from .test_auto import QUERIES, auto  # noqa: F401 (a fixture)

ORDER = "insert into {orders} values (7, 1, 10.00, null, null)"


def explained(shop, **arguments):
    printed = shop.operation("ip_explain", format="json", **arguments).printed
    found, _ = json.JSONDecoder().raw_decode(printed, printed.index('{\n  "version"'))
    return {each["model"].rpartition(".")[2]: each for each in found["models"]}


@pytest.fixture
def models(auto):  # noqa: F811
    for name in ("inner_joined", "by_region", "total"):
        auto.model(name, QUERIES[name], rebuild_above=1)
    auto.model("first_three", "select id\nfrom {orders}\norder by id limit 3")
    auto.model("by_user", "select id,\ncurrent_user() as person from {orders}", on_not_incremental="full_refresh")
    auto.shop.write(
        "models/paid.sql", "{{ config(materialized='ephemeral') }} select * from {{ source('raw', 'orders') }}"
    )
    auto.shop.model(
        "kept_paid", "select id, amount from {{ ref('paid') }} where amount > 15", incremental_strategy="auto"
    )
    auto.shop.model("of_paid", "select id, amount from {{ ref('paid') }} where amount > 15", materialized="table")
    auto.shop.model(
        "dated", "select id, current_date() as day from {{ source('raw', 'orders') }}", materialized="table"
    )
    auto.shop.model(
        "watermark",
        "select id from {{ ref('of_paid') }} {% if is_incremental() %} where true {% endif %}",
        materialized="incremental",
    )
    auto.shop.model("changes", "select id from {{ ip_changes(source('raw', 'orders')) }}")
    return auto


@pytest.mark.core
def test_models_are_explained_before_and_after_their_first_build(models):
    shop = models.shop
    found = explained(shop)
    assert {name: each["is_incremental"] for name, each in found.items()} == {
        "inner_joined": True,
        "by_region": True,
        "total": True,
        "first_three": True,
        "by_user": False,
        "of_paid": True,
        "kept_paid": True,
        "dated": True,
        "watermark": False,
        "changes": False,
    }, found
    assert found["inner_joined"]["next_run"]["action"] == "rebuild"
    assert shop.run().success
    models.change(ORDER, "update {customers} set region = 'west' where id = 2")
    found = explained(shop)
    assert found["of_paid"]["update_method"]["key"] and found["of_paid"]["next_run"] is None
    assert found["dated"]["update_method"]["whole"] is None
    assert "is_incremental()" in found["watermark"]["not_incremental"]["construct"]
    assert "ip_changes()" in found["changes"]["not_incremental"]["construct"]
    whole = found["first_three"]["update_method"]["whole"]
    assert whole["construct"] == "LIMIT" and whole["line"] and "QUALIFY" in whole["instead"]
    assert found["first_three"]["next_run"]["way"] == "replace_all"
    assert found["by_user"]["not_incremental"]["construct"].startswith("current_user()")
    assert found["by_user"]["not_incremental"]["line"] == 3
    assert found["by_user"]["next_run"]["way"] == "replace_all"
    assert found["total"]["update_method"]["key"] == [] and found["total"]["next_run"]["way"] == "update_groups"
    by_region = found["by_region"]
    assert by_region["update_method"]["key"] == ["region"] and by_region["update_method"]["key_of"] == "read rows"
    assert [each["by"] for each in by_region["update_method"]["reads"]] == [[], []]
    by_id = {"column": "id", "key": "id", "through": ""}
    assert found["inner_joined"]["update_method"]["reads"][0]["by"] == [by_id]
    next_run = by_region["next_run"]
    assert (next_run["action"], next_run["way"], next_run["affected_keys"]) == ("apply", "replace_keys", 3)
    assert {each["source"].rpartition(".")[2]: each["records"] for each in next_run["ranges"]}.keys() == {
        "orders",
        "customers",
    }
    text = shop.operation("ip_explain", select="by_region first_three by_user of_paid").printed
    assert "incremental by region (values of changed rows that it reads)" in text
    assert "next run: replaces the affected rows, since 3 keys" in text
    assert "auto: replaced as a whole, because of LIMIT (line " in text
    assert "not incremental, because of current_user(), whose" in text
    assert "could be auto: yes, incremental by id" in text


def test_a_run_does_what_was_explained(models):
    shop = models.shop
    shop.run()
    models.change(ORDER)
    before = {
        name: shop.sql(f"select count(*) from {shop.built(name)}.snapshots") for name in ("inner_joined", "total")
    }
    found = explained(shop, select="inner_joined total by_region")
    after = {name: shop.sql(f"select count(*) from {shop.built(name)}.snapshots") for name in before}
    assert before == after
    assert found["inner_joined"]["next_run"]["way"] == "append"
    ran = shop.run()
    for each in found.values():
        assert each["next_run"]["reason"] in ran.printed
    assert explained(shop, model="by_region")["by_region"]["next_run"]["action"] == "nothing"


def test_a_table_records_how_it_is_updated(models):
    shop = models.shop
    shop.run()
    assert update_method(shop)["by_region"].startswith("by region (values of changed rows that it reads); ")
    assert update_method(shop)["first_three"].startswith("as a whole, because of LIMIT")
    assert update_method(shop)["by_user"] is None
    models.model("by_region", f"select *, rand() as r from ({QUERIES['by_region']})", on_not_incremental="full_refresh")
    shop.run("--select", "by_region")
    assert update_method(shop)["by_region"] is None


def update_method(shop):
    printed = shop.operation("ip_status", format="json").printed
    found, _ = json.JSONDecoder().raw_decode(printed, printed.index('{\n  "version"'))
    return {each["name"]: each["update_method"] for each in found["models"]}


@pytest.mark.core
def test_the_cost_of_a_large_rebuild_corrects_the_next_estimates(auto):  # noqa: F811
    shop, sql = auto.shop, "select id, amount, md5(string(id)) as hash from {orders}"
    auto.change("insert into {orders} select int(id), int(id) % 10, 1.00, null, null from range(10, 300000)")
    auto.model("amounts", sql)
    shop.run()
    assert explained(shop)["amounts"]["last_cost"]["way"] == "replace_all"  # the build
    for number in range(2):
        auto.change(f"update {{orders}} set amount = amount + 1 where id % 1000 = {number}")
        shop.run()
        assert auto.differs("amounts", sql) == [[], []]
    last = explained(shop)["amounts"]["last_cost"]
    assert last["way"] in ("replace_all", "replace_keys")  # the faster on this machine
    assert last["spent"] > 0 < last["estimated"]
    auto.change("update {orders} set amount = amount + 1 where id % 1000 = 2")
    reasons = []
    for factor in (0.1, 0.5):
        learned = json.dumps({"kept": 1, "rebuilt": factor, "last": ["replace_all", 1, factor]})
        shop.sql(f"alter table {shop.built('amounts')} set tblproperties ('ip.learned' = '{learned}')")
        reasons.append(explained(shop)["amounts"]["next_run"]["reason"])
    assert reasons[0] != reasons[1], reasons


@pytest.mark.core
def test_large_partitions_of_a_window_count_with_all_of_their_rows(auto, monkeypatch):  # noqa: F811
    monkeypatch.setattr(learned, "_MOST", 1)  # no run corrects an estimate, because the load of this machine varies
    sql = "select id, customer_id, row_number() over (partition by customer_id order by id desc) as place from {orders}"
    auto.change("alter table {orders} set tblproperties ('write.delete.mode' = 'merge-on-read')")
    auto.change("insert into {orders} select int(id), int(id) % 10, 1.00, null, null from range(10, 1000000)")
    auto.model("places", sql)
    auto.shop.run()
    ways = []
    for changed in ("customer_id = 3", "customer_id < 9"):
        auto.change(f"delete from {{orders}} where id > 999000 and {changed}")
        ways.append(explained(auto.shop)["places"]["next_run"]["way"])
        assert auto.shop.run().success
        assert auto.differs("places", sql) == [[], []]
    assert ways == ["replace_keys", "replace_all"]


@pytest.mark.core
def test_the_size_of_a_table_does_not_count_deleted_rows(auto):  # noqa: F811
    shop, sql = auto.shop, "select id, amount from {orders}"
    auto.change("insert into {orders} select int(id), 1, 1.00, null, null from range(10, 100)")
    auto.model("amounts", sql, rebuild_above=1)
    shop.run()
    auto.change("delete from {orders} where id >= 60")
    assert shop.run().nodes["amounts"].adapter_response["ip"]
    auto.change("update {orders} set amount = 5 where id = 10")
    ((rows,),) = shop.sql(f"select count(*) from {shop.built('amounts')}")
    summary = dict(shop.sql(f"select summary from {shop.built('amounts')}.snapshots order by committed_at")[-1][0])
    assert int(summary["total-records"]) > rows
    assert f"of a table of {rows} rows" in explained(shop)["amounts"]["next_run"]["reason"]
