from __future__ import annotations

from dataclasses import fields

import pytest
from dbt.adapters.spark.impl import SparkConfig
from dbt.artifacts.resources.v1.model import ModelConfig

from dbt.adapters.spark_iceberg.project.configs import CONFIGS
from iceberg_incremental.spelling import near_misses


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("incremental_stategy", "incremental_strategy"),
        ("on_source_rewrites", "on_source_rewrite"),
        ("On-Source-Rewrite", "on_source_rewrite"),
        ("+unique_keys", "unique_key"),
        ("table_properties", "tblproperties"),
        ("max_snapshot_per_run", "max_snapshots_per_run"),
        ("full_refersh", "full_refresh"),
        ("catalogs_name", "catalog_name"),
        ("source_hold", "hold_source"),
        ("+key_unique", "unique_key"),
        ("strategy_incremental", "incremental_strategy"),
    ],
)
def test_a_misspelled_name_is_recognized(written, meant):
    assert near_misses([written], CONFIGS) == {written: meant}


@pytest.mark.parametrize("name", ["owner", "partition_key", "unique_id", "max_rows_per_run", "event_type", "strategy"])
def test_the_users_own_names_are_left_alone(name):
    assert near_misses([name], CONFIGS) == {}


def test_dbts_own_configs_are_left_alone():
    assert near_misses([each.name for each in (*fields(ModelConfig), *fields(SparkConfig))], CONFIGS) == {}


def test_known_names_are_left_alone():
    assert near_misses(["hosts"], ["hostss"], known=["hosts"]) == {}
