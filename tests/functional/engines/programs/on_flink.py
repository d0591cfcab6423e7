"""Flink in this computer's Java, which writes to a REST catalog, and reads a table from its metadata file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyflink

from . import java
from .contract import (
    APPENDED,
    BASE,
    CHANGES,
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
    Row,
    listed,
    serve,
    values,
)

LIBRARIES = sorted(map(str, Path(next(iter(pyflink.__path__)), "lib").glob("*.jar")))
OPENED = ("lang", "lang.reflect", "net", "nio", "text", "time", "util", "util.concurrent", "util.concurrent.atomic")
"""The packages of Java that Flink's serializers access."""
COLUMNS = {"id": "bigint not null", "part": "string", "v": "string", "amount": "decimal(10, 2)"}
SETTINGS = {
    "table.local-time-zone": "UTC",
    "parallelism.default": "1",
    # otherwise Flink drops a delete of a row that this job has not inserted
    "table.exec.sink.upsert-materialize": "NONE",
}
CATALOG = "org.apache.iceberg.jdbc.JdbcCatalog"


@cache
def gateway() -> Any:
    """Java with Flink's jars."""
    return java.started(LIBRARIES, [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in OPENED])


@cache
def stream() -> Any:
    """Flink's environment of streams, in which changelogs begin."""
    found = gateway().jvm.org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
    return found.getExecutionEnvironment().setParallelism(1)


@cache
def tables(mode: str) -> Any:
    """Flink SQL. ``mode``: Streaming or Batch."""
    table = gateway().jvm.org.apache.flink.table.api
    settings = getattr(table.EnvironmentSettings.newInstance(), f"in{mode}Mode")().build()
    if mode == "Streaming":
        opened = table.bridge.java.StreamTableEnvironment.create(stream(), settings)
    else:
        opened = table.TableEnvironment.create(settings)
    for key, value in SETTINGS.items():
        opened.getConfig().set(key, value)
    return opened


def run(statement: str, mode: str = "Streaming") -> Iterator[list[Any]]:
    """The rows of a statement, after its job has ended."""
    result = tables(mode).executeSql(statement)
    getattr(result, "await")()
    rows = result.collect()
    while rows.hasNext():
        row = rows.next()
        yield [row.getField(column) for column in range(row.getArity())]


def attach(name: str, properties: dict[str, str], mode: str) -> None:
    """Add a catalog to Flink, unless it has it."""
    if name not in tables(mode).listCatalogs():
        options = {"type": "iceberg", "cache-enabled": "false", **properties}
        quoted = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        list(run(f"create catalog {name} with ({quoted})", mode))


def served(catalog: dict[str, str], mode: str = "Streaming") -> None:
    """Add a REST catalog, which is named ``served``."""
    attach("served", {"catalog-type": catalog["type"], "uri": catalog["uri"]}, mode)


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool) -> None:
    """Create a table with the rows of BASE, and with a key unless it is partitioned."""
    served(catalog)
    columns = [f"{column} {kind}" for column, kind in COLUMNS.items()]
    clauses = "partitioned by (part) " if partitioned else ""
    key = [] if partitioned else ["primary key (id) not enforced"]
    statement = f"create table served.{name} ({', '.join([*columns, *key])}) {clauses}"
    list(run(f"{statement}with ('format-version' = '{format_version}')"))
    list(run(f"insert into served.{name} values {values(BASE)}"))


def changelog(changes: Iterable[tuple[str, Row]]) -> Any:
    """A table of Flink that is the changelog of these changes. Its columns are texts."""
    jvm, array = gateway().jvm, gateway().new_array
    types, flink = jvm.org.apache.flink.api.common.typeinfo, jvm.org.apache.flink.types
    rows = []
    for kind, row in changes:
        fields = array(jvm.Object, len(row))
        for number, value in enumerate(row):
            fields[number] = str(value)
        rows.append(flink.Row.ofKind(getattr(flink.RowKind, kind), fields))
    names, kinds = array(jvm.String, len(COLUMNS)), array(types.TypeInformation, len(COLUMNS))
    for number, column in enumerate(COLUMNS):
        names[number], kinds[number] = column, types.Types.STRING
    return tables("Streaming").fromChangelogStream(stream().fromCollection(rows, types.Types.ROW_NAMED(names, kinds)))


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    table, before = f"served.{name}", {row[0]: row for row in BASE}
    updated = before[UPDATED]
    changes: dict[str, tuple[tuple[str, Row], ...]] = {
        "delete": (("DELETE", before[DELETED]),),
        "update": (("UPDATE_BEFORE", updated), ("UPDATE_AFTER", (*updated[:2], NEW_VALUE, updated[3]))),
        "changelog": CHANGES,
    }
    upsert = "/*+ options('upsert-enabled' = 'true') */"
    statements = {
        "append": f"insert into {table} values {values(APPENDED)}",
        "last": f"insert into {table} values {values(LAST)}",
        "upsert": f"insert into {table} {upsert} values {values(UPSERTED)}",
        "upsert_new": f"insert into {table} {upsert} values {values(APPENDED)}",
        "overwrite": f"insert overwrite {table} values {values(REPLACEMENT)}",
        "overwrite_partitions": f"insert overwrite {table} values {values(OF_PARTITION)}",
    }
    mode = "Batch" if step.startswith("overwrite") else "Streaming"
    served(catalog, mode)
    if step in changes:
        tables(mode).createTemporaryView("changes", changelog(changes[step]))
        try:
            columns = "cast(id as bigint), part, v, cast(amount as decimal(10, 2))"
            list(run(f"insert into {table} select {columns} from changes"))
        finally:
            tables(mode).dropTemporaryView("changes")
    else:
        list(run(statements[step], mode))


@cache
def registered(metadata: str) -> str:
    """The name of a table in a catalog of this program, to which its metadata file was added."""
    jvm, folder = gateway().jvm, _FOLDER
    properties = {"uri": f"jdbc:sqlite:file:{folder}/catalog.db", "warehouse": folder, "jdbc.schema-version": "V1"}
    attach("built", {"catalog-impl": CATALOG, **properties}, "Batch")
    list(run("create database if not exists built.shop", "Batch"))
    configuration = jvm.org.apache.hadoop.conf.Configuration()
    catalog = jvm.org.apache.iceberg.CatalogUtil.loadCatalog(CATALOG, "built", properties, configuration)
    name = f"t{len(_REGISTERED)}"
    _REGISTERED.append(metadata)
    identifier = jvm.org.apache.iceberg.catalog.TableIdentifier.parse(f"shop.{name}")
    catalog.registerTable(identifier, metadata)
    return f"built.shop.{name}"


_FOLDER = mkdtemp(dir=Path.cwd())
_REGISTERED: list[str] = []


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    options = {} if snapshot is None else {"snapshot-id": str(snapshot)}
    hint = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    table = f"{registered(metadata)}{f' /*+ options({hint}) */' if hint else ''}"
    if question == "count":
        ((count,),) = run(f"select count(*) from {table}", "Batch")
        return count
    condition = f"id between {LOWEST} and {HIGHEST}" if question == "filter" else "true"
    # texts, because Java's times would reach this program as objects
    columns = ", ".join(f"cast(`{column}` as string)" for column in MODEL_COLUMNS)
    rows = run(f"select {columns} from {table} where {condition}", "Batch")
    found = (dict(zip(MODEL_COLUMNS, row, strict=True)) for row in rows)
    return listed(
        {
            **row,
            "id": int(row["id"]),
            "amount": Decimal(row["amount"]),
            "seen_at": datetime.fromisoformat(row["seen_at"]),
        }
        for row in found
    )


if __name__ == "__main__":
    serve({"create": create, "write": write, "read": read})
