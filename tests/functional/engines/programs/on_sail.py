"""Sail, a Spark Connect server in this process, which writes to a REST catalog, and reads a table from its folder."""

from __future__ import annotations

import os
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
def session(catalog: str = "") -> SparkSession:
    """A session in UTC. ``catalog``: the address of a REST catalog, which is named ``served``."""
    if catalog:
        os.environ["SAIL_CATALOG__LIST"] = f'[{{name="served", type="iceberg-rest", uri="{catalog}"}}]'
    opened = SparkSession.builder.remote(f"sc://127.0.0.1:{started()}").create()
    opened.conf.set("spark.sql.session.timeZone", "UTC")
    return opened


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool, mode: str = "") -> None:
    """Create a table with the rows of BASE. ``mode``: how rows are changed, or an empty string for Sail's default."""
    properties = {"format-version": str(format_version)}
    if mode:
        properties |= {f"write.{statement}.mode": mode for statement in ("delete", "update", "merge")}
    listed_ = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    by = " partitioned by (part)" if partitioned else ""
    columns = "(id bigint, part string, v string, amount decimal(10, 2))"
    opened = session(catalog["uri"])
    opened.sql(f"create table served.{name} {columns} using iceberg{by} tblproperties ({listed_})").collect()
    opened.sql(f"insert into served.{name} values {values(BASE)}").collect()


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    table = f"served.{name}"
    statements = {
        "append": f"insert into {table} values {values(APPENDED)}",
        "last": f"insert into {table} values {values(LAST)}",
        "delete": f"delete from {table} where id = {DELETED}",
        "update": f"update {table} set v = '{NEW_VALUE}' where id = {UPDATED}",
        "upsert": f"merge into {table} t using (values {values(UPSERTED)} as s(id, part, v, amount)) s on t.id = s.id "
        "when matched then update set * when not matched then insert *",
        "overwrite": f"insert overwrite {table} values {values(REPLACEMENT)}",
    }
    opened = session(catalog["uri"])
    if step == "overwrite_partitions":
        rows = opened.sql(f"select * from values {values(OF_PARTITION)} as s(id, part, v, amount)")
        rows.writeTo(table).overwritePartitions()
    else:
        opened.sql(statements[step]).collect()


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    folder = Path(metadata.removeprefix("file://")).parent.parent
    version = "" if snapshot is None else f" version as of {snapshot}"
    table = f"iceberg.`file://{folder}`{version}"
    if question == "count":
        return session().sql(f"select count(*) from {table}").collect()[0][0]
    condition = f"id between {LOWEST} and {HIGHEST}" if question == "filter" else "true"
    rows = session().sql(f"select {', '.join(MODEL_COLUMNS)} from {table} where {condition}").collect()
    return listed(row.asDict() for row in rows)


if __name__ == "__main__":
    serve({"create": create, "write": write, "read": read, "started": started})
