"""The configs of ``history`` models, most of which have the names of dbt's snapshot configs."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.project.model_config import policy_of
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.plan.policy import Strategy
from iceberg_incremental.plan.versions_config import HardDeletes, HistoryConfig, MetaColumns

HISTORY = {"incremental_strategy": "history", "unique_key": "id"}


def test_defaults():
    policy = policy_of(HISTORY, "m")
    assert (policy.strategy, policy.history) == (Strategy.HISTORY, HistoryConfig(("id",)))
    assert [name for name, _ in policy.history.meta_columns()] == [
        "dbt_scd_id",
        "dbt_updated_at",
        "dbt_valid_from",
        "dbt_valid_to",
    ]
    assert policy.strategy.table_defaults["format-version"] == "3"


def test_a_log_with_a_sequence():
    policy = policy_of({**HISTORY, "sequence_by": ["at"]}, "m")
    assert (policy.history, policy.sequence_by) == (HistoryConfig(("id",), sequence_by="at"), ("at",))
    assert policy.history.meta_columns("int")[1:] == [
        ("dbt_updated_at", "int"),
        ("dbt_valid_from", "int"),
        ("dbt_valid_to", "int"),
    ]


def test_all_configs():
    config = {
        **HISTORY,
        "unique_key": ["id", "day"],
        "check_cols": ["a"],
        "hard_deletes": "new_record",
        "dbt_valid_to_current": "to_date('9999-12-31')",
        "snapshot_meta_column_names": {"dbt_valid_from": "began", "dbt_scd_id": None},
    }
    assert policy_of(config, "m").history == HistoryConfig(
        ("id", "day"), ("a",), HardDeletes.NEW_RECORD, "to_date('9999-12-31')", MetaColumns(dbt_valid_from="began")
    )


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"unique_key": None}, "'history' needs a unique_key"),
        ({"check_cols": "a"}, "check_cols is 'a'"),
        ({"check_cols": []}, "check_cols is []"),
        ({"hard_deletes": "delete"}, "hard_deletes is 'delete'"),
        ({"dbt_valid_to_current": 1}, "dbt_valid_to_current is 1"),
        ({"snapshot_meta_column_names": {"valid_from": "x"}}, "snapshot_meta_column_names is"),
        ({"snapshot_meta_column_names": {"dbt_valid_from": "DBT_VALID_TO"}}, "snapshot_meta_column_names is"),
        ({"snapshot_meta_column_names": ["x"]}, "snapshot_meta_column_names is"),
        ({"sequence_by": ["at", "position"]}, "'history' supports one column"),
        ({"merge_exclude_columns": "a"}, "merge_exclude_columns is set, which 'history' does not support"),
        ({"merge_fixed_columns": "a"}, "which only 'merge' and 'apply_changes' support: remove it"),
        ({"contract": {"enforced": True}}, "contract is enforced"),
        ({"incremental_strategy": "merge", "check_cols": "all"}, "check_cols is set, which only 'history' supports"),
    ],
)
def test_invalid_configs_are_errors(config, said):
    with pytest.raises(ConfigError) as raised:
        policy_of({**HISTORY, **config}, "m")
    assert said in str(raised.value)
