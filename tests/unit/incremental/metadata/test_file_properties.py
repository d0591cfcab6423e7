"""Spark's file system settings, converted to properties of PyIceberg's FileIO."""

from __future__ import annotations

import pytest

from iceberg_incremental.metadata.catalog_properties import file_properties, with_default_scheme, with_own_values

S3A = "spark.hadoop.fs.s3a."


def test_the_catalogs_settings_override_hadoops():
    hadoop = {f"{S3A}access.key": "a", f"{S3A}endpoint.region": "eu"}
    found = file_properties({"s3.access-key-id": "b", "s3.path-style-access": "true", "other": "x"}, hadoop)
    assert found == {"s3.access-key-id": "b", "s3.region": "eu"}


def test_a_hidden_credential_is_taken_from_the_profile():
    hidden = "*********(redacted)"
    settings = {"spark.sql.catalog.lake.token": hidden, "spark.sql.catalog.other.token": hidden, "uri": "new"}
    own = {"spark.sql.catalog.lake.token": "mine", "uri": "old"}
    assert with_own_values(settings, own) == {**settings, "spark.sql.catalog.lake.token": "mine"}


def test_a_redacted_credential_is_omitted():
    assert file_properties({}, {f"{S3A}secret.key": "*********(redacted)"}) == {}


@pytest.mark.parametrize(
    ("endpoint", "tls", "expected"),
    [
        ("minio:9000", "false", "http://minio:9000"),
        ("minio:9000", "true", "https://minio:9000"),
        ("http://minio", "true", "http://minio"),
    ],
)
def test_an_endpoint_has_a_scheme(endpoint, tls, expected):
    settings = {f"{S3A}endpoint": endpoint, f"{S3A}connection.ssl.enabled": tls}
    assert file_properties({}, settings) == {"s3.endpoint": expected}


@pytest.mark.parametrize(
    ("location", "default", "expected"),
    [
        ("/lake", "hdfs://name/", "hdfs://name/lake"),
        ("/lake", "file:///", "/lake"),
        ("s3://bucket/lake", "hdfs://name", "s3://bucket/lake"),
    ],
)
def test_a_location_without_a_scheme_is_on_the_default_file_system(location, default, expected):
    assert with_default_scheme(location, {"spark.hadoop.fs.defaultFS": default}) == expected
