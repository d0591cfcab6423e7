"""The definition of a view: from its metadata file, as in Iceberg's view specification, or as Spark shows it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..table.history import TableName
from ..table.layout import spark_type
from .describe import Description

_DIALECT = "spark"
_BEFORE_QUERY = "\nAS\n"


@dataclass(frozen=True)
class View:
    """A view: its query, and its columns with their Spark types.

    ``catalog``, ``namespace``: those of names in the query that do not state them. None if unknown.
    """

    sql: str
    columns: Mapping[str, str]
    catalog: str | None
    namespace: str | None

    @property
    def digest(self) -> str:
        """A digest of the definition, to detect changes."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:32]


def view_of(name: TableName, document: Mapping[str, Any]) -> View:
    """The view in a metadata document. Like Spark, reads a query of another dialect if there is none for Spark."""
    version = _with("version-id", document["current-version-id"], document["versions"])
    queries = [each for each in version["representations"] if each["type"] == "sql"]
    query = next((each for each in queries if each["dialect"].lower() == _DIALECT), queries[0])
    fields = _with("schema-id", version["schema-id"], document["schemas"])["fields"]
    namespace = version["default-namespace"]
    return View(
        query["sql"],
        {field["name"]: spark_type(field["type"]) for field in fields},
        version.get("default-catalog") or name.catalog,
        ".".join(namespace) or None,
    )


def _with(key: str, value: object, documents: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next(each for each in documents if each[key] == value)


def view_shown(described: Description, created: str) -> View | None:
    """An Iceberg view from the results of DESCRIBE TABLE EXTENDED and SHOW CREATE TABLE. None if they are ambiguous.

    The query follows the first line ``AS`` that is not in a name, a comment or a property. In Iceberg 1.12, DESCRIBE
    does not show the catalog and the namespace of names in the query, but those of the view.
    """
    properties = described.details.get("View Properties", "")
    if _BEFORE_QUERY in properties:  # SHOW CREATE TABLE may hide the values
        return None
    texts = [text for column in described.columns for text in (column.name, column.comment or "")]
    lines = sum(text.count(_BEFORE_QUERY) for text in (*texts, described.details.get("Comment", "")))
    query = created.split(_BEFORE_QUERY, lines + 1)[-1]
    return View(query, {column.name: column.type for column in described.columns}, None, None)
