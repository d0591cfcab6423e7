"""Which tables other models may replace if ``metadata_reader`` is ``pyiceberg`` and PyIceberg fails."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.hooks.versions import HistoryHooks
from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergRelation
from iceberg_incremental.capture.versions_run import recorded
from iceberg_incremental.errors import ConfigError, MetadataAccessError
from iceberg_incremental.plan.versions_config import HistoryConfig
from iceberg_incremental.table.checkpoint import KEY
from iceberg_incremental.table.history import TableName
from tests.unit.incremental.runs import cp

NAMES = {"database": "lake", "schema": "ops"}
KEPT = replace(cp(5, 1), history=recorded(HistoryConfig(("id",)), 1000), target_snapshot_id=None)
ICEBERG = {"format": "iceberg/parquet", "format-version": "2", "current-snapshot-id": "none"}
PARQUET = [("id", "int", ""), ("# Detailed Table Information", "", ""), ("Provider", "parquet", "")]


class Config(dict[str, Any]):
    materialized = "table"


def require_kept(properties):
    """Check a table with these properties in Spark. With None, Spark cannot read the table either."""

    def load(table):
        raise MetadataAccessError("no configuration")

    def rows(sql):
        if properties is None:
            raise RuntimeError("no permission")
        if sql.startswith("show tblproperties"):
            return list(properties.items())
        return PARQUET if sql.startswith("describe") else []

    relation = SparkIcebergRelation.create(**NAMES, identifier="prices", type="table")
    adapter = SimpleNamespace(
        config=SimpleNamespace(args=SimpleNamespace(which="run")),
        lookup=SimpleNamespace(table_name=lambda _: TableName("lake", "ops", "prices")),
        connections=SimpleNamespace(rows=rows),
        get_relation=lambda *_: relation,
        metadata_reader=lambda: SimpleNamespace(load=load),
    )
    hooks = HistoryHooks(adapter, SimpleNamespace(tables=None, drops_history=lambda *_: False))
    model = {"resource_type": "model", "alias": "prices", "name": "prices", "unique_id": "model.shop.prices"}
    hooks.require_kept(SimpleNamespace(**NAMES, **model, config=Config()))


@pytest.mark.parametrize(("columns", "excludes"), [(["id", "DBT_IS_DELETED"], True), (["id"], False), ([], False)])
def test_columns_show_whether_a_table_outside_of_the_project_marks_deletions(columns, excludes):
    found = [SimpleNamespace(name=name) for name in columns]
    hooks = HistoryHooks(SimpleNamespace(get_columns_in_relation=lambda _: found), SimpleNamespace(tables=None))
    relation = SparkIcebergRelation.create(**NAMES, identifier="prices", type="table")
    assert ("`dbt_is_deleted`" in hooks.as_of(relation, "2026-01-01", {"nodes": {}})) is excludes


@pytest.mark.parametrize("properties", [{}, ICEBERG], ids=["parquet", "iceberg"])
def test_other_tables_may_be_replaced(properties):
    require_kept(properties)


def test_a_history_is_refused():
    with pytest.raises(ConfigError, match="history"):
        require_kept({**ICEBERG, KEY: KEPT.to_json()})


def test_a_table_that_nothing_can_read_is_refused():
    with pytest.raises(MetadataAccessError, match="no permission"):
        require_kept(None)
