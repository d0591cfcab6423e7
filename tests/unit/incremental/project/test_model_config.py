"""A model's configs: defaults, values, and errors that list all problems at once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dbt.adapters.spark_iceberg.project.model_config import policy_of
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.plan.policy import Cause, OnBreak, OnRewrite, Policy, Strategy


def test_defaults():
    assert policy_of({}, "model.shop.daily") == Policy()


def test_all_configs():
    policy = policy_of(
        {
            "incremental_strategy": "merge",
            "unique_key": ["a", "b"],
            "on_source_rewrite": "ignore",
            "on_history_break": {"rolled_back": "full_refresh"},
            "on_missing_checkpoint": "full_refresh",
            "full_refresh": False,
        },
        "model.shop.daily",
    )
    assert (policy.strategy, policy.unique_key, policy.may_rebuild) == (Strategy.MERGE, ("a", "b"), False)
    assert (policy.on_source_rewrite, policy.on_missing_checkpoint) == (OnRewrite.IGNORE, OnBreak.FULL_REFRESH)
    assert policy.on_history_break[Cause.ROLLED_BACK] is OnBreak.FULL_REFRESH
    assert policy.on_history_break[Cause.EXPIRED] is OnBreak.FAIL


def test_one_policy_for_every_break():
    assert set(policy_of({"on_history_break": "fail"}, "m").on_history_break.values()) == {OnBreak.FAIL}


def test_sequence_by_is_one_column_or_several():
    config = {"incremental_strategy": "merge", "unique_key": "a"}
    assert policy_of({**config, "sequence_by": "at"}, "m").sequence_by == ("at",)
    policy = policy_of({**config, "sequence_by": ["at", "n"]}, "m")
    assert policy.sequence_by == ("at", "n") and policy.replaces_rows


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("14 days", timedelta(days=14)),
        ("1 week", timedelta(weeks=1)),
        ("36hours", timedelta(hours=36)),
        (" 90 minutes ", timedelta(minutes=90)),
    ],
)
def test_hold_source_is_a_duration(text, time):
    assert policy_of({"hold_source": text}, "m").hold == time


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"unique_key": "id"}, "unique_key is set to 'id', but incremental_strategy 'append' never replaces a row"),
        ({"aggregates_of_changes": True}, "aggregates_of_changes is True: expected one of 'fail', 'allow'"),
        ({"incremental_strategy": "upsert"}, "incremental_strategy is 'upsert': expected one of 'append'"),
        ({"incremental_strategy": "merge"}, "needs a unique_key"),
        ({"incremental_strategy": "merge", "unique_key": []}, "needs a unique_key"),
        ({"incremental_strategy": "apply_changes"}, "'apply_changes' needs a unique_key"),
        ({"unique_key": 7}, "unique_key is 7: expected a column name"),
        ({"incremental_strategy": "insert_overwrite"}, "needs partition_by"),
        ({"on_source_rewrite": "skip"}, "on_source_rewrite is 'skip'"),
        ({"on_history_break": "ignore"}, "on_history_break is 'ignore'"),
        ({"on_history_break": {"lost": "fail"}}, "'rebuilt', 'rolled_back', 'expired'"),
        ({"on_missing_checkpoint": True}, "on_missing_checkpoint is True"),
        ({"on_schema_change": "append"}, "on_schema_change is 'append'"),
        ({"merge_update_columns": ["a"], "merge_exclude_columns": ["b"]}, "keep one of them"),
        ({"merge_update_columns": []}, "merge_update_columns is an empty list"),
        ({"merge_exclude_columns": 7}, "merge_exclude_columns is 7: expected a column name, or a list"),
        ({"sequence_by": "at"}, "sequence_by is set, which only 'merge', 'apply_changes' and 'history' support"),
        ({"sequence_by": {"at": 1}}, "sequence_by is {'at': 1}: expected a column name, or a list"),
        (
            {"incremental_strategy": "merge", "unique_key": "a", "sequence_by": "b", "predicates": "true"},
            "sequence_by and predicates are both set",
        ),
        ({"hold_source": 14}, "hold_source is 14: expected a duration above 0, such as '14 days'"),
        ({"hold_source": "0 days"}, "hold_source is '0 days': expected a duration"),
        ({"hold_source": "999999999 weeks"}, "expected a duration"),
        ({"hold_sources": "1 day"}, "did you mean hold_source"),
        ({"sequenced_by": "at"}, "did you mean sequence_by"),
        ({"max_snapshots_per_run": 0}, "max_snapshots_per_run is 0: expected a whole number above 0"),
        ({"file_format": "delta"}, "file_format is 'delta'"),
    ],
)
def test_invalid_configs_are_errors(config, said):
    with pytest.raises(ConfigError) as error:
        policy_of(config, "model.shop.daily")
    assert said in str(error.value) and "model.shop.daily" in str(error.value)


def test_all_problems_are_reported_at_once():
    with pytest.raises(ConfigError) as error:
        policy_of({"incremental_strategy": "merge", "on_source_rewrite": "x", "on_schema_change": "y"}, "m")
    assert str(error.value).count("  - ") == 3


def test_an_unknown_strategy_is_the_only_error():
    with pytest.raises(ConfigError) as error:
        policy_of({"incremental_strategy": "delete+insert", "unique_key": "id"}, "m")
    assert str(error.value).count("  - ") == 1


def test_the_error_of_a_misspelled_config_names_the_right_spelling():
    with pytest.raises(ConfigError) as caught:
        policy_of({"incremental_stategy": "append", "on_source_rewrites": "upserts", "owner": "me"}, "model.shop.m")
    said = str(caught.value)
    assert "incremental_stategy is not a config: did you mean incremental_strategy?" in said
    assert "on_source_rewrites is not a config: did you mean on_source_rewrite?" in said
    assert "owner" not in said


def test_an_empty_file_format_is_ignored():
    assert policy_of({"file_format": ""}, "model.shop.m") == policy_of({}, "model.shop.m")


@pytest.mark.parametrize("mode", ["merge_on_read", "copyonwrite", None])
def test_tblproperties_name_a_mode_that_iceberg_knows(mode):
    with pytest.raises(ConfigError, match=r"write\.delete\.mode .*: expected 'copy-on-write' or 'merge-on-read'"):
        policy_of({"tblproperties": {"write.delete.mode": mode}}, "m")


def test_tblproperties_must_be_a_mapping():
    with pytest.raises(ConfigError, match=r"tblproperties is \['a'\]: expected a mapping"):
        policy_of({"tblproperties": ["a"]}, "m")
