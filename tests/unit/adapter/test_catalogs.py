from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.catalogs import CatalogWriteIntegrationConfig, InvalidCatalogIntegrationConfigError

from dbt.adapters.spark_iceberg.catalogs import IcebergCatalog


def catalog(**config: Any) -> IcebergCatalog:
    return IcebergCatalog(
        CatalogWriteIntegrationConfig(name="lake", catalog_type="iceberg", **{"catalog_name": "lake_prod", **config})
    )


def test_the_write_integration_names_the_catalog_of_spark():
    relation = catalog().relation()
    assert (relation.catalog_name, relation.catalog_database) == ("lake_prod", "lake_prod")
    assert (relation.table_format, relation.file_format, relation.external_volume) == ("iceberg", None, None)
    assert relation.tblproperties == {}


def test_properties_of_its_tables():
    relation = catalog(
        file_format="ORC", external_volume="s3://b/v/", adapter_properties={"tblproperties": {"format-version": 3}}
    ).relation()
    assert relation.tblproperties == {"write.format.default": "orc", "format-version": 3}
    assert relation.external_volume == "s3://b/v"


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(InvalidCatalogIntegrationConfigError) as error:
        catalog(file_format="csv", table_format="default", adapter_properties={"tblproperties": [1], "warehouse": "w"})
    for wrong in (
        "lake. adapter_properties has 'warehouse': expected tblproperties",
        "table_format is 'default': expected 'iceberg'",
        "file_format is 'csv': expected one of parquet, orc, avro",
        "tblproperties is [1]: expected a mapping",
    ):
        assert wrong in str(error.value)
