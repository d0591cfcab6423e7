"""Catalogs that do not keep branches and tags, and catalogs that refuse a lost race with 400."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from dbt.adapters.spark_iceberg.profile.lakehouse import CATALOG_CLASS
from dbt.adapters.spark_iceberg.spark.port import DbtSpark
from iceberg_incremental import Job
from iceberg_incremental.errors import NotKeptError
from tests.functional.command.lake import Lake
from tests.functional.incremental.shop import Shop
from tests.functional.metadata import servers

from .conftest import CATALOG, Projects, rest
from .unfaithful import UnfaithfulCatalog

pytestmark = pytest.mark.core

NO_BRANCHES = f"because catalog {CATALOG} does not keep branches of tables"


@pytest.fixture
def catalog(rest_port: int) -> Iterator[UnfaithfulCatalog]:
    with closing(UnfaithfulCatalog(rest_port)) as made:
        yield made


@pytest.fixture
def shop(projects: Projects, rest_port: int, catalog: UnfaithfulCatalog, request: pytest.FixtureRequest) -> Shop:
    name = "".join(each if each.isalnum() else "_" for each in request.node.name)
    return projects.shop(name, patient(catalog.port), patient(rest_port))


def patient(port: int) -> dict[str, str]:
    return {**rest(port), "rest.client.socket-timeout-ms": "60000"}


class RestLake(Lake):
    """The tables of a shop, for the command."""

    def __init__(self, shop: Shop, port: int) -> None:
        self.session, self.folder, self.schema = shop.session, shop.folder, f"{CATALOG}.{shop.schema}"
        self.source, self.target = shop.raw("events"), f"{self.schema}.staged"
        self.properties = {"type": "rest", "uri": f"http://{servers.HOST}:{port}"}
        self.source = self.source.replace("`", "")

    def properties_given(self) -> list[str]:
        return [f"--catalog-property={CATALOG}.{key}={value}" for key, value in self.properties.items()]

    def iceberg(self, table=None):
        from pyiceberg.catalog import load_catalog

        return load_catalog(CATALOG, **self.properties).load_table((table or self.target).split(".", 1)[1])


@pytest.mark.parametrize("by_sql", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_no_row_is_written_if_branches_are_not_kept(shop, catalog, monkeypatch, by_sql):
    if by_sql:  # as on a server
        monkeypatch.setattr(DbtSpark, "commits", None)
    events = shop.source("events")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}", hold_source="2 days")
    shop.model(
        "merged",
        "select * from {{ ip_changes(source('raw', 'events')) }}",
        incremental_strategy="merge",
        unique_key="id",
    )
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    heads = [shop.head(shop.built(name)) for name in ("staged", "merged")]

    with catalog.without_refs():
        found = shop.dbt("run")
    for name in ("staged", "merged"):
        assert NO_BRANCHES in found.message(name) and "To fix: use a catalog that keeps" in found.message(name)
    assert "does not keep tags of tables" in found.printed and "This run continues" in found.printed
    assert [shop.head(shop.built(name)) for name in ("staged", "merged")] == heads

    given = {CATALOG: {"type": "rest", "uri": f"http://{servers.HOST}:{catalog.port}"}}
    job = Job(shop.session, f"{CATALOG}.{shop.schema}.by_job", catalog_properties=given)
    _append(job, events)
    shop.insert(events, "(3, 'c')")
    through = Job(_session(shop, catalog), f"{CATALOG}.{shop.schema}.by_job", catalog_properties=given)
    with catalog.without_refs(), pytest.raises(NotKeptError, match="does not keep branches"):
        _append(through, events)
    assert shop.rows(shop.built("by_job"), "id") == Counter([(1,), (2,)])

    assert shop.run().success
    _append(job, events)
    for name in ("staged", "merged", "by_job"):
        assert shop.rows(shop.built(name)) == shop.rows(events)
        assert shop.branches(shop.built(name)) == {"main"}


def test_the_command_writes_nothing_if_branches_are_not_kept(shop, catalog):
    shop.source("events", "id bigint, v string")
    lake = RestLake(shop, catalog.port)
    lake.sql(f"create namespace if not exists {lake.schema}")
    lake.sql("create table {t} (id bigint, v string) using iceberg")
    with catalog.without_refs():
        assert "does not keep branches" in lake.capture().said  # the target has no snapshot
    lake.insert((1, "a"))
    assert lake.run().code == 0
    before = lake.iceberg().metadata.current_snapshot_id
    with catalog.without_refs():
        for options in (["--full-refresh"], []):
            lake.insert((2, "b"))
            found = lake.capture(*options)
            assert (found.code, found.printed) == (1, "")
            assert "does not keep branches of tables" in found.said and "No row was written" in found.said
            assert lake.iceberg().metadata.current_snapshot_id == before
    assert lake.run("--full-refresh").code == 0
    assert sum(lake.rows().values()) == 3 and lake.branches() == {"main"}


def test_a_lost_race_that_is_answered_with_400(shop, catalog):
    """Polaris refuses the second of two commits to two branches of a table, since they have one sequence number."""
    events = shop.source("events", "id bigint, v string")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.model("rebuilt", "select * from {{ ip_changes(source('raw', 'events')) }}", on_source_rewrite="full_refresh")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    shop.sql(f"delete from {events} where id = 1")
    catalog.refused = {"staged": 1, "rebuilt": 1}
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}", on_source_rewrite="ignore")
    shop.run()
    assert not any(catalog.refused.values())
    assert shop.rows(shop.built("rebuilt"), "id") == Counter([(2,)])
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,)])

    shop.insert(events, "(3, 'c')")
    catalog.refused = {"staged": 99}
    message = shop.dbt("run", "--select", "staged").message("staged")
    assert "other writers committed to" in message and "during each attempt" in message
    catalog.refused = {}
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,), (3,)])


def test_the_command_loses_a_race_that_is_answered_with_400(shop, catalog, monkeypatch):
    monkeypatch.setattr("iceberg_incremental.publish.commit_conflicts._LONGEST_PAUSE", 0.01)
    shop.source("events", "id bigint, v string")
    lake = RestLake(shop, catalog.port)
    lake.sql(f"create namespace if not exists {lake.schema}")
    lake.sql("create table {t} (id bigint, v string) using iceberg")
    lake.insert((1, "a"))
    captured = lake.capture()
    lake.write(captured)
    catalog.refused = {"staged": 999}
    lost = lake.commit(captured)
    assert lost.code == 4 and "during each attempt" in lost.said
    catalog.refused = {"staged": 1}
    assert lake.commit(captured).code == 0
    assert lake.rows() == Counter([(1, "a")])
    assert json.loads(lake.commit(captured).printed)["already_committed"]


def _append(job: Job, events: str) -> None:
    with job.run() as run:
        run.append(run.changes(events.replace("`", "")))


def _session(shop: Shop, catalog: UnfaithfulCatalog):
    """A session whose catalog is behind the proxy."""
    session = shop.session.newSession()
    session.conf.set(f"spark.sql.catalog.{CATALOG}", CATALOG_CLASS)
    for key, value in patient(catalog.port).items():
        session.conf.set(f"spark.sql.catalog.{CATALOG}.{key}", value)
    return session
