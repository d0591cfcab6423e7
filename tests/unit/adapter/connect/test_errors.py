from __future__ import annotations

import grpc
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException, SparkException

from dbt.adapters.spark_iceberg.spark.connect import errors
from dbt.adapters.spark_iceberg.spark.messages import describe

PRINTED = """<_MultiThreadedRendezvous of RPC that terminated with:
\tstatus = StatusCode.UNAVAILABLE
\tdetails = "Socket closed"
\tdebug_error_string = "UNKNOWN:Error received from peer  {grpc_status:14}"
>"""
TRACE = """org.apache.spark.SparkException
\tat org.apache.spark.sql.X.y(X.scala:7)
Caused by: org.apache.iceberg.exceptions.ValidationException: Found conflicting files
\tat org.apache.iceberg.Z.z(Z.java:1)"""


def of_a_server(message, code=grpc.StatusCode.INTERNAL, trace=TRACE):
    return SparkException(message, server_stacktrace=trace, display_server_stacktrace=True, grpc_status_code=code)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("[X] No. SQLSTATE: 42P01", "[X] No. SQLSTATE: 42P01\nCaused by: ValidationException: Found conflicting files"),
        ("(org.apache.spark.SparkException) Writing failed: Found conflicting files",
         "SparkException: Writing failed: Found conflicting files"),
        ("(org.apache.spark.SparkException) [X] No: Found conflicting files", "[X] No: Found conflicting files"),
    ],
)  # fmt: skip
def test_a_spark_error_shows_message_and_root_cause_without_stack_trace(message, said):
    assert describe(of_a_server(message)) == said


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (SparkConnectGrpcException(PRINTED, grpc_status_code=grpc.StatusCode.UNAVAILABLE), "Socket closed"),
        (of_a_server("[INVALID_HANDLE.SESSION_CHANGED] Changed.\nMore."), "[INVALID_HANDLE.SESSION_CHANGED] Changed."),
        (ValueError("Received incorrect server side session identifier for request."), "Received incorrect server"),
    ],
)
def test_a_lost_server_is_reported_with_a_fix(error, found):
    said = describe(error)
    assert f"  Found: {found}" in said
    assert "To fix: run dbt again once the server is up." in said
    assert "rpc" not in said.lower()


def test_a_rejected_token():
    said = describe(of_a_server("Invalid authentication token", grpc.StatusCode.UNAUTHENTICATED))
    assert "  Expected: a token that the server accepts.\n  Found: Invalid authentication token\n" in said


@pytest.mark.parametrize(
    ("use_ssl", "found", "fix"),
    [
        (
            False,
            "Connection refused",
            "correct `host` and `port`, `remote` or `session_factory` in the profile",
        ),
        (True, "SSL_ERROR_SSL: WRONG_VERSION_NUMBER", "remove `use_ssl`"),
        (False, "ssl handshake failed", "set `use_ssl: true`"),
    ],
)
def test_an_unreachable_server(use_ssl, found, fix):
    said = errors.unreachable("h:1", use_ssl, found)
    assert said.startswith("The Spark Connect server at h:1 is unreachable.\n")
    assert fix in said
