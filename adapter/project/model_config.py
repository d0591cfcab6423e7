"""A model's configuration, checked as a whole before any SQL runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import Any, TypeVar

from iceberg_incremental.durations import EXAMPLES, duration
from iceberg_incremental.explain import model_errors
from iceberg_incremental.plan.policy import (
    DEFAULT_ON_BREAK,
    Cause,
    OnAggregates,
    OnBreak,
    OnRewrite,
    OnSqlChange,
    Policy,
    Strategy,
)
from iceberg_incremental.spelling import near_misses

from .configs import CONFIGS, ON_SCHEMA_CHANGE

_NARROWING = ("merge_update_columns", "merge_exclude_columns", "incremental_predicates", "predicates")
"""Configs with which a MERGE keeps a part of a matched row, or matches by more than the key."""


def policy_of(config: Mapping[str, Any], model: str) -> Policy:
    """Read a model's configuration.

    ``config``: the node's config as dbt resolved it. ``model``: its unique id, for the error.
    Raises ConfigError, which names all that is wrong at once.
    """
    wrong = [
        f"{name} is not a config: did you mean {meant}? Put configs of your own under meta"
        for name, meant in near_misses(config, CONFIGS).items()
    ]
    strategy = _choice(config, "incremental_strategy", Strategy, Strategy.APPEND, wrong)
    unique_key = _columns(config, "unique_key", wrong)
    if strategy.is_keyed and not unique_key:
        wrong.append(
            f"incremental_strategy '{strategy.value}' needs a unique_key, none is set: "
            "set unique_key to the column (or list of columns) that identifies the target's rows"
        )
    if strategy is Strategy.APPEND and unique_key:
        wrong.append(
            f"unique_key is set to {_listed(unique_key)}, but incremental_strategy 'append' never replaces a row, so "
            "the table would get several rows of a key: set incremental_strategy to 'merge' to replace them, or remove "
            "unique_key (where dbt_project.yml sets it for many models, set unique_key to none in this one)"
        )
    if strategy is Strategy.INSERT_OVERWRITE and not config.get("partition_by"):
        wrong.append(
            "incremental_strategy 'insert_overwrite' needs partition_by, none is set: without partitions each run "
            "would replace the whole table by its new rows"
        )
    if _columns(config, "merge_update_columns", wrong) and _columns(config, "merge_exclude_columns", wrong):
        wrong.append("merge_update_columns and merge_exclude_columns are both set: keep one of them")
    fixed = _columns(config, "merge_fixed_columns", wrong)
    if fixed and not strategy.is_keyed:
        wrong.append("merge_fixed_columns is set, which only 'merge' and 'apply_changes' take: remove it")
    sequence_by = _columns(config, "sequence_by", wrong)
    if sequence_by and not strategy.is_keyed:
        wrong.append("sequence_by is set, which only 'merge' and 'apply_changes' take: remove it")
    narrowing = [key for key in _NARROWING if config.get(key)]
    if sequence_by and narrowing:
        wrong.append(
            f"sequence_by and {', '.join(narrowing)} are both set: remove one of them, since only rows that are "
            "replaced as a whole can be ordered"
        )
    _one_of(config, "on_schema_change", ON_SCHEMA_CHANGE, wrong)
    _require_table_configs(config, wrong)
    policy = Policy(
        strategy=strategy,
        unique_key=unique_key,
        on_source_rewrite=_choice(config, "on_source_rewrite", OnRewrite, OnRewrite.FAIL, wrong),
        on_history_break=_on_history_break(config.get("on_history_break"), wrong),
        on_missing_checkpoint=_choice(config, "on_missing_checkpoint", OnBreak, OnBreak.FAIL, wrong),
        on_sql_change=_choice(config, "on_sql_change", OnSqlChange, OnSqlChange.WARN, wrong),
        may_rebuild=config.get("full_refresh") is not False,
        max_snapshots=_positive(config, "max_snapshots_per_run", wrong),
        max_bytes=_positive(config, "max_bytes_per_run", wrong),
        fixed_columns=fixed,
        sequence_by=sequence_by,
        replaces_rows=strategy.is_keyed and not narrowing,
        hold=_duration(config, "hold_source", wrong),
        audit=_flag(config, "audit", wrong),
        on_aggregates=_choice(config, "aggregates_of_changes", OnAggregates, OnAggregates.FAIL, wrong),
    )
    if wrong:
        raise model_errors.invalid_config(model, wrong)
    return policy


def _require_table_configs(config: Mapping[str, Any], wrong: list[str]) -> None:
    properties = config.get("tblproperties") or {}
    if not isinstance(properties, Mapping):
        wrong.append(f"tblproperties is {properties!r}: expected a mapping from names of table properties to values")
    elif own := [str(name) for name in properties if str(name).startswith("ip.")]:
        wrong.append(f"tblproperties has {', '.join(own)}: this package keeps its checkpoint under ip.: remove it")
    file_format = config.get("file_format")
    if file_format and file_format != "iceberg":
        wrong.append(f"file_format is {file_format!r}: leave it out, or set it to 'iceberg'")


_Choice = TypeVar("_Choice", bound=Enum)


def _choice(config: Mapping[str, Any], key: str, kind: type[_Choice], default: _Choice, wrong: list[str]) -> _Choice:
    value = config.get(key)
    if value is None:
        return default
    try:
        return kind(value)
    except ValueError:
        wrong.append(f"{key} is {value!r}: expected one of {_listed([member.value for member in kind])}")
        return default


def _one_of(config: Mapping[str, Any], key: str, values: Sequence[str], wrong: list[str]) -> None:
    value = config.get(key)
    if value is not None and value not in values:
        wrong.append(f"{key} is {value!r}: expected one of {_listed(values)}")


def _positive(config: Mapping[str, Any], key: str, wrong: list[str]) -> int | None:
    value = config.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    wrong.append(f"{key} is {value!r}: expected a whole number above 0, or leave it out for no limit")
    return None


def _flag(config: Mapping[str, Any], key: str, wrong: list[str]) -> bool:
    value = config.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    wrong.append(f"{key} is {value!r}: expected true or false")
    return False


def _duration(config: Mapping[str, Any], key: str, wrong: list[str]) -> timedelta | None:
    value = config.get(key)
    if value is None:
        return None
    found = duration(value)
    if not found:
        wrong.append(f"{key} is {value!r}: expected a duration above 0, {EXAMPLES}")
    return found


def _columns(config: Mapping[str, Any], key: str, wrong: list[str]) -> tuple[str, ...]:
    value = config.get(key)
    if value is None:
        return ()
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) and name.strip() for name in names):
        wrong.append(f"{key} is {value!r}: expected a column name, or a list of column names")
        return ()
    return tuple(names)


def _on_history_break(value: object, wrong: list[str]) -> Mapping[Cause, OnBreak]:
    """One policy for every cause, or a mapping by cause that leaves the others at their defaults."""
    if value is None:
        return dict(DEFAULT_ON_BREAK)
    by_cause: Mapping[Any, Any] = value if isinstance(value, Mapping) else {cause.value: value for cause in Cause}
    policies = dict(DEFAULT_ON_BREAK)
    for cause, policy in by_cause.items():
        try:
            policies[Cause(cause)] = OnBreak(policy)
        except ValueError:
            wrong.append(
                f"on_history_break is {value!r}: expected one of {_listed([p.value for p in OnBreak])}, or a mapping "
                f"from {_listed([c.value for c in Cause])} to these"
            )
            break
    return policies


def _listed(values: Sequence[object]) -> str:
    return ", ".join(f"'{value}'" for value in values)
