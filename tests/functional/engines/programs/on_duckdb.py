"""DuckDB, which writes to a REST catalog, and reads a table from its metadata file.

Its extensions are in wheels of the package index, so that it downloads nothing itself.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb

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

EXTENSIONS = ("httpfs", "avro", "iceberg")


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """A connection with the extensions, in UTC."""
    opened = duckdb.connect(config={"autoinstall_known_extensions": "false", "allow_unsigned_extensions": "false"})
    for name in EXTENSIONS:
        spec = find_spec(f"duckdb_extension_{name}")
        assert spec is not None and spec.origin is not None
        (file,) = Path(spec.origin).parent.glob(f"extensions/*/{name}.duckdb_extension")
        opened.load_extension(str(file))
    return opened


@cache
def attached(uri: str) -> duckdb.DuckDBPyConnection:
    """A connection to a REST catalog, which is named ``served``."""
    opened = connection()
    opened.execute(f"attach '' as served (type iceberg, endpoint '{uri}', authorization_type 'none')")
    return opened


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool) -> None:
    """Create a table with the rows of BASE."""
    opened = attached(catalog["uri"])
    by = "partitioned by (part) " if partitioned else ""
    columns = "(id bigint, part varchar, v varchar, amount decimal(10, 2))"
    opened.execute(f"create table served.{name} {columns} {by}with ('format-version' = '{format_version}')")
    opened.execute(f"insert into served.{name} values {values(BASE)}")


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    table = f"served.{name}"
    statements = {
        "append": f"insert into {table} values {values(APPENDED)}",
        "last": f"insert into {table} values {values(LAST)}",
        "delete": f"delete from {table} where id = {DELETED}",
        "update": f"update {table} set v = '{NEW_VALUE}' where id = {UPDATED}",
        "upsert": f"merge into {table} t using (values {values(UPSERTED)}) s(id, part, v, amount) on t.id = s.id "
        "when matched then update when not matched then insert",
    }
    attached(catalog["uri"]).execute(statements[step])


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    version = "" if snapshot is None else f", snapshot_from_id => {snapshot}"
    table = f"iceberg_scan('{metadata}'{version})"
    if question == "count":
        ((count,),) = connection().execute(f"select count(*) from {table}").fetchall()
        return count
    condition = f"id between {LOWEST} and {HIGHEST}" if question == "filter" else "true"
    columns = ", ".join("make_timestamp(epoch_us(seen_at))" if each == "seen_at" else each for each in MODEL_COLUMNS)
    rows = connection().execute(f"select {columns} from {table} where {condition}").fetchall()
    return listed(dict(zip(MODEL_COLUMNS, row, strict=True)) for row in rows)


if __name__ == "__main__":
    serve({"create": create, "write": write, "read": read})
