"""Nessie over REST, which reports branches, tags and format version 3 as created, and does not keep them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.functional.incremental.shop import Shop
from tests.functional.metadata.servers import HOST

from .conftest import BUCKET, CATALOG, KEYS, Projects
from .nessie import nessie, newer_java
from .test_unfaithful import NO_BRANCHES, RestLake

pytestmark = pytest.mark.thorough
CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
INSTEAD = f"set spark.sql.catalog.{CATALOG}.type: nessie"


@pytest.fixture(scope="module")
def nessie_port(tmp_path_factory: pytest.TempPathFactory, s3_port: int) -> Iterator[int]:
    java = newer_java()
    if java is None:
        pytest.skip("needs Java 21 or later")
    folder = tmp_path_factory.mktemp("nessie") / "server"
    with nessie(java, folder, s3_port, BUCKET, KEYS["aws_access_key_id"], KEYS["aws_secret_access_key"]) as port:
        yield port


def files_in(s3_port: int) -> dict[str, str]:
    """The settings of the tables' files."""
    return {
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": f"http://{HOST}:{s3_port}",
        "s3.path-style-access": "true",
        "s3.access-key-id": KEYS["aws_access_key_id"],
        "s3.secret-access-key": KEYS["aws_secret_access_key"],
        "client.region": "us-east-1",
    }


@pytest.fixture
def shop(remote_projects: Projects, nessie_port: int, s3_port: int, request: pytest.FixtureRequest) -> Shop:
    settings = {
        "type": "rest",
        "uri": f"http://{HOST}:{nessie_port}/iceberg/main/",
        "header.X-Iceberg-Access-Delegation": "vended",  # Nessie would otherwise sign requests as Iceberg does not
        **files_in(s3_port),
    }
    return remote_projects.shop(request.node.name, settings)


def test_models(shop: Shop) -> None:
    events = shop.source("events")
    shop.model("staged", CHANGES, hold_source="2 days")
    shop.insert(events, "(1, 'a')")
    first = shop.run()
    assert f"catalog {CATALOG} does not keep tags of tables" in first.printed and INSTEAD in first.printed
    shop.insert(events, "(2, 'b')")
    shop.insert(events, "(3, 'c')")
    message = shop.dbt("run").message("staged")
    assert f"catalog {CATALOG} returns only the current snapshot" in message and INSTEAD in message
    assert shop.rows(shop.built("staged")) == Counter([(1, "a")])

    shop.model("third", CHANGES, tblproperties={"format-version": "3"})
    message = shop.dbt("run", "--select", "third").message("third")
    assert "created" in message and "in an older format version" in message and INSTEAD in message


def test_the_command(shop: Shop, nessie_port: int, s3_port: int) -> None:
    events = shop.source("events", "id bigint, v string")
    lake = RestLake(shop, nessie_port)
    lake.properties |= {
        "uri": f"http://{HOST}:{nessie_port}/iceberg/main/",
        "s3.endpoint": f"http://{HOST}:{s3_port}",
        "s3.access-key-id": KEYS["aws_access_key_id"],
        "s3.secret-access-key": KEYS["aws_secret_access_key"],
        "header.X-Iceberg-Access-Delegation": "vended",
    }
    shop.sql(f"create namespace if not exists {lake.schema}")
    shop.sql(f"create table {lake.target} (id bigint, v string) using iceberg")
    shop.insert(events, "(1, 'a')")
    shop.insert(lake.target, "(7, 'x')")
    found = lake.capture("--full-refresh")
    assert found.code == 1
    assert NO_BRANCHES in found.said and "a catalog of type: nessie" in found.said
    assert shop.rows(lake.target) == Counter([(7, "x")])


def test_its_own_protocol_in_a_schema_of_levels(remote_projects: Projects, nessie_port: int, s3_port: int) -> None:
    """Nessie sets gc.enabled=false for every table, so an audit's table cannot be purged."""
    settings = {"type": "nessie", "uri": f"http://{HOST}:{nessie_port}/api/v2", "ref": "main", **files_in(s3_port)}
    shop = remote_projects.shop(
        "natively", {**settings, "warehouse": f"s3://{BUCKET}/natively"}, schema="natively.team.dev"
    )
    events = shop.source("events", "id int, v string", "tblproperties ('format-version' = '3')")
    merge = {"incremental_strategy": "merge", "unique_key": "id", "on_source_rewrite": "upserts"}
    shop.model("staged", CHANGES, on_source_rewrite="ignore", hold_source="2 days")
    shop.model("audited", CHANGES, audit=True, **merge)
    shop.model("auto", "select * from {{ source('raw', 'events') }}", incremental_strategy="auto", unique_key="id")
    shop.write("models/properties.yml", "models: [{name: audited, columns: [{name: id, data_tests: [unique]}]}]")
    for number in range(3):
        shop.insert(events, f"({number}, 'a')")
        if number == 2:
            shop.sql(f"update {events} set v = 'b' where id = 0")
        shop.run()
    for name in ("audited", "auto"):
        assert shop.rows(shop.built(name)) == shop.rows(events)
        assert shop.branches(shop.built(name)) == {"main"}
    assert shop.rows(shop.built("staged"), "id") == Counter([(0,), (1,), (2,)])
    assert [name for name in shop.branches(events) if name.startswith("ip_held_by.")]
    assert {name for _, name, _ in shop.sql(f"show tables in {CATALOG}.{shop.schema}")} == {"staged", "audited", "auto"}
    shop.run("--full-refresh")
    assert shop.rows(shop.built("audited")) == shop.rows(events)
