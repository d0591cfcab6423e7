"""The definition of a view, from its metadata file and from what Spark 4.1 with Iceberg 1.12 shows."""

from __future__ import annotations

import pytest

from iceberg_incremental.metadata.describe import describe
from iceberg_incremental.metadata.views import View, view_of, view_shown
from iceberg_incremental.table.history import TableName

VIEW = TableName("lake", "ops", "seen")
QUERY = "select id\nAS\nx from t\nAS\n"
SPARK = {"type": "sql", "sql": QUERY, "dialect": "Spark"}
TRINO = {"type": "sql", "sql": "select 1", "dialect": "trino"}


def document(*representations, catalog=None, namespace=("ops",)):
    version = {
        "version-id": 2,
        "schema-id": 1,
        "representations": list(representations),
        "default-namespace": list(namespace),
        **({} if catalog is None else {"default-catalog": catalog}),
    }
    fields = [{"id": 1, "name": "x y", "type": "timestamp"}, {"id": 2, "name": "v", "type": "long"}]
    return {
        "current-version-id": 2,
        "versions": [{**version, "version-id": 1, "schema-id": 0, "representations": [TRINO]}, version],
        "schemas": [{"schema-id": 0, "fields": []}, {"schema-id": 1, "fields": fields}],
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (document(TRINO, SPARK), (QUERY, "lake", "ops")),
        (document(TRINO), ("select 1", "lake", "ops")),
        (document(SPARK, catalog="archive", namespace=["a.b"]), (QUERY, "archive", "a.b")),
        (document(SPARK, namespace=[]), (QUERY, "lake", None)),
        (document(SPARK, namespace=["a", "b"]), (QUERY, "lake", "a.b")),
    ],
)
def test_a_metadata_file(given, expected):
    found = view_of(VIEW, given)
    assert (found.sql, found.catalog, found.namespace) == expected
    assert found.columns == {"x y": "timestamp_ntz", "v": "bigint"}


def shown(comment="", column_comment="", properties="[]"):
    """What DESCRIBE TABLE EXTENDED and SHOW CREATE TABLE show."""
    created = (
        f"CREATE VIEW lake.ops.seen (\n  x COMMENT '{column_comment}',\n  v)\nCOMMENT '{comment}'\n"
        f"TBLPROPERTIES (\n  {properties[1:-1]})\nAS\n{QUERY}\n"
    )
    rows = [
        ("x", "int", column_comment),
        ("v", "string", ""),
        ("", "", ""),
        ("# Detailed View Information", "", ""),
        ("Comment", comment, ""),
        ("View Catalog and Namespace", "lake.ops", ""),
        ("View Properties", properties, ""),
    ]
    return describe(rows), created


@pytest.mark.parametrize("text", ["", "one\nAS\nselect 1", "\nAS\nAS\nAS\n", "AS\nx\nAS", "\nAS"])
def test_lines_in_comments(text):
    expected = View(QUERY + "\n", {"x": "int", "v": "string"}, None, None)
    assert view_shown(*shown(text)) == view_shown(*shown(text, text)) == view_shown(*shown("", text)) == expected


def test_a_line_in_a_property():
    assert view_shown(*shown(properties="['k' = 'a\nAS\nb']")) is None
