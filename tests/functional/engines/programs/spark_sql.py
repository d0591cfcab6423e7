"""What Spark SQL sends to create, change and read a table, for the engines that run it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

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
    values,
)

COLUMNS = "id bigint, part string, v string, amount decimal(10, 2)"
STATEMENTS = {
    "append": f"insert into {{0}} values {values(APPENDED)}",
    "last": f"insert into {{0}} values {values(LAST)}",
    "delete": f"delete from {{0}} where id = {DELETED}",
    "update": f"update {{0}} set v = '{NEW_VALUE}' where id = {UPDATED}",
    "upsert": f"merge into {{0}} t using (values {values(UPSERTED)} as s(id, part, v, amount)) s on t.id = s.id "
    "when matched then update set * when not matched then insert *",
    "overwrite": f"insert overwrite {{0}} values {values(REPLACEMENT)}",
}
"""The statement of each operation, by its name. ``{0}``: the table."""


def create(session: SparkSession, table: str, format_version: int, partitioned: bool, mode: str, clauses: str) -> None:
    """Create a table with the rows of BASE.

    ``mode``: how rows are changed, or an empty string for the engine's default; ``clauses``: further clauses.
    """
    properties = {"format-version": str(format_version)}
    if mode:
        properties |= {f"write.{statement}.mode": mode for statement in ("delete", "update", "merge")}
    quoted = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    by = "partitioned by (part) " if partitioned else ""
    session.sql(f"create table {table} ({COLUMNS}) using iceberg {by}{clauses} tblproperties ({quoted})").collect()
    session.sql(f"insert into {table} values {values(BASE)}").collect()


def write(session: SparkSession, table: str, step: str) -> None:
    """Commit one of the operations."""
    if step == "overwrite_partitions":
        rows = session.sql(f"select * from values {values(OF_PARTITION)} as s(id, part, v, amount)")
        rows.writeTo(table).overwritePartitions()
    else:
        session.sql(STATEMENTS[step].format(table)).collect()


def answer(frame: DataFrame, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    if question == "count":
        return frame.count()
    condition = f"id between {LOWEST} and {HIGHEST}" if question == "filter" else "true"
    return listed(row.asDict() for row in frame.where(condition).select(*MODEL_COLUMNS).collect())
