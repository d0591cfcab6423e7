"""Reads a Glue catalog with Spark's settings. PyIceberg creates the tables: Spark's Glue client is a jar of 70 MB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import boto3
import pytest
import requests
from moto.server import ThreadedMotoServer
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from iceberg_incremental.errors import NotIcebergError
from iceberg_incremental.metadata.open import open_reader
from iceberg_incremental.table.history import TableName

from . import servers

pytestmark = pytest.mark.core


def no_spark(sql: str) -> list[tuple[str, ...]]:
    raise AssertionError(f"asked Spark: {sql}")


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mapping[str, str]]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    server = ThreadedMotoServer(ip_address=servers.HOST, port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    requests.post(f"http://{host}:{port}/moto-api/reset", timeout=30).raise_for_status()  # its state outlives it
    yield {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
        "spark.sql.catalog.lake.glue.endpoint": f"http://{host}:{port}",
        "spark.sql.catalog.lake.client.region": "eu-west-1",
        "spark.sql.catalog.lake.warehouse": str(tmp_path),
    }
    server.stop()


def test_glue(settings: Mapping[str, str], tmp_path: Path):
    catalog = load_catalog(
        "lake",
        type="glue",
        warehouse=str(tmp_path),
        **{"glue.endpoint": settings["spark.sql.catalog.lake.glue.endpoint"], "glue.region": "eu-west-1"},
    )
    catalog.create_namespace("ops")
    made = catalog.create_table(
        "ops.flights", Schema(NestedField(1, "id", LongType())), location=str(tmp_path / "flights")
    )
    reader = open_reader("auto", lambda: settings, {}, no_spark)

    history = reader.load(TableName("lake", "ops", "flights"))

    assert history is not None
    assert history.table_uuid == str(made.metadata.table_uuid)
    assert history.current is None
    with made.transaction() as transaction:
        transaction.set_properties(k="v")
    changed = reader.load(TableName("lake", "ops", "flights"))
    assert changed is not None
    assert changed.properties["k"] == "v"
    assert [dict(each.properties) for each in reader.older(changed)] == [dict(history.properties)]
    assert reader.load(TableName("lake", "ops", "missing")) is None


@pytest.mark.parametrize(
    "table",
    [
        {"Parameters": {"classification": "parquet"}},
        {"TableType": "VIRTUAL_VIEW", "ViewOriginalText": "select 1", "Parameters": {"presto_view": "true"}},
    ],
)
def test_what_is_no_iceberg_table(settings: Mapping[str, str], table: dict[str, object]):
    glue = boto3.client("glue", endpoint_url=settings["spark.sql.catalog.lake.glue.endpoint"], region_name="eu-west-1")
    glue.create_database(DatabaseInput={"Name": "ops"})
    glue.create_table(DatabaseName="ops", TableInput={"Name": "other", **table})

    with pytest.raises(NotIcebergError, match="a view or a table of another format; expected an Iceberg"):
        open_reader("auto", lambda: settings, {}, no_spark).load(TableName("lake", "ops", "other"))
