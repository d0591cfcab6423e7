"""Catalogs that do not allow some requests, as their rules and the rights of users decide."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.functional.incremental.shop import Shop

from .conftest import CATALOG, Projects
from .test_unfaithful import RestLake, catalog, patient, shop
from .unfaithful import FORBIDDEN, UnfaithfulCatalog

__all__ = ["catalog", "shop"]

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
MERGE = {"incremental_strategy": "merge", "unique_key": "id", "on_source_rewrite": "upserts"}
TESTS = "models: [{name: audited, columns: [{name: id, data_tests: [unique]}]}]"


def explained(message: str, doer: str) -> bool:
    return f"Catalog {CATALOG} refuses a request of {doer}" in message and FORBIDDEN in message and "To fix:" in message


def listed(shop: Shop, schema: str) -> set[str]:
    return {name for _, name, _ in shop.sql(f"show tables in {CATALOG}.{schema}")}


@pytest.fixture
def events(shop: Shop) -> str:
    """A source, and models with each way to write."""
    table = shop.source("events", "id int, v string")
    shop.model("staged", CHANGES)
    shop.model("audited", CHANGES, audit=True, **MERGE)
    shop.write("models/properties.yml", TESTS)
    shop.insert(table, "(1, 'a')")
    return table


@pytest.mark.parametrize(
    ("pattern", "models"),
    [
        ("create .*", {"staged", "audited"}),
        ("create AUDITED.*", {"audited"}),
        ("create with write.delete.mode", {"audited"}),
        ("create with ip[.].*", {"audited"}),
        ("POST .*/tables/audited__ip_audit", {"audited"}),
        ("POST .*/tables/[^/_]*", {"staged", "audited"}),
    ],
)
def test_first_builds(shop: Shop, events: str, catalog: UnfaithfulCatalog, pattern: str, models: set[str]) -> None:
    if "AUDITED" in pattern:  # a catalog that allows only names in lower case
        shop.model("audited", CHANGES, audit=True, alias="AUDITED", **MERGE)
    with catalog.forbidding(pattern):
        found = shop.dbt("run")
    assert {name for name, each in found.nodes.items() if each.status == "error"} == models
    assert all(explained(found.message(name), f"model.shop.{name}") for name in models)
    assert listed(shop, shop.schema) == {"staged", "audited"} - models


@pytest.mark.parametrize("pattern", ["set-snapshot-ref branch", "add-snapshot", "set ip[.].*", "remove-snapshot-ref"])
def test_runs(shop: Shop, events: str, catalog: UnfaithfulCatalog, pattern: str) -> None:
    shop.run()
    shop.insert(events, "(2, 'b')")
    heads = [shop.head(shop.built(name)) for name in ("staged", "audited")]
    with catalog.forbidding(pattern, 403):
        found = shop.dbt("run")
    assert all(explained(found.message(name), f"model.shop.{name}") for name in ("staged", "audited"))
    assert [shop.head(shop.built(name)) for name in ("staged", "audited")] == heads
    shop.run()
    for name in ("staged", "audited"):
        assert shop.rows(shop.built(name)) == shop.rows(events) and shop.branches(shop.built(name)) == {"main"}


def test_a_run_that_only_moves_the_checkpoint(shop: Shop, events: str, catalog: UnfaithfulCatalog) -> None:
    shop.run()
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{events}', options => map('rewrite-all', 'true'))")
    with catalog.forbidding("set ip[.]checkpoint", 403):
        found = shop.dbt("run")
    assert all(explained(found.message(name), f"model.shop.{name}") for name in ("staged", "audited"))
    shop.insert(events, "(2, 'b')")
    shop.run()
    assert shop.rows(shop.built("staged")) == shop.rows(shop.built("audited")) == shop.rows(events)


def test_a_tag_in_a_source(shop: Shop, events: str, catalog: UnfaithfulCatalog) -> None:
    shop.model("staged", CHANGES, hold_source="2 days")
    shop.run()
    shop.insert(events, "(2, 'b')")
    with catalog.forbidding("set-snapshot-ref tag", 403):
        found = shop.run("--select", "staged")
    assert "model.shop.staged does not hold its position" in found.printed and FORBIDDEN in found.printed
    assert shop.rows(shop.built("staged")) == shop.rows(events)


def test_clones(shop: Shop, events: str, catalog: UnfaithfulCatalog, tmp_path: Path) -> None:
    shop.model("staged", CHANGES, tblproperties={"write.data.path": f"file:{tmp_path}/data"})
    shop.run()
    state, pr = tmp_path / "state", f"{shop.schema}_pr"
    shutil.copytree(shop.folder / "target", state)
    profiles = shop.folder / "profiles.yml"
    profiles.write_text(profiles.read_text().replace(f"schema: {shop.schema}", f"schema: {pr}"))
    origin = f"{CATALOG}.{shop.schema}.staged"
    clone = ("clone", "--select", "staged", "--state", str(state))
    for pattern in (
        "create .*__ip_clone_.*",
        "set-snapshot-ref branch",
        "POST .*/register",
        "set-location",
        "set gc.enabled",
        "set write[.].*",
        "remove-properties",
        "POST /tables/rename",
    ):
        with catalog.forbidding(pattern, 403):
            message = shop.dbt(*clone).message("staged")
        assert explained(message, f"the clone {CATALOG}.{pr}.staged"), pattern
        assert listed(shop, pr) == set() and shop.branches(origin) == {"main"}
    with catalog.forbidding("DELETE .*", 403):  # the table that shows where the catalog puts the clone
        found = shop.dbt(*clone)
    assert explained(found.message("staged"), f"the clone {CATALOG}.{pr}.staged")
    assert "what it created may remain" in found.printed and "DROP TABLE IF EXISTS" in found.printed
    assert shop.dbt(*clone).success
    assert shop.rows(origin) == shop.rows(f"{CATALOG}.{pr}.staged") == shop.rows(events)


def test_no_files_may_be_removed(projects: Projects, rest_port: int) -> None:
    """Nessie sets gc.enabled=false for every table, and Iceberg then refuses to purge and to expire."""
    shop = projects.shop("kept_files", {**patient(rest_port), "table-override.gc.enabled": "false"})
    table = shop.source("events", "id int, v string")
    shop.model("audited", CHANGES, audit=True, **MERGE)
    shop.write("models/properties.yml", TESTS)
    for number in range(3):
        shop.insert(table, f"({number}, 'a')")
        shop.run(*(["--full-refresh"] if number == 1 else []))
    assert shop.rows(shop.built("audited")) == shop.rows(table)
    assert listed(shop, shop.schema) == {"audited"}
    found = shop.operation("ip_maintain", sources=True, max_snapshot_age="1 second")
    assert found.success and "gc.enabled is false" in found.printed
    assert len(shop.snapshots(table)) == 3


def test_the_command(shop: Shop, catalog: UnfaithfulCatalog) -> None:
    shop.source("events", "id bigint, v string")
    lake = RestLake(shop, catalog.port)
    lake.sql(f"create namespace if not exists {lake.schema}")
    lake.sql("create table {t} (id bigint, v string) using iceberg")
    lake.insert((1, "a"))
    for pattern in ("set-snapshot-ref branch", "set ip[.]checkpoint"):
        with catalog.forbidding(pattern, 403):
            found = lake.run()
        assert found.code == 1 and FORBIDDEN in found.said and "To fix:" in found.said, found.said
        assert not lake.rows()
    assert lake.run().code == 0
    assert lake.rows() == Counter([(1, "a")])
