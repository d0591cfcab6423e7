"""The table of configs: on its class, a config; on an instance, the value that is set there."""

from __future__ import annotations

import pytest

from iceberg_incremental.plan.configs import ModelConfigs, NodeConfigs
from iceberg_incremental.plan.policy import OnRewrite, Policy

TABLE = {**ModelConfigs.table(), **NodeConfigs.table()}


def test_a_config_has_the_value_that_is_set_or_its_default():
    configs = ModelConfigs({"on_source_rewrite": "upserts"})
    assert (configs.on_source_rewrite, configs.unique_key, configs.wrong) == (OnRewrite.UPSERTS, (), [])
    assert ModelConfigs.on_source_rewrite is TABLE["on_source_rewrite"]


def test_a_value_that_is_read_twice_is_one_error():
    configs = ModelConfigs({"audit": "yes"})
    assert (configs.audit, configs.audit, configs.wrong) == (
        False,
        False,
        ["audit is 'yes': expected true or false"],
    )


def test_the_policy_of_no_configs_is_the_default_policy():
    assert ModelConfigs({}).policy() == Policy()


@pytest.mark.parametrize("name", [name for name, config in TABLE.items() if config.kind.choices])
def test_the_first_choice_is_the_default(name):
    config = TABLE[name]
    assert config.default in (config.kind.choices[0], None)
    assert config.kind.parse(config.kind.choices[0]) == config.kind.choices[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("check_cols", "only 'history' supports"),
        ("merge_fixed_columns", "only 'merge' and 'apply_changes' support"),
        ("sequence_by", "only 'merge', 'apply_changes' and 'history' support"),
        ("merge_update_columns", "'history' does not support"),
    ],
)
def test_a_refusal_names_the_shorter_list_of_strategies(name, text):
    config = TABLE[name]
    assert config.refusal == f"{name} is set, which {text}: remove it"
    configs = ModelConfigs({"incremental_strategy": next(iter(config.refused_by)), "unique_key": "id", name: "a"})
    configs.check()
    assert config.refusal in configs.wrong


def test_a_config_is_not_both_refused_and_ignored():
    assert [name for name, each in TABLE.items() if set(each.refused_by) & set(each.ignored_by)] == []
