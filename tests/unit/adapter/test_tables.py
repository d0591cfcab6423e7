from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.catalogs import CatalogWriteIntegrationConfig, DbtCatalogIntegrationNotFoundError
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.relations.catalogs import IcebergCatalog
from dbt.adapters.spark_iceberg.relations.placement import Placement
from dbt.adapters.spark_iceberg.relations.tables import Tables

ARCHIVE = CatalogWriteIntegrationConfig(
    name="archive",
    catalog_type="iceberg",
    catalog_name="cold",
    external_volume="s3://cold/",
    file_format="orc",
    adapter_properties={"tblproperties": {"owner": "ops"}},
)


class Node:
    unique_id = "model.shop.orders"

    def __init__(self, database: str, **config: Any) -> None:
        self.database, self.config = database, config


def placement() -> Placement:
    known = {"archive": IcebergCatalog(ARCHIVE)}

    def integration(name: str) -> IcebergCatalog:
        if name not in known:
            raise DbtCatalogIntegrationNotFoundError(name, known)
        return known[name]

    found = Placement(integration, "lake")
    found.note(ARCHIVE)
    return found


@pytest.mark.parametrize(
    ("database", "node", "expected"),
    [
        (None, None, "lake"),
        (" prod ", None, "prod"),
        (None, Node("lake"), "lake"),
        ("prod", Node("lake", catalog_name="archive"), "cold"),
    ],
)
def test_a_model_is_built_in_the_catalog_that_it_names(database, node, expected):
    assert placement().database(database, node) == expected


@pytest.mark.parametrize("schema", ["a.", ".a", "a..b", "."])
def test_a_level_of_a_schema_has_a_name(schema):
    assert placement().schema("a b.c") == "a b.c"
    with pytest.raises(DbtRuntimeError, match=r"orders has the schema `.*`, in which a level has no name"):
        placement().schema(schema, "orders")


def test_a_config_without_get_names_no_catalog():
    node = Node("lake")
    node.config = object()
    assert placement().database(None, node) == "lake"


def test_an_unknown_catalog_name():
    with pytest.raises(
        DbtRuntimeError, match=r"model\.shop\.orders has catalog_name 'hot'.*(?s:.*)dbt_project\.yml: 'archive'"
    ):
        placement().database(None, Node("lake", catalog_name="hot"))


def test_a_model_that_was_parsed_for_another_catalog():
    placement().require_current(Node("cold", catalog_name="archive"))
    with pytest.raises(DbtRuntimeError, match=r"(?s)wrong catalog.*Expected: `cold`.*Found: `lake`"):
        placement().require_current(Node("lake", catalog_name="archive"))


def test_properties_of_the_model_override_the_catalogs_and_the_runs_override_both():
    config = {"catalog_name": "archive", "tblproperties": {"owner": "me", "it's": True}}
    tables = Tables(placement())
    assert tables.properties(config) == {"write.format.default": "orc", "owner": "me", "it's": True}
    model = {"resource_type": "model", "unique_id": "model.shop.t", "config": config}
    assert tables.property_list(model, {"owner": "run"}) == [
        "'write.format.default' = 'orc'",
        "'owner' = 'run'",
        "'it\\'s' = 'true'",
    ]


def test_properties_must_be_a_mapping():
    with pytest.raises(DbtRuntimeError, match=r"(?s)tblproperties is not a mapping.*Found: \['a'\]"):
        Tables(placement()).properties({"tblproperties": ["a"]})


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, None),
        ({"location_root": "s3://own"}, "s3://own/orders"),
        ({"catalog_name": "archive"}, "s3://cold/analytics/orders"),
        ({"catalog_name": "archive", "location_root": "s3://own"}, "s3://own/orders"),
    ],
)
def test_the_location_of_a_table(config, expected):
    model = {"alias": "orders", "schema": "analytics", "config": config}
    assert Tables(placement()).location(model) == expected
