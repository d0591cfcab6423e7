"""The names of a model's configs. ``website/configs.py`` describes each of them."""

from __future__ import annotations

from .history_config import HISTORY_CONFIGS

CONFIGS = (
    *("incremental_strategy", "unique_key", "on_not_incremental", "rebuild_above", "deterministic_functions"),
    *HISTORY_CONFIGS,
    *("sequence_by", "on_source_rewrite", "aggregates_of_changes"),
    *("on_history_break", "on_missing_checkpoint", "on_sql_change", "on_schema_change"),
    *("max_snapshots_per_run", "max_bytes_per_run", "hold_source", "audit"),
    *("merge_fixed_columns", "merge_update_columns", "merge_exclude_columns", "incremental_predicates"),
    *("partition_by", "tblproperties", "full_refresh", "catalog_name", "file_format"),
)
"""The configs that the materialization reads. A similar name is refused, because dbt would ignore it."""

FURTHER = ("event_time", "location_root", "ip_incremental", "clone_as", "clone_retention")
"""The configs that dbt or the adapter reads for other nodes too."""

ONLY_AUTO = ("rebuild_above", "on_not_incremental", "deterministic_functions")
"""Configs that only the strategy ``auto`` reads."""

ONLY_HERE = (
    *("audit", "sequence_by", "hold_source", "on_source_rewrite", "on_history_break", "on_missing_checkpoint"),
    *("max_snapshots_per_run", "max_bytes_per_run", "merge_fixed_columns", *ONLY_AUTO),
)
"""Configs on which users rely, and which other materializations ignore."""

NOT_AUTO = ("merge_update_columns", "merge_exclude_columns", "incremental_predicates", "aggregates_of_changes")
"""Configs that the strategy ``auto`` does not read."""
