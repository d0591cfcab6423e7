"""Secrets are removed from messages."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.spark_iceberg.spark.connections import SparkIcebergConnectionManager
from iceberg_incremental.secrets import mask, scrub

SECRET = "hunter2!/é"


@pytest.mark.parametrize(
    "properties",
    [
        {"jdbc.password": SECRET},
        {"token": SECRET},
        {"credential": SECRET},
        {"credential": f"client:{SECRET}"},
        {"s3.secret-access-key": SECRET},
        {"s3.access-key-id": SECRET},
        {"adls.account-key": SECRET},
        {"adls.sas-token.account": SECRET},
        {"header.Authorization": SECRET},
        {"header.Authorization": f"Bearer {SECRET}"},
        {"auth": {"type": "basic", "basic": {"username": "me", "password": SECRET}}},
        {"uri": "postgresql+psycopg2://me:hunter2%21%2F%C3%A9@db/ice"},
        {"uri": "postgresql+psycopg2://db/ice?user=me&password=hunter2%21%2F%C3%A9"},
    ],
)
@pytest.mark.parametrize("text", ["{0}", "login of client:{0} failed", "{0}{0}"])
def test_scrubbed(properties: dict[str, object], text: str):
    shown = scrub(text.format(SECRET), properties)

    assert SECRET not in shown
    assert "***" in shown


def test_encoded_and_plain_passwords_of_urls_are_removed():
    properties = {"uri": "postgresql+psycopg2://me:p%40ss@db/ice"}

    assert scrub("me:p%40ss@db and me:p@ss@db", properties) == "me:***@db and me:***@db"


def test_other_values_are_kept():
    properties = {"uri": "http://host:8181/ws", "warehouse": "w", "token": ""}

    assert scrub("cannot reach http://host:8181/ws", properties) == "cannot reach http://host:8181/ws"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("//db/ice?user=me&password=hunter2&ssl=true", "//db/ice?user=me&password=***&ssl=true"),
        ("cannot reach //me:hunter2@db:5432/ice", "cannot reach //me:***@db:5432/ice"),
        ("(s3.secret-access-key=hunter2, s3.region=eu)", "(s3.secret-access-key=***, s3.region=eu)"),
        ("adls.account-key=hunter2; adls.account-name=me", "adls.account-key=***; adls.account-name=me"),
        ("connection-string=hunter2", "connection-string=***"),
        ("at http://host:8181/ws, 3 tokens left", "at http://host:8181/ws, 3 tokens left"),
    ],
)
def test_credentials_are_masked_by_the_names_of_their_properties(text: str, shown: str):
    assert mask(text) == shown


def test_no_password_of_a_catalog_uri_in_an_error():
    """The message of Iceberg's JdbcClientPool contains the whole URI."""
    uri = "jdbc:postgresql://db/lake?user=dbt&password=hunter2"
    manager = object.__new__(SparkIcebergConnectionManager)
    manager.profile = SimpleNamespace(
        credentials=SimpleNamespace(server_side_parameters={"spark.sql.catalog.lake.uri": uri})
    )
    with pytest.raises(DbtDatabaseError) as caught, manager.exception_handler("select 1"):
        raise RuntimeError(f"UncheckedSQLException: Failed to connect: {uri}")
    assert "hunter2" not in str(caught.value)
