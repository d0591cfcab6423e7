"""Names of datasets. The cases follow OpenLineage's naming conventions and its Spark listener."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.lineage.events import catalog_uri, dataset_name, symlink
from iceberg_incremental.table.history import TableName

TABLE = TableName("lake", "ops", "flights")


@pytest.mark.parametrize(
    ("location", "namespace", "name"),
    [
        ("/tmp/warehouse/ops/flights", "file", "/tmp/warehouse/ops/flights"),
        ("file:/tmp/warehouse/ops/flights", "file", "/tmp/warehouse/ops/flights"),
        ("file:///tmp/warehouse/ops/flights/", "file", "/tmp/warehouse/ops/flights"),
        ("s3://bucket/warehouse/ops/flights", "s3://bucket", "warehouse/ops/flights"),
        ("s3a://bucket/warehouse/ops/flights/", "s3://bucket", "warehouse/ops/flights"),
        ("gs://bucket/flights", "gs://bucket", "flights"),
        ("abfs://box@account.dfs.core.windows.net/a", "abfss://box@account.dfs.core.windows.net", "a"),
        ("wasb://box@account.blob.core.windows.net/a", "wasbs://box@account.blob.core.windows.net", "a"),
        ("hdfs://namenode:8020/warehouse/flights", "hdfs://namenode:8020", "/warehouse/flights"),
        ("s3://bucket", "s3://bucket", "/"),
    ],
)
def test_a_table_is_named_by_its_location(location: str, namespace: str, name: str) -> None:
    assert dataset_name(location) == (namespace, name)


@pytest.mark.parametrize(
    ("catalog", "namespace"),
    [
        ({"type": "rest", "uri": "http://host:8080", "warehouse": "s3a://b/w"}, "http://host:8080"),
        ({"catalog-impl": "org.apache.iceberg.rest.RESTCatalog", "uri": "http://host:8080"}, "http://host:8080"),
        ({"type": "hive", "uri": "thrift://metastore:10001"}, "hive://metastore:10001"),
        ({"type": "hadoop", "warehouse": "/tmp/warehouse"}, "file:/tmp/warehouse"),
        ({"type": "hadoop", "warehouse": "hdfs://nn:8020/tmp/warehouse"}, "hdfs://nn:8020/tmp/warehouse"),
        ({"type": "hadoop", "warehouse": "s3a://bucket/warehouse/"}, "s3://bucket/warehouse"),
        ({"type": "jdbc", "uri": "jdbc:postgresql://host/db?user=u&password=p"}, "jdbc:postgresql://host/db"),
    ],
)
def test_a_symlink_names_the_table_in_its_catalog(catalog: dict[str, str], namespace: str) -> None:
    assert symlink(TABLE, catalog) == (namespace, "ops.flights")


@pytest.mark.parametrize(
    "catalog", [{}, {"type": "hive"}, {"type": "glue", "warehouse": "s3://b/w"}, {"catalog-impl": "com.example.Own"}]
)
def test_a_catalog_without_a_name_has_no_symlink(catalog: dict[str, str]) -> None:
    assert symlink(TABLE, catalog) is None


def test_a_password_in_the_uri_is_not_shown() -> None:
    found = catalog_uri({"uri": "jdbc:postgresql://me:hunter2@host/db?password=hunter2"})
    assert found is not None
    assert "hunter2" not in found
    assert found.endswith("@host/db")
