"""Tables of other engines with columns of types that Spark cannot read. They do not affect any other table."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, IntegerType, NestedField, StructType, TimeType

from iceberg_incremental.spark.java import load_catalog

from .shop import Shop

ORDERS = "select id, v from {{ ip_changes(source('raw', 'orders')) }}"
TYPES: dict[str, IcebergType] = {"time": TimeType(), "struct": StructType(NestedField(3, "at", TimeType()))}
NANOSECONDS = "timestamp_ns"


@pytest.fixture
def beside(shop: Shop, embedded_target: dict[str, Any]) -> Callable[[str, str], None]:
    """Creates a table with an integer and a column of one of the types, as PyIceberg does."""
    lake = Path(embedded_target["warehouse"])
    catalog = SqlCatalog(shop.catalog, uri=f"sqlite:///{lake / 'catalog.db'}", warehouse=str(lake))

    def create(name: str, type_: str) -> None:
        if type_ == NANOSECONDS:
            nanoseconds(shop, name)
            return
        schema = Schema(NestedField(1, "id", IntegerType()), NestedField(2, "at", TYPES[type_]))
        at = time(8) if type_ == "time" else {"at": time(8)}
        catalog.create_table(name, schema).append(
            pa.Table.from_pylist([{"id": 1, "at": at}], catalog.load_table(name).schema().as_arrow())
        )

    return create


def nanoseconds(shop: Shop, name: str) -> None:
    """Create a table by Iceberg's own library, because PyIceberg 0.12 does not write format v3."""
    java = shop.session.sparkContext._jvm.org.apache.iceberg
    field, types = java.types.Types.NestedField, java.types.Types
    columns = shop.session.sparkContext._jvm.java.util.ArrayList()
    columns.add(field.optional(1, "id", types.IntegerType.get()))
    columns.add(field.optional(2, "at", types.TimestampNanoType.withoutZone()))
    properties = shop.session.sparkContext._jvm.java.util.HashMap()
    properties.put("format-version", "3")
    load_catalog(shop.session, shop.catalog).icebergCatalog().createTable(
        java.catalog.TableIdentifier.parse(name),
        java.Schema(columns),
        java.PartitionSpec.unpartitioned(),
        properties,
    )


@pytest.mark.core("time")
@pytest.mark.parametrize("type_", [*TYPES, NANOSECONDS])
def test_other_tables_are_built_listed_and_documented(shop, beside, type_):
    orders = shop.source("orders")
    shop.insert(orders, "(1, 'a')")
    beside(f"{shop.source_schema}.clocks", type_)
    shop.declare("clocks")
    shop.model("staged", ORDERS, incremental_strategy="append")
    assert shop.run().success
    beside(f"{shop.schema}.clocks", type_)  # in the schema of the models
    shop.insert(orders, "(2, 'b')")
    assert shop.run().success
    assert shop.rows(shop.built("staged"), "id") == {(1,): 1, (2,): 1}
    assert shop.statuses()["staged"]["next_run"]
    shop.dbt("docs", "generate")
    found = json.loads((shop.folder / "target" / "catalog.json").read_text())
    assert [*found["nodes"]["model.shop.staged"]["columns"]] == ["id", "v"]
    shop.operation("ip_maintain", sources=True)


@pytest.mark.core("time")
@pytest.mark.parametrize("type_", [*TYPES, NANOSECONDS])
def test_a_model_that_reads_such_a_table_fails_and_names_the_column(shop, beside, type_):
    beside(f"{shop.source_schema}.clocks", type_)
    shop.declare("clocks")
    orders = shop.source("orders")
    shop.insert(orders, "(1, 'a')")
    shop.model("staged", ORDERS, incremental_strategy="append")
    shop.model("hours", "select id from {{ source('raw', 'clocks') }}", incremental_strategy="auto")
    shop.model("minutes", "select id from {{ ip_changes(source('raw', 'clocks')) }}", incremental_strategy="append")
    ran = shop.dbt("run")
    assert {name: str(ran.nodes[name].status) for name in ("staged", "hours", "minutes")} == {
        "staged": "success",
        "hours": "error",
        "minutes": "error",
    }
    for model in ("hours", "minutes"):
        assert "because it lacks the types of these: `at" in ran.nodes[model].message
        assert "drop these columns" in ran.nodes[model].message
