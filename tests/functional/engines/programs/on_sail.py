"""Sail, a Spark Connect server in this process, which writes and reads tables in folders."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

from .contract import (
    APPENDED,
    BASE,
    DELETED,
    HIGHEST,
    LAST,
    LOWEST,
    MODEL_COLUMNS,
    NEW_VALUE,
    OF_PARTITION,
    REPLACEMENT,
    UPDATED,
    UPSERTED,
    listed,
    local_path,
    serve,
    values,
)


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
    """Create a table with the rows of BASE, in the folder that the hadoop catalog expects.

    ``mode``: how rows are changed, or an empty string for Sail's default.
    """
    schema, _, table = name.partition(".")
    properties = {"format-version": str(format_version)}
    if mode:
        properties |= {f"write.{statement}.mode": mode for statement in ("delete", "update", "merge")}
    quoted = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    by = " partitioned by (part)" if partitioned else ""
    session().sql(
        f"create table {table} (id bigint, part string, v string, amount decimal(10, 2)) using iceberg{by} "
        f"location '{catalog['warehouse']}/{schema}/{table}' tblproperties ({quoted})"
    ).collect()
    session().sql(f"insert into {table} values {values(BASE)}").collect()


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    table = name.partition(".")[2]
    statements = {
        "append": f"insert into {table} values {values(APPENDED)}",
        "last": f"insert into {table} values {values(LAST)}",
        "delete": f"delete from {table} where id = {DELETED}",
        "update": f"update {table} set v = '{NEW_VALUE}' where id = {UPDATED}",
        "upsert": f"merge into {table} t using (values {values(UPSERTED)} as s(id, part, v, amount)) s on t.id = s.id "
        "when matched then update set * when not matched then insert *",
        "overwrite": f"insert overwrite {table} values {values(REPLACEMENT)}",
    }
    opened = session()
    if step == "overwrite_partitions":
        rows = opened.sql(f"select * from values {values(OF_PARTITION)} as s(id, part, v, amount)")
        rows.writeTo(table).overwritePartitions()
    else:
        opened.sql(statements[step]).collect()


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    folder = Path(local_path(metadata)).parent.parent
    version = "" if snapshot is None else f" version as of {snapshot}"
    table = f"iceberg.`file://{folder}`{version}"
    if question == "count":
        return session().sql(f"select count(*) from {table}").collect()[0][0]
    condition = f"id between {LOWEST} and {HIGHEST}" if question == "filter" else "true"
    rows = session().sql(f"select {', '.join(MODEL_COLUMNS)} from {table} where {condition}").collect()
    return listed(row.asDict() for row in rows)


def sql(statement: str) -> list[list[str]]:
    """The rows of a statement, as texts."""
    return [[str(value) for value in row] for row in session().sql(statement).collect()]


if __name__ == "__main__":
    serve({"create": create, "write": write, "read": read, "started": started, "sql": sql})
