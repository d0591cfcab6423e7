"""Spark's catalog settings, converted to PyIceberg's properties."""

from __future__ import annotations

import pytest

from iceberg_incremental.metadata.catalog_properties import CatalogProperties, Unmapped, map_catalog

SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
SESSION_CATALOG = "org.apache.iceberg.spark.SparkSessionCatalog"


def mapped(options: dict[str, str], *, others: dict[str, str] | None = None, spark_class: str = SPARK_CATALOG):
    settings = {"spark.sql.catalog.lake": spark_class, **(others or {})}
    settings |= {f"spark.sql.catalog.lake.{key}": value for key, value in options.items()}
    return map_catalog("lake", settings)


def properties(options: dict[str, str], **more) -> dict[str, object]:
    result = mapped(options, **more)
    assert isinstance(result, CatalogProperties), result
    assert result.catalog == "lake"
    return dict(result.properties)


def test_jdbc():
    options = {"type": "jdbc", "uri": "jdbc:postgresql://db/ice", "jdbc.user": "me", "jdbc.password": "p"}
    assert properties(options) == {"type": "sql", "uri": "postgresql+psycopg2://me:p@db/ice"}


REST_URI = {"uri": "https://rest.example"}
DELEGATION = "header.X-Iceberg-Access-Delegation"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {}),
        ({"warehouse": "w", "credential": "id:secret", "scope": "all", "oauth2-server-uri": "https://a.example"},) * 2,
        ({"header.X-Tenant": "t", "prefix": "p", "token": "abc"},) * 2,
        ({"rest.auth.type": "sigv4", "rest.signing-region": "eu-west-1"},
         {"rest.sigv4-enabled": "true", "rest.signing-region": "eu-west-1"}),
        ({"rest.auth.type": "basic", "rest.auth.basic.username": "u", "rest.auth.basic.password": "p"},
         {"auth": {"type": "basic", "basic": {"username": "u", "password": "p"}}}),
        ({"snapshot-loading-mode": "refs", "cache-enabled": "false", "io-impl": "org.example.FileIO"}, {}),
    ],
)  # fmt: skip
def test_rest(options: dict[str, str], expected: dict[str, object]):
    found = properties({"type": "rest", **REST_URI, **options})
    assert found == {"type": "rest", **REST_URI, DELEGATION: "", **expected}


@pytest.mark.parametrize("key", [DELEGATION, DELEGATION.lower()])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("vended-credentials", "vended-credentials"),
        ("*********(redacted)", "vended-credentials"),
        ("remote-signing", "remote-signing"),
    ],
)
def test_the_credentials_that_a_rest_catalog_is_asked_for(key: str, value: str, expected: str):
    assert properties({"type": "rest", **REST_URI, key: value}) == {"type": "rest", **REST_URI, key: expected}


@pytest.mark.parametrize(
    ("options", "others", "expected"),
    [
        ({"type": "hive", "uri": "thrift://m:9083"}, {}, {"uri": "thrift://m:9083"}),
        ({"uri": "thrift://m:9083"}, {}, {"uri": "thrift://m:9083"}),
        ({"type": "hive"}, {"spark.hadoop.hive.metastore.uris": "thrift://a:1,thrift://b:1"},
         {"uri": "thrift://a:1,thrift://b:1"}),
        ({"type": "hive"}, {"spark.hive.metastore.uris": "thrift://a:1"}, {"uri": "thrift://a:1"}),
        ({"type": "hive", "uri": "thrift://m:1"},
         {"spark.hadoop.hive.metastore.sasl.enabled": "true",
          "spark.hadoop.hive.metastore.kerberos.principal": "meta/_HOST@EXAMPLE.ORG"},
         {"uri": "thrift://m:1", "hive.kerberos-authentication": "true", "hive.kerberos-service-name": "meta"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("spark_class", [SPARK_CATALOG, SESSION_CATALOG])
def test_hive(options: dict[str, str], others: dict[str, str], expected: dict[str, str], spark_class: str):
    assert properties(options, others=others, spark_class=spark_class) == {"type": "hive", **expected}


def test_glue():
    options = {
        "type": "glue",
        "warehouse": "s3://bucket/warehouse",
        "client.region": "eu-west-1",
        "glue.id": "123456789012",
        "client.assume-role.arn": "arn:aws:iam::123456789012:role/reader",
    }
    assert properties(options) == {
        "type": "glue",
        "client.region": "eu-west-1",
        "glue.region": "eu-west-1",
        "glue.id": "123456789012",
        "client.role-arn": "arn:aws:iam::123456789012:role/reader",
    }


@pytest.mark.parametrize(
    ("warehouse", "default", "expected"),
    [
        ("/data/w", None, "/data/w"),
        ("file:/data/w", "hdfs://name:8020", "file:/data/w"),
        ("/data/w", "file:///", "/data/w"),
        ("/data/w", "hdfs://name:8020/", "hdfs://name:8020/data/w"),
        ("s3a://bucket/w", "hdfs://name:8020", "s3a://bucket/w"),
    ],
)
def test_hadoop(warehouse: str, default: str | None, expected: str):
    others = {"spark.hadoop.fs.defaultFS": default} if default else {}
    assert properties({"type": "hadoop", "warehouse": warehouse}, others=others) == {
        "type": "hadoop",
        "warehouse": expected,
    }


@pytest.mark.parametrize(
    ("implementation", "expected"),
    [
        ("org.apache.iceberg.jdbc.JdbcCatalog", "sql"),
        ("org.apache.iceberg.rest.RESTCatalog", "rest"),
        ("org.apache.iceberg.hive.HiveCatalog", "hive"),
        ("org.apache.iceberg.aws.glue.GlueCatalog", "glue"),
        ("org.apache.iceberg.hadoop.HadoopCatalog", "hadoop"),
    ],
)
def test_catalog_impl(implementation: str, expected: str):
    options = {"catalog-impl": implementation, "uri": "jdbc:sqlite:/c.db", "warehouse": "/w"}
    assert properties(options)["type"] == expected


@pytest.mark.parametrize(
    ("options", "others", "expected"),
    [
        ({"s3.endpoint": "http://s3:9000", "s3.access-key-id": "k", "s3.path-style-access": "true"}, {},
         {"s3.endpoint": "http://s3:9000", "s3.access-key-id": "k"}),
        ({"gcs.project-id": "p", "adls.sas-token.acct": "t", "adls.auth.shared-key.account.name": "acct"}, {},
         {"gcs.project-id": "p", "adls.sas-token.acct": "t", "adls.account-name": "acct"}),
        ({}, {"spark.hadoop.fs.s3a.access.key": "k", "spark.hadoop.fs.s3a.secret.key": "s",
              "spark.hadoop.fs.s3a.endpoint": "s3:9000", "spark.hadoop.fs.s3a.connection.ssl.enabled": "false"},
         {"s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.endpoint": "http://s3:9000"}),
        ({"s3.access-key-id": "own"}, {"spark.hadoop.fs.s3a.access.key": "k", "spark.hadoop.fs.s3a.endpoint": "s3"},
         {"s3.access-key-id": "own", "s3.endpoint": "https://s3"}),
    ],
)  # fmt: skip
def test_file_properties(options: dict[str, str], others: dict[str, str], expected: dict[str, str]):
    result = properties({"type": "rest", **REST_URI, **options}, others=others)
    assert result == {"type": "rest", **REST_URI, DELEGATION: "", **expected}


@pytest.mark.parametrize(
    ("spark_class", "options", "reason"),
    [
        ("org.example.OtherCatalog", {}, "its class is org.example.OtherCatalog, which is not Iceberg's"),
        (SESSION_CATALOG, {"type": "rest", **REST_URI},
         "a table that is not in its rest catalog may be one of Spark's own, of another format"),
        (SPARK_CATALOG, {"type": "nessie"}, "PyIceberg does not support nessie"),
        (SPARK_CATALOG, {"catalog-impl": "org.example.Impl"}, "PyIceberg does not support org.example.Impl"),
        (SPARK_CATALOG, {"type": "hive"}, "neither its uri nor hive.metastore.uris is among Spark's settings"),
        (SPARK_CATALOG, {"type": "rest"}, "its uri is not set"),
        (SPARK_CATALOG, {"type": "hadoop"}, "its warehouse is not set"),
        (SPARK_CATALOG, {"type": "rest", **REST_URI, "rest.auth.type": "google"},
         "PyIceberg does not support rest.auth.type google"),
        (SPARK_CATALOG, {"type": "jdbc", "uri": "jdbc:mysql://u:pw@db/ice"},
         "its database must be SQLite or PostgreSQL, and its uri is jdbc:mysql"),
        (SPARK_CATALOG, {"type": "jdbc", "uri": "jdbc:sqlite::memory:"},
         "its SQLite database is in the memory of Spark's process"),
        (SPARK_CATALOG, {"type": "jdbc", "uri": "jdbc:sqlite:file:c?mode=memory"},
         "its SQLite database is in the memory of Spark's process"),
    ],
)  # fmt: skip
def test_unsupported_catalogs(spark_class: str, options: dict[str, str], reason: str):
    assert mapped(options, spark_class=spark_class) == Unmapped("lake", reason)


def test_an_unknown_catalog():
    others = {"spark.sql.catalog.lakes": SPARK_CATALOG, "spark.sql.catalog.lakes.type": "rest"}
    assert map_catalog("lake", others) == Unmapped("lake", "Spark's settings do not contain this catalog")


REDACTED = "*********(redacted)"


def test_a_credential_that_spark_hides():
    options = {"type": "jdbc", "uri": "jdbc:postgresql://db/ice", "jdbc.user": "me", "jdbc.password": REDACTED}

    assert mapped(options) == Unmapped("lake", "Spark does not show its jdbc.password")


def test_file_credentials_that_spark_hides_are_omitted():
    others = {"spark.hadoop.fs.s3a.secret.key": REDACTED, "spark.hadoop.fs.s3a.endpoint": "s3"}

    assert properties({"type": "rest", **REST_URI}, others=others) == {
        "type": "rest",
        **REST_URI,
        DELEGATION: "",
        "s3.endpoint": "https://s3",
    }


def test_credentials_are_not_shown():
    result = mapped({"type": "jdbc", "uri": "jdbc:postgresql://db/ice", "jdbc.password": "hunter2"})
    assert "hunter2" not in repr(result)
