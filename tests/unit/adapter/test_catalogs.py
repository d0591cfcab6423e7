from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.catalogs import CatalogWriteIntegrationConfig, InvalidCatalogIntegrationConfigError

from dbt.adapters.spark_iceberg.relations.catalogs import IcebergCatalog, IcebergCatalogRelation, translated


def catalog(**config: Any) -> IcebergCatalog:
    return IcebergCatalog(
        CatalogWriteIntegrationConfig(name="lake", catalog_type="iceberg", **{"catalog_name": "lake_prod", **config})
    )


def test_the_write_integration_names_the_spark_catalog():
    relation = catalog().relation()
    assert (relation.catalog_name, relation.catalog_database) == ("lake_prod", "lake_prod")
    assert (relation.table_format, relation.file_format, relation.external_volume) == ("iceberg", None, None)
    assert relation.tblproperties == {}


def test_properties_of_tables():
    relation = catalog(
        file_format="ORC", external_volume="s3://b/v/", adapter_properties={"tblproperties": {"format-version": 3}}
    ).relation()
    assert relation.tblproperties == {"write.format.default": "orc", "format-version": 3}
    assert relation.external_volume == "s3://b/v"


def test_all_problems_are_reported_at_once():
    with pytest.raises(InvalidCatalogIntegrationConfigError) as error:
        catalog(file_format="csv", table_format="default", adapter_properties={"tblproperties": [1], "warehouse": "w"})
    for wrong in (
        "lake. adapter_properties has 'warehouse': expected tblproperties",
        "table_format is 'default': expected 'iceberg'",
        "file_format is 'csv': expected one of parquet, orc, avro",
        "tblproperties is [1]: expected a mapping",
    ):
        assert wrong in str(error.value)


def of_second_format(**config: Any) -> IcebergCatalogRelation:
    entry: Any = SimpleNamespace(name="lake", catalog_type="glue", table_format="iceberg", config=config)
    return IcebergCatalog(translated(entry, "spark_iceberg")).relation()


def test_a_catalog_of_the_second_format_has_its_own_name_in_spark():
    assert of_second_format(snowflake={"external_volume": "v"}) == IcebergCatalogRelation(
        "lake", "lake", "iceberg", None, None, {}
    )


def test_the_adapters_block_in_the_second_format():
    block = {"catalog_database": "prod", "external_volume": "s3://b/v/", "file_format": "avro"}
    assert of_second_format(spark_iceberg={**block, "tblproperties": {"a": 1}}) == IcebergCatalogRelation(
        "prod", "prod", "iceberg", "avro", "s3://b/v", {"write.format.default": "avro", "a": 1}
    )


def test_unknown_fields_of_the_second_format():
    with pytest.raises(InvalidCatalogIntegrationConfigError) as error:
        of_second_format(spark_iceberg={"warehouse": "w", "uri": "u"})
    assert (
        "lake. config.spark_iceberg has 'warehouse', 'uri': expected only catalog_database, external_volume, "
        "file_format, tblproperties"
    ) in str(error.value)
