from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.incremental.publish.strategy_config import StrategyConfig, strategy_config


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({}, "append"),
        ({"incremental_strategy": None}, "append"),
        ({"incremental_strategy": "insert_overwrite"}, "insert_overwrite"),
        ({"incremental_strategy": "merge", "unique_key": "id"}, "merge"),
        ({"incremental_strategy": "merge"}, "append"),
        ({"incremental_strategy": "delete+insert"}, "delete+insert"),
        ({"incremental_strategy": "a_projects_own"}, "a_projects_own"),
    ],
)
def test_a_strategy_is_the_configured_one_or_append(config, name):
    assert strategy_config(config) == StrategyConfig(name, [])


@pytest.mark.parametrize(
    ("config", "predicates"),
    [
        ({"predicates": "a > 1"}, ["a > 1"]),
        ({"incremental_predicates": ["a > 1", "b"]}, ["a > 1", "b"]),
        ({"predicates": ["a"], "incremental_predicates": ["b"]}, ["a"]),
        ({"predicates": [], "incremental_predicates": None}, []),
    ],
)
def test_predicates_have_two_names_and_may_be_one_text(config, predicates):
    assert strategy_config(config).predicates == predicates
