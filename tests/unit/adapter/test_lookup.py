from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.relations.lookup import RelationLookup, folds_case
from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergRelation


@pytest.mark.parametrize(
    ("catalog", "settings", "expected"),
    [
        ("spark_catalog", {}, True),
        ("lake", {}, False),
        ("lake", {"spark.sql.catalog.lake.type": "hive"}, True),
        ("lake", {"spark.sql.catalog.lake.type": "rest"}, False),
        ("lake", {"spark.sql.catalog.lake.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"}, True),
        ("lake", {"spark.sql.catalog.lake.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog"}, False),
        ("lake", {"spark.sql.catalog.other.type": "hive"}, False),
    ],
)
def test_hive_and_glue_store_names_in_lower_case(catalog, settings, expected):
    assert folds_case(catalog, settings) is expected


@pytest.mark.parametrize(
    ("schema", "settings", "expected"),
    [
        ("Mixed", {}, True),
        ("mixed", {}, False),
        ("UPPER", {}, False),
        ("upper", {}, True),
        ("new", {}, False),  # dbt has created it
        ("Mixed", {"spark.sql.catalog.lake.type": "hive"}, False),
    ],
)
def test_schemas_that_dbt_overlooks(schema, settings, expected):
    class Connections:
        def catalog_file(self, catalog: str):
            assert catalog == "lake"

        def rows(self, sql: str):
            assert sql == "show schemas in `lake`"
            return [("mixed",), ("UPPER",), ("`a b`",)]

    lookup = RelationLookup(Connections(), "lake", lambda: settings)
    wanted = SparkIcebergRelation.create(database="lake", schema=schema)
    assert not lookup.is_overlooked(wanted)  # dbt has not listed any schema
    assert lookup.schemas("`lake`") == ["mixed", "UPPER", "a b"]
    assert lookup.is_overlooked(wanted) is expected
