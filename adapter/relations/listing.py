"""The tables that match patterns, as a query. Packages read them from `information_schema`, which Spark lacks."""

from __future__ import annotations

import re

from iceberg_incremental.sql import sql_string

from .lookup import RelationLookup
from .relation import SparkIcebergRelation


class Listing:
    """Lists the tables and views of a catalog."""

    def __init__(self, lookup: RelationLookup, default_catalog: str) -> None:
        self._lookup = lookup
        self._default_catalog = default_catalog

    def query(self, database: str | None, schema_pattern: str, table_pattern: str, exclude: str) -> str:
        """A query of the matching tables, with `table_schema`, `table_name` and `table_type` (`table` or `view`).

        The patterns are those of ILIKE. Only matching schemas are listed.
        """
        catalog = database or self._default_catalog
        is_schema, is_table, is_excluded = map(ilike, (schema_pattern, table_pattern, exclude))
        found = [
            f"({sql_string(schema)}, {sql_string(relation.identifier)}, {sql_string(relation.type)})"
            for schema in self._lookup.schemas(catalog)
            if is_schema.fullmatch(schema)
            for relation in self._lookup.relations_in(SparkIcebergRelation.create(database=catalog, schema=schema))
            if is_table.fullmatch(str(relation.identifier)) and not is_excluded.fullmatch(str(relation.identifier))
        ]
        # VALUES cannot be empty
        rows = ", ".join([*found, "(null, null, null)"])
        return (
            f"select * from values {rows} as listed(table_schema, table_name, table_type) where table_name is not null"
        )


def ilike(pattern: str) -> re.Pattern[str]:
    """An ILIKE pattern as a regular expression. `%` matches any text, `_` any character. A backslash escapes both."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wildcards = {"%": ".*", "_": "."}
    return re.compile("".join(wildcards.get(part) or re.escape(part[-1]) for part in parts), re.DOTALL | re.IGNORECASE)
