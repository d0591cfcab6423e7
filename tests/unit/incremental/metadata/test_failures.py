"""Errors while metadata is read contain a fix and no credentials."""

from __future__ import annotations

import traceback

import pytest

from iceberg_incremental.errors import MetadataAccessError, NotIcebergError
from iceberg_incremental.metadata.failures import access_to

SECRET = "hunter2!/é"


def test_an_access_error_shows_no_secret_even_in_its_traceback():
    with pytest.raises(MetadataAccessError) as caught, access_to("catalog lake", {"token": SECRET}):
        raise ConnectionError(f"refused for {SECRET}")

    found, what_to_do, _ = caught.value.msg.splitlines()
    assert found == "PyIceberg cannot reach catalog lake: ConnectionError: refused for ***"
    assert what_to_do.startswith("  To fix: run again when")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_access_error_keeps_a_harmless_cause():
    cause = ConnectionError("refused")
    with pytest.raises(MetadataAccessError) as caught, access_to("catalog lake", {"token": SECRET}):
        raise cause

    assert caught.value.__cause__ is cause


@pytest.mark.parametrize(
    ("module", "remedy"),
    [
        ("psycopg2", "To fix: pip install 'dbt-spark-iceberg[catalogs]'"),
        ("thrift", "To fix: pip install 'dbt-spark-iceberg[catalogs]'"),
        ("boto3", "To fix: pip install 'dbt-spark-iceberg[catalogs]'"),
        ("pyarrow", "To fix: pip install 'dbt-spark-iceberg[catalogs]'"),
        ("gcsfs", "To fix: pip install gcsfs"),
    ],
)
def test_a_missing_package_is_named(module: str, remedy: str):
    missing = ModuleNotFoundError(f"No module named {module!r}", name=module)
    with pytest.raises(MetadataAccessError) as caught, access_to("catalog lake", {}):
        raise RuntimeError("not installed") from missing

    assert caught.value.msg.splitlines()[-2].endswith(remedy)


def test_this_packages_errors_are_raised_unchanged():
    error = NotIcebergError("a view")
    with pytest.raises(NotIcebergError) as caught, access_to("catalog lake", {}):
        raise error

    assert caught.value is error
