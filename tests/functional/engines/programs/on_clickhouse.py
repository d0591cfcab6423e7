"""ClickHouse in this process (chdb), which writes tables in folders, and reads a table from its folder."""

from __future__ import annotations

import json
import os
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from chdb.session import Session

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
    listed,
    local_path,
    serve,
    values,
)

COLUMNS = "(id Nullable(Int64), part Nullable(String), v Nullable(String), amount Nullable(Decimal(10, 2)))"


@cache
def session() -> Session:
    """ClickHouse without data of its own. It opens only files below the current folder."""
    os.chdir("/")
    opened = Session()
    opened.query("set allow_insert_into_iceberg = 1")
    return opened


def query(statement: str, **settings: Any) -> list[dict[str, Any]]:
    """Run one statement, and return its rows."""
    given = ", ".join(f"{name} = {value}" for name, value in settings.items())
    try:
        text = str(session().query(f"{statement} settings {given}" if given else statement, "JSON"))
    except Exception:
        session.cache_clear()  # the next answer would begin with what this query has printed
        raise
    return json.loads(text)["data"] if text.strip() else []


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool) -> None:
    """Create a table with the rows of BASE, in the folder that the hadoop catalog expects."""
    schema, _, table = name.partition(".")
    folder = Path(catalog["warehouse"]) / schema / table
    by = " partition by part" if partitioned else ""
    query(
        f"create table {table} {COLUMNS} engine = IcebergLocal('{folder}/'){by}",
        iceberg_format_version=format_version,
        iceberg_use_version_hint=1,
        write_full_path_in_iceberg_metadata=1,
    )
    query(f"insert into {table} values {values(BASE)}")


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    table = name.partition(".")[2]
    statements = {
        "append": f"insert into {table} values {values(APPENDED)}",
        "last": f"insert into {table} values {values(LAST)}",
        "delete": f"alter table {table} delete where id = {DELETED}",
        "update": f"alter table {table} update v = '{NEW_VALUE}' where id = {UPDATED}",
    }
    query(statements[step])


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    file = Path(local_path(metadata))
    folder = file.parent.parent
    table = f"icebergLocal('{folder}/', settings iceberg_metadata_file_path = '{file.relative_to(folder)}')"
    settings = {} if snapshot is None else {"iceberg_snapshot_id": snapshot}
    if question == "count":
        return int(query(f"select count() as n from {table}", **settings)[0]["n"])
    condition = f"id between {LOWEST} and {HIGHEST}" if question == "filter" else "true"
    rows = query(f"select {', '.join(MODEL_COLUMNS)} from {table} where {condition}", **settings)
    return listed(
        {**row, "amount": Decimal(str(row["amount"])), "seen_at": datetime.fromisoformat(row["seen_at"])}
        for row in rows
    )


if __name__ == "__main__":
    serve({"create": create, "write": write, "read": read})
