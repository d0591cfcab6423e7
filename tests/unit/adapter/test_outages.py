from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.messages import clean
from dbt.adapters.spark_iceberg.outages import way_out


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("java.io.IOException: No space left on device", "make space, then run again"),
        ("[SQLITE_FULL] Insertion failed because database is full", "make space, then run again"),
        ("Cannot determine whether the commit was successful or not", "run again when the catalog answers"),
        ("Connect to http://h:1 failed: Connection refused", "run again when it does"),
        ("An I/O error occurred while sending to the backend.", "run again when it does"),
        ("null (Service: S3, Status Code: 503, Request ID: null)", "run again when it does"),
    ],
)
def test_an_outage_says_what_to_do_once(message: str, said: str):
    cleaned = clean(message)

    assert cleaned.startswith(f"{message}\n")
    assert f"  What to do: {said}" in cleaned
    assert clean(cleaned) == cleaned


def test_an_error_of_the_statement_has_no_such_advice():
    assert way_out("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012") is None
