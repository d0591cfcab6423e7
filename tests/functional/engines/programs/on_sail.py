"""Sail, a Spark Connect server in this process, which writes and reads tables in folders."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

from . import spark_sql
from .contract import local_path, serve


def started() -> int:
    """Start a server, and return its port."""
    server = SparkConnectServer()
    server.start(background=True)
    address = server.listening_address
    assert address is not None
    _SERVERS.append(server)
    return address[1]


_SERVERS: list[SparkConnectServer] = []


@cache
def session() -> SparkSession:
    """A session in UTC."""
    opened = SparkSession.builder.remote(f"sc://127.0.0.1:{started()}").create()
    opened.conf.set("spark.sql.session.timeZone", "UTC")
    return opened


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool, mode: str = "") -> None:
    """Create a table with the rows of BASE, in the folder that the hadoop catalog expects."""
    schema, _, table = name.partition(".")
    location = f"location '{catalog['warehouse']}/{schema}/{table}'"
    spark_sql.create(session(), table, format_version, partitioned, mode, location)


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    spark_sql.write(session(), name.partition(".")[2], step)


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    folder = Path(local_path(metadata)).parent.parent
    version = "" if snapshot is None else f" version as of {snapshot}"
    return spark_sql.answer(session().sql(f"select * from iceberg.`file://{folder}`{version}"), question)


def sql(statement: str) -> list[list[str]]:
    """The rows of a statement, as texts."""
    return [[str(value) for value in row] for row in session().sql(statement).collect()]


if __name__ == "__main__":
    serve({"create": create, "write": write, "read": read, "started": started, "sql": sql})
