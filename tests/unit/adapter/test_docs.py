from __future__ import annotations

from dbt.adapters.contracts.relation import RelationType

from dbt.adapters.spark_iceberg.relations import docs
from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergRelation
from iceberg_incremental.metadata.describe import describe

TABLE = [
    ("id", "bigint", "the key"),
    ("# odd", "string", None),
    ("", "", ""),
    ("# Metadata Columns", "", ""),
    ("_file", "string", ""),
    ("", "", ""),
    ("# Detailed Table Information", "", ""),
    ("Name", "lake.ops.t", ""),
    ("Comment", "it's a table", ""),
    ("Provider", "iceberg", ""),
    ("Owner", "me", ""),
    ("Statistics", "1109 bytes, 93 rows", None),
]
VIEW = [("id", "int", ""), ("", "", ""), ("# Detailed View Information", "", ""), ("Comment", "", "")]


def relation(name: str, kind: str = "table") -> SparkIcebergRelation:
    return SparkIcebergRelation.create(database="lake", schema="ops", identifier=name, type=RelationType(kind))


def test_one_catalog_contains_relations_with_and_without_statistics():
    stats = {"ip_epoch": ("Epoch", "7", "Commits so far")}
    table = docs.table(
        [
            docs.rows(relation("t"), describe(TABLE), stats),
            docs.rows(relation("v", "view"), describe(VIEW), {}),
        ]
    )
    rows = [dict(row) for row in table.rows]
    assert [row["table_name"] for row in rows] == ["t", "t", "v"]
    assert rows[0]["stats:ip_epoch:value"] == "7"
    assert rows[0]["stats:rows:value"] == 93
    assert rows[0]["table_comment"] == "it's a table"
    assert rows[2]["stats:rows:include"] is None
    assert [row["column_type"] for row in rows] == ["bigint", "string", "int"]


def test_one_relation():
    entry = docs.catalog_table(relation("t"), describe(TABLE), {})
    assert (entry.metadata.database, entry.metadata.owner, entry.columns["id"].comment) == ("lake", "me", "the key")
    assert entry.stats["bytes"].value == 1109
