from __future__ import annotations

import pytest

from iceberg_incremental.write.strategies.statement import StrategyConfig, compared_columns, strategy_config


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
def test_predicates_have_two_names_and_may_be_a_string(config, predicates):
    assert strategy_config(config).predicates == predicates


KEYED = {"unique_key": "id", "sequence_by": ["at", "n"]}


@pytest.mark.parametrize(
    ("config", "compared"),
    [
        ({"unique_key": "id"}, {}),
        ({"incremental_strategy": "merge"}, {}),
        (
            {"incremental_strategy": "merge", **KEYED},
            {"unique_key": ["id"], "sequence_by": ["at", "n"], "merge_fixed_columns": []},
        ),
        (
            {"incremental_strategy": "a_projects_own", "unique_key": ["id"], "merge_fixed_columns": "day"},
            {"unique_key": ["id"], "sequence_by": [], "merge_fixed_columns": ["day"]},
        ),
        ({"incremental_strategy": "insert_overwrite", **KEYED}, {"partition_by": ["day"]}),
        ({"incremental_strategy": "microbatch", **KEYED, "event_time": "at"}, {"event_time": ["at"]}),
    ],
)
def test_columns_by_which_a_strategy_compares_rows(config, compared):
    assert compared_columns(config, ["id", "at", "day"], ["day"]) == compared
