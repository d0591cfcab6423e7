"""What a type of catalog guarantees, and does not: the table in docs/guarantees.md names these tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.functional.incremental.shop import Shop
from tests.functional.metadata import servers

from .conftest import BUCKET, Projects
from .test_nessie import files_in, nessie_port
from .test_unfaithful import patient

__all__ = ["nessie_port"]

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"

TESTS = "models: [{{name: audited, columns: [{{name: id, data_tests: [{}]}}]}}]"


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("guarantees") / "hive"
    with servers.hive_metastore(folder) as port:
        yield {
            "type": "hive",
            "uri": f"thrift://{servers.HOST}:{port}",
            "warehouse": f"{folder}/warehouse",
            # the metastore on Derby has no lock tables; without locks, commits use compare-and-swap
            "hadoop.iceberg.engine.hive.lock-enabled": "false",
        }


@pytest.fixture(
    params=[
        "jdbc",
        "rest",
        "hive",
        "hadoop",
        pytest.param("nessie", marks=pytest.mark.thorough),
        pytest.param("glue", marks=pytest.mark.thorough),
    ]
)
def shop(request: pytest.FixtureRequest, projects: Projects, tmp_path: Path) -> Shop:
    kind, name = request.param, request.node.originalname
    if kind in ("nessie", "glue"):
        port = request.getfixturevalue("s3_port")
        address = {"glue.endpoint": f"http://{servers.HOST}:{port}"}
        if kind == "nessie":
            address = {"uri": f"http://{servers.HOST}:{request.getfixturevalue('nessie_port')}/api/v2", "ref": "main"}
        remote = request.getfixturevalue("remote_projects")
        return remote.shop(name, {"type": kind, **address, "warehouse": f"s3://{BUCKET}/{kind}", **files_in(port)})
    settings = {"type": kind, "warehouse": f"{tmp_path}/lake"}
    if kind == "jdbc":
        settings |= {"uri": f"jdbc:sqlite:file:{tmp_path}/lake.db", "jdbc.schema-version": "V1"}
    if kind == "rest":
        settings = patient(request.getfixturevalue("rest_port"))
    if kind == "hive":
        settings = request.getfixturevalue("metastore")
    return projects.shop(name, settings)


def test_commits_of_one_table_are_atomic(shop: Shop, request: pytest.FixtureRequest) -> None:
    """Of concurrent commits, each is in the history exactly once, or its writer has an error."""
    if request.node.callspec.params["shop"] == "glue":
        pytest.skip("moto does not check the version of the table that Iceberg's commit replaces")
    table = shop.source("events", "id int", "tblproperties ('commit.retry.num-retries' = '20')")

    def insert(number: int) -> int:
        try:
            shop.insert(table, f"({number})")
        except (Py4JJavaError, PySparkException):  # such as a commit that has lost each of its attempts
            return 0
        return 1

    with ThreadPoolExecutor(4) as threads:
        succeeded = list(threads.map(insert, range(16)))
    expected = Counter((number,) for number, is_in in enumerate(succeeded) if is_in)
    assert shop.rows(table) == expected and sum(succeeded) > 0
    assert len(shop.snapshots(table)) == sum(succeeded)


def test_readers_see_a_branch_only_once_it_is_published(shop: Shop) -> None:
    events = shop.source("events", "id int, v string")
    shop.model("audited", CHANGES, audit=True)
    shop.write("models/properties.yml", TESTS.format("unique"))
    shop.insert(events, "(1, 'a')")
    shop.run()
    head, built = shop.head(shop.built("audited")), shop.built("audited")
    shop.insert(events, "(1, 'b')", "(2, 'b')")
    assert "unique_audited_id" in shop.fails()
    assert shop.head(built) == head and shop.branches(built) == {"main"}
    shop.write("models/properties.yml", TESTS.format("not_null"))
    shop.run()
    assert shop.rows(built) == shop.rows(events)
    assert [summary.get("ip.checkpoint") is not None for _, _, summary in shop.snapshots(built)] == [True, True]


def test_models_are_committed_one_by_one(shop: Shop) -> None:
    """If a model fails, the models before it are published. No catalog commits them together."""
    events = shop.source("events", "id int, v string")
    shop.model("first", CHANGES)
    shop.model("second", "select id, v, cast(raise_error('no') as int) as x from {{ ip_changes(ref('first')) }}")
    shop.insert(events, "(1, 'a')")
    assert "no" in shop.fails()
    assert shop.rows(shop.built("first")) == shop.rows(events)
    shop.model("second", "select id, v, 0 as x from {{ ip_changes(ref('first')) }}")
    shop.run()
    assert shop.rows(shop.built("second"), "id, v") == shop.rows(events)
