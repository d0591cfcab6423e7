"""What must never be read by anyone."""

from __future__ import annotations

import traceback

import pytest

from dbt.adapters.spark_iceberg.incremental.errors import MetadataAccessError, NotIcebergError
from dbt.adapters.spark_iceberg.incremental.metadata.failures import access_to
from dbt.adapters.spark_iceberg.incremental.metadata.secrets import scrub

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


def test_a_url_loses_its_password_however_it_is_written():
    properties = {"uri": "postgresql+psycopg2://me:p%40ss@db/ice"}

    assert scrub("me:p%40ss@db and me:p@ss@db", properties) == "me:***@db and me:***@db"


def test_what_is_no_secret_stays():
    properties = {"uri": "http://host:8181/ws", "warehouse": "w", "token": ""}

    assert scrub("cannot reach http://host:8181/ws", properties) == "cannot reach http://host:8181/ws"


def test_an_access_error_tells_no_secret_even_in_its_traceback():
    with pytest.raises(MetadataAccessError) as caught, access_to("catalog lake", {"token": SECRET}):
        raise ConnectionError(f"refused for {SECRET}")

    assert caught.value.msg == "PyIceberg cannot reach catalog lake: ConnectionError: refused for ***"
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_access_error_keeps_a_harmless_cause():
    cause = ConnectionError("refused")
    with pytest.raises(MetadataAccessError) as caught, access_to("catalog lake", {"token": SECRET}):
        raise cause

    assert caught.value.__cause__ is cause


@pytest.mark.parametrize(
    ("module", "remedy"),
    [
        ("psycopg2", "Install it: pip install 'dbt-spark-iceberg[postgres]'"),
        ("thrift", "Install it: pip install 'dbt-spark-iceberg[hive]'"),
        ("boto3", "Install it: pip install 'dbt-spark-iceberg[glue]'"),
        ("pyarrow", "Install it: pip install 'dbt-spark-iceberg[s3]'"),
        ("gcsfs", "Install gcsfs"),
    ],
)
def test_a_missing_package_is_named(module: str, remedy: str):
    missing = ModuleNotFoundError(f"No module named {module!r}", name=module)
    with pytest.raises(MetadataAccessError) as caught, access_to("catalog lake", {}):
        raise RuntimeError("not installed") from missing

    assert caught.value.msg.endswith(remedy)


def test_our_own_errors_pass_through():
    error = NotIcebergError("a view")
    with pytest.raises(NotIcebergError) as caught, access_to("catalog lake", {}):
        raise error

    assert caught.value is error
