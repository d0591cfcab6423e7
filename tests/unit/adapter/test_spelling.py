from __future__ import annotations

from dataclasses import fields

import pytest
from dbt.adapters.spark.impl import SparkConfig
from dbt.artifacts.resources import (
    FunctionConfig,
    ModelConfig,
    SeedConfig,
    SnapshotConfig,
    SourceConfig,
    TestConfig,
    UnitTestConfig,
)

from iceberg_incremental.plan.configs import ModelConfigs, NodeConfigs
from iceberg_incremental.spelling import near_misses

ALL = (*ModelConfigs.table(), *NodeConfigs.table())
OF_OTHER_ADAPTERS = {
    "athena": """
        external_location bucketed_by bucket_count table_type ha format write_compression
        field_delimiter lf_tags_config lf_grants seed_by_insert force_batch unique_tmp_table_suffix num_partitions
        insert_condition update_condition delete_condition versions_to_keep spark_encryption polling_interval
    """,
    "bigquery": """
        cluster_by partitions require_partition_filter partition_expiration_days hours_to_expiration kms_key_name labels
        policy_tags enable_refresh refresh_interval_minutes max_staleness copy_partitions storage_uri grant_access_to
        intermediate_format submission_method dataproc_region gcs_bucket notebook_template_id batch_id compute_region
        enable_change_history enable_list_inference job_execution_timeout_seconds resource_tags maximum_bytes_billed
    """,
    "clickhouse, duckdb, trino": """
        engine order_by primary_key sharding_key ttl settings query_settings inserts_only properties views_enabled
        view_security index indexes external_table options location
    """,
    "databricks": """
        liquid_clustered_by auto_liquid_cluster clustered_by buckets databricks_tags databricks_compute compression
        include_full_name_in_path use_safer_relation_operations incremental_apply_config_changes column_mask row_filter
        view_update_via_alter query_tags zorder skip_optimize predicates index_url cluster_libraries create_notebook
        job_cluster_config environment_key access_control_list schedule cron time_zone_value additional_libs
        merge_with_schema_evolution target_alias source_alias matched_condition not_matched_condition
        not_matched_by_source_action not_matched_by_source_condition skip_matched_step skip_not_matched_step
    """,
    "postgres, redshift": "unlogged dist sort sort_type backup auto_refresh bind",
    "snowflake": """
        transient automatic_clustering query_tag copy_grants snowflake_warehouse secure tmp_relation_type target_lag
        refresh_mode initialize table_format external_volume base_location_root base_location_subpath row_access_policy
        table_tag immutable_where scheduler change_tracking data_retention_time_in_days storage_serialization_policy
        snowflake_initialization_warehouse max_data_extension_time_in_days
    """,
    "packages": """
        elementary timestamp_column re_data_monitored re_data_time_filter period timestamp_field start_date stop_date
        date_source_models rank_column rank_source_models distributed_by full_import merge_strategy source_freshness
    """,
}


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
        ("partitioned_by", "partition_by"),  # its name in Athena, whose models do not run on Spark unchanged
        ("on_source_change", "on_source_rewrite"),
        ("on_sql_edit", "on_sql_change"),
        ("merge_update_cols", "merge_update_columns"),
        ("max_snapshots", "max_snapshots_per_run"),
        ("clone_retetion", "clone_retention"),
    ],
)
def test_a_misspelled_name_is_recognized(written, meant):
    assert near_misses([written], ALL) == {written: meant}


@pytest.mark.parametrize("name", ["owner", "partition_key", "unique_id", "max_rows_per_run", "event_type", "strategy"])
def test_the_users_own_names_are_left_alone(name):
    assert near_misses([name], ALL) == {}


def test_dbts_own_configs_are_left_alone():
    of_dbt = (ModelConfig, SeedConfig, SnapshotConfig, SourceConfig, TestConfig, UnitTestConfig, FunctionConfig)
    assert near_misses([each.name for config in (*of_dbt, SparkConfig) for each in fields(config)], ALL) == {}


@pytest.mark.parametrize("adapter", OF_OTHER_ADAPTERS)
def test_the_configs_of_other_adapters_and_of_packages_are_left_alone(adapter):
    """A package's model may set them for other warehouses."""
    assert near_misses(OF_OTHER_ADAPTERS[adapter].split(), ALL) == {}


def test_known_names_are_left_alone():
    assert near_misses(["hosts"], ["hostss"], known=["hosts"]) == {}
