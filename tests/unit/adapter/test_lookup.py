from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.relations.lookup import folds_case


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
