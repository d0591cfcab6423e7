"""dbt's catalogs.yml: a model with catalog_name builds in the Spark catalog of its active write integration."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from dbt.version import installed
from dbt_common.semver import VersionSpecifier

from tests.conftest import OTHER_CATALOG

from .shop import CATALOG, Shop

pytestmark = pytest.mark.core


def catalogs(shop: Shop, name: str = "lake", active: str = OTHER_CATALOG, **integration: Any) -> None:
    """Write a catalog whose write integrations are the two Spark catalogs of the tests."""
    integrations = [{"name": each, "catalog_type": "iceberg", **integration} for each in (OTHER_CATALOG, CATALOG)]
    entry = {"name": name, "active_write_integration": active, "write_integrations": integrations}
    shop.write("catalogs.yml", yaml.safe_dump({"catalogs": [entry]}))


def catalogs_v2(shop: Shop, **block: Any) -> None:
    """Write one catalog in the format that dbt-core 1.12 introduced, which a flag of the project enables."""
    entry = {"name": "lake", "type": "glue", "table_format": "default", "config": {"spark_iceberg": block}}
    shop.write("catalogs.yml", yaml.safe_dump({"catalogs": [entry]}))
    flags = {"use_catalogs_v2": True}
    shop.write("dbt_project.yml", yaml.safe_dump({"name": "shop", "version": "1.0", "profile": "shop", "flags": flags}))


has_catalogs_v2 = pytest.mark.skipif(
    installed < VersionSpecifier.from_version_string("1.12.0"),
    reason="dbt-core reads the second format of catalogs.yml from 1.12 on",
)


def drop_elsewhere(shop: Shop) -> None:
    schema = f"{OTHER_CATALOG}.`{shop.schema}`"
    for _, name, _ in shop.sql(f"show tables in {schema}"):
        shop.sql(f"drop table {schema}.`{name}`")
    shop.sql(f"drop schema {schema}")


def test_models_build_in_the_catalog_of_their_name(shop: Shop):
    catalogs(shop, file_format="orc", adapter_properties={"tblproperties": {"format-version": 2, "note": "catalog's"}})
    shop.insert(shop.source("events"), "(1, 'a')")
    changes = "select * from {{ ip_changes(source('raw', 'events')) }}"
    mine = {"note": "mine"}
    shop.model("kept", changes, catalog_name="lake", incremental_strategy="merge", unique_key="id", tblproperties=mine)
    shop.model("plain", "select * from {{ ref('kept') }}", materialized="table", catalog_name="lake")
    shop.model("here", "select * from {{ ref('kept') }}", materialized="table")
    shop.write("seeds/seeded.csv", "id\n1\n")
    shop.write("dbt_project.yml", yaml.safe_dump({
        "name": "shop", "version": "1.0", "profile": "shop", "seeds": {"+catalog_name": "lake"},
    }))  # fmt: skip
    try:
        assert shop.dbt("build").success
        shop.insert(shop.raw("events"), "(2, 'b')")
        assert shop.run().ip("kept")["epoch"] == 2

        there = {name: f"{OTHER_CATALOG}.`{shop.schema}`.{name}" for name in ("kept", "plain", "seeded")}
        assert shop.rows(there["kept"]) == {(1, "a"): 1, (2, "b"): 1}
        assert shop.rows(there["plain"]) == shop.rows(shop.built("here")) == shop.rows(there["kept"])
        assert shop.rows(there["seeded"]) == {(1,): 1}
        notes = {name: shop.properties(table) for name, table in there.items()}
        assert [notes[name]["note"] for name in there] == ["mine", "catalog's", "catalog's"]
        assert {each["write.format.default"] for each in notes.values()} == {"orc"}
        assert {each["format-version"] for each in notes.values()} == {"2"}
    finally:
        drop_elsewhere(shop)


def test_an_external_volume_has_a_folder_for_each_schema_and_table(shop: Shop):
    volume = shop.folder / "volume"
    catalogs(shop, active=CATALOG, external_volume=f"file:{volume}/")
    shop.model("placed", "select 1 as id", materialized="table", catalog_name="lake")

    shop.run()

    assert list((volume / shop.schema / "placed" / "data").glob("*.parquet"))


def test_another_active_write_integration_is_used(shop: Shop):
    catalogs(shop, active=CATALOG)
    shop.model("placed", "select 1 as id", materialized="table", catalog_name="lake")
    shop.run()
    catalogs(shop, active=OTHER_CATALOG)

    message = shop.fails()

    assert f"Expected: `{OTHER_CATALOG}`, the Spark catalog of `lake` in catalogs.yml" in message
    assert "run once with --no-partial-parse" in message
    try:
        shop.run("--no-partial-parse")
        assert shop.rows(f"{OTHER_CATALOG}.`{shop.schema}`.placed") == {(1,): 1}
    finally:
        drop_elsewhere(shop)


def test_an_unknown_name_and_type(shop: Shop):
    catalogs(shop)
    shop.model("placed", "select 1 as id", materialized="table", catalog_name="lak")
    error = str(shop.dbt("parse").exception)
    assert "model.shop.placed has catalog_name 'lak', which is not in catalogs.yml" in error
    assert "next to dbt_project.yml: 'lake'." in error
    catalogs(shop, catalog_type="unity")
    error = str(shop.dbt("parse").exception)
    assert "lake. catalog_type is 'unity': expected 'iceberg'. Spark's setting" in error


@has_catalogs_v2
def test_models_build_in_the_catalog_of_the_second_format(shop: Shop):
    catalogs_v2(shop, catalog_database=OTHER_CATALOG, file_format="orc", tblproperties={"note": "catalog's"})
    shop.insert(shop.source("events"), "(1, 'a')")
    changes = "select * from {{ ip_changes(source('raw', 'events')) }}"
    shop.model("kept", changes, catalog_name="lake")
    try:
        shop.run()
        shop.insert(shop.raw("events"), "(2, 'b')")
        assert shop.run().ip("kept")["epoch"] == 2

        there = f"{OTHER_CATALOG}.`{shop.schema}`.kept"
        assert shop.rows(there) == {(1, "a"): 1, (2, "b"): 1}
        properties = shop.properties(there)
        assert (properties["note"], properties["write.format.default"]) == ("catalog's", "orc")
    finally:
        drop_elsewhere(shop)


@has_catalogs_v2
def test_an_unknown_field_of_the_second_format(shop: Shop):
    catalogs_v2(shop, warehouse="w")
    error = str(shop.dbt("parse").exception)
    assert "lake. config.spark_iceberg has 'warehouse': expected only catalog_database" in error
