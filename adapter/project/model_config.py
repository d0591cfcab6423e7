"""A model's configs, which are checked together before any SQL runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from iceberg_incremental.explain import model_errors
from iceberg_incremental.plan.configs import Config, ModelConfigs, NodeConfigs, listed
from iceberg_incremental.plan.policy import OnSqlChange, Policy, Strategy
from iceberg_incremental.spelling import near_misses
from iceberg_incremental.table.history import COPY_ON_WRITE, MERGE_ON_READ, WRITE_MODES

from .graph import Node

_Value = TypeVar("_Value")


def config_of(node: Node, config: Config[_Value]) -> _Value:
    """The value of a config of a dbt node. Raises ConfigError for a value that it does not accept."""
    configs = NodeConfigs(node["config"])
    found = configs.read(config)
    if configs.wrong:
        raise model_errors.invalid_config(node["unique_id"], configs.wrong)
    return found


def policy_of(config: Mapping[str, Any], model: str) -> Policy:
    """Read a model's configs.

    ``config``: the node's config as resolved by dbt. ``model``: its unique id, for the error. Raises a ConfigError that
    lists all errors.
    """
    configs = ModelConfigs(config)
    configs.wrong += [
        f"{name} is not a config: did you mean {meant}? Put configs of your own under meta"
        for name, meant in near_misses(config, ModelConfigs.table()).items()
    ]
    configs.check()
    policy = configs.policy()
    configs.wrong += [*_missing(configs, policy), *_excluded(configs), *_of_properties(configs.tblproperties or {})]
    if policy.history is not None:
        configs.wrong += _of_history(configs)
    if configs.wrong:
        raise model_errors.invalid_config(model, configs.wrong)
    return policy


def _missing(configs: ModelConfigs, policy: Policy) -> Iterator[str]:
    """The errors of configs that the strategy needs or that do not fit it."""
    strategy, unique_key = policy.strategy, policy.unique_key
    if strategy.is_keyed and not unique_key:
        yield (
            f"incremental_strategy '{strategy.value}' needs a unique_key, but none is set: "
            "set unique_key to the column (or list of columns) that identifies the target's rows"
        )
    if strategy is Strategy.APPEND and unique_key and configs.given.get("incremental_strategy") in (None, "append"):
        yield (
            f"unique_key is set to {listed(unique_key)}, but incremental_strategy 'append' never replaces a row, so "
            "the table would get several rows of a key: set incremental_strategy to 'merge' to replace them, or remove "
            "unique_key (if dbt_project.yml sets it for many models, set unique_key to none in this one)"
        )
    if strategy is Strategy.INSERT_OVERWRITE and not configs.partition_by:
        yield (
            "incremental_strategy 'insert_overwrite' needs partition_by, but it is not set. Without partitions, each "
            "run would replace the whole table with its new rows"
        )
    if strategy is Strategy.AUTO and policy.on_sql_change not in (OnSqlChange.FULL_REFRESH, OnSqlChange.FAIL):
        yield (
            f"on_sql_change is '{policy.on_sql_change.value}', but with incremental_strategy 'auto' the table always "
            "equals its SQL: set it to 'full_refresh' or 'fail'"
        )


def _excluded(configs: ModelConfigs) -> Iterator[str]:
    """The errors of configs that exclude each other."""
    if configs.given.get("merge_update_columns") == []:  # dbt would update all columns
        yield "merge_update_columns is an empty list: list the columns to update, or omit it to update all columns"
    if configs.merge_update_columns and configs.merge_exclude_columns:
        yield "merge_update_columns and merge_exclude_columns are both set: keep one of them"
    if configs.sequence_by and configs.narrowing:
        yield (
            f"sequence_by and {', '.join(configs.narrowing)} are both set: remove one of them, since only rows that "
            "are replaced as a whole can be ordered"
        )


def _of_history(configs: ModelConfigs) -> Iterator[str]:
    if len(configs.sequence_by) > 1:
        yield (
            f"sequence_by is {configs.given['sequence_by']!r}: 'history' supports one column, whose values start and "
            "end versions. Compute a column with the combined order"
        )
    if configs.given.get("predicates"):
        yield "predicates is set, which 'history' does not support: remove it"
    contract = configs.given.get("contract")
    enforced = contract.get("enforced") if isinstance(contract, Mapping) else getattr(contract, "enforced", False)
    if enforced:
        yield "contract is enforced, which 'history' does not support: use a view of the history with a contract"


def _of_properties(properties: Mapping[Any, Any]) -> Iterator[str]:
    if own := [str(name) for name in properties if str(name).startswith("ip.")]:
        yield f"tblproperties has {', '.join(own)}: remove it, since names that start with ip. are reserved"
        return
    for name in WRITE_MODES:
        if name in properties and properties[name] not in (COPY_ON_WRITE, MERGE_ON_READ):
            yield f"tblproperties has {name} {properties[name]!r}: expected {COPY_ON_WRITE!r} or {MERGE_ON_READ!r}"
