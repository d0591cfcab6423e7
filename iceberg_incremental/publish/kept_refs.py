"""Whether a catalog has kept a branch or a tag that it was asked to create.

A successful response proves nothing: over REST, Nessie 0.99 accepts branches and tags, and creates none.
"""

from __future__ import annotations

from ..metadata import MetadataReader
from ..spark.port import Spark
from ..sql import sql_string
from ..table.history import TableName


def has_ref(spark: Spark, reader: MetadataReader, table: TableName, name: str) -> bool:
    """Whether a table has a branch or a tag now. A statement is sent only if nothing else can read the metadata.

    Raises StatementError.
    """
    history = reader.load_without_statement(table)
    if history is not None:
        return name in history.refs
    spark.refresh(table)
    return bool(spark.rows(f"select 1 from {table.sql}.refs where name = {sql_string(name)}"))
