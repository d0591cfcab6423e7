"""A model's configs, which are checked together before any SQL runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import Any, TypeVar

from iceberg_incremental.durations import EXAMPLES, duration
from iceberg_incremental.explain import model_errors
from iceberg_incremental.plan.policy import (
    DEFAULT_ON_BREAK,
    ON_SCHEMA_CHANGE,
    Cause,
    OnAggregates,
    OnBreak,
    OnNotIncremental,
    OnRewrite,
    OnSqlChange,
    Policy,
    Strategy,
)
from iceberg_incremental.plan.versions_config import META_COLUMNS, HardDeletes, HistoryConfig, MetaColumns
from iceberg_incremental.spelling import near_misses
from iceberg_incremental.table.history import COPY_ON_WRITE, MERGE_ON_READ, WRITE_MODES

HISTORY_CONFIGS = ("check_cols", "hard_deletes", "dbt_valid_to_current", "snapshot_meta_column_names")


def history_config(config: Mapping[str, Any], wrong: list[str]) -> HistoryConfig:
    """Read the configs. Errors are added to ``wrong``. The defaults are used instead of invalid values."""
    end = config.get("dbt_valid_to_current")
    if end is not None and not (isinstance(end, str) and end.strip()):
        wrong.append(f"dbt_valid_to_current is {end!r}: expected a SQL expression, such as \"to_date('9999-12-31')\"")
        end = None
    return HistoryConfig(
        _names(config.get("unique_key")),
        _check_cols(config.get("check_cols"), wrong),
        _hard_deletes(config.get("hard_deletes"), wrong),
        end,
        _meta_columns(config.get("snapshot_meta_column_names"), wrong),
        _sequence_by(config.get("sequence_by"), wrong),
    )


def _sequence_by(value: object, wrong: list[str]) -> str | None:
    names = _names(value)
    if len(names) > 1:
        wrong.append(
            f"sequence_by is {value!r}: 'history' supports one column, whose values start and end versions. Compute "
            "a column with the combined order"
        )
    return names[0] if names else None


def _names(value: object) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    return tuple(map(str, listed)) if isinstance(listed, Sequence) else ()


def _check_cols(value: object, wrong: list[str]) -> tuple[str, ...]:
    if value is None or value == "all":
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str) and value and all(isinstance(v, str) for v in value):
        return tuple(value)
    wrong.append(f"check_cols is {value!r}: expected 'all', or a list of column names")
    return ()


def _hard_deletes(value: object, wrong: list[str]) -> HardDeletes:
    known = [each.value for each in HardDeletes]
    if value is None:
        return HardDeletes.INVALIDATE
    if value in known:
        return HardDeletes(value)
    wrong.append(f"hard_deletes is {value!r}: expected one of {', '.join(map(repr, known))}")
    return HardDeletes.INVALIDATE


def _meta_columns(value: object, wrong: list[str]) -> MetaColumns:
    if value is None:
        return MetaColumns()
    names = {} if not isinstance(value, Mapping) else {str(k): v for k, v in value.items() if v is not None}
    is_known = all(key in META_COLUMNS and isinstance(name, str) and name.strip() for key, name in names.items())
    found = [str(names.get(each, each)).lower() for each in META_COLUMNS]
    if not isinstance(value, Mapping) or not is_known or len(set(found)) < len(found):
        wrong.append(
            f"snapshot_meta_column_names is {value!r}: expected a mapping from {', '.join(META_COLUMNS)} to "
            "distinct names"
        )
        return MetaColumns()
    return MetaColumns(**{key: str(name) for key, name in names.items()})


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


_NARROWING = ("merge_update_columns", "merge_exclude_columns", "incremental_predicates", "predicates")
"""Configs with which a MERGE keeps parts of a matched row, or matches by more than the key."""


def policy_of(config: Mapping[str, Any], model: str) -> Policy:
    """Read a model's configs.

    ``config``: the node's config as resolved by dbt. ``model``: its unique id, for the error. Raises a ConfigError that
    lists all errors.
    """
    read = _Configs(config)
    wrong = read.wrong
    wrong += [
        f"{name} is not a config: did you mean {meant}? Put configs of your own under meta"
        for name, meant in near_misses(config, CONFIGS).items()
    ]
    strategy = read.choice("incremental_strategy", Strategy.APPEND)
    unique_key = read.columns("unique_key")
    if strategy.is_keyed and not unique_key:
        wrong.append(
            f"incremental_strategy '{strategy.value}' needs a unique_key, but none is set: "
            "set unique_key to the column (or list of columns) that identifies the target's rows"
        )
    if strategy is Strategy.APPEND and unique_key and config.get("incremental_strategy") in (None, strategy.value):
        wrong.append(
            f"unique_key is set to {_listed(unique_key)}, but incremental_strategy 'append' never replaces a row, so "
            "the table would get several rows of a key: set incremental_strategy to 'merge' to replace them, or remove "
            "unique_key (if dbt_project.yml sets it for many models, set unique_key to none in this one)"
        )
    if strategy is Strategy.INSERT_OVERWRITE and not config.get("partition_by"):
        wrong.append(
            "incremental_strategy 'insert_overwrite' needs partition_by, but it is not set. Without partitions, each "
            "run would replace the whole table with its new rows"
        )
    _require_update_columns(config, read)
    fixed = read.columns("merge_fixed_columns")
    if fixed and not strategy.is_keyed:
        wrong.append("merge_fixed_columns is set, which only 'merge' and 'apply_changes' support: remove it")
    sequence_by = read.columns("sequence_by")
    if sequence_by and not strategy.is_keyed:
        wrong.append("sequence_by is set, which only 'merge', 'apply_changes' and 'history' support: remove it")
    narrowing = [key for key in _NARROWING if config.get(key)]
    if sequence_by and narrowing:
        wrong.append(
            f"sequence_by and {', '.join(narrowing)} are both set: remove one of them, since only rows that are "
            "replaced as a whole can be ordered"
        )
    _functions(read)
    history = history_config(config, wrong) if strategy is Strategy.HISTORY else None
    _require_history_configs(config, wrong, is_history=history is not None)
    read.one_of("on_schema_change", ON_SCHEMA_CHANGE)
    _require_table_configs(config, wrong)
    on_sql_change = read.choice(
        "on_sql_change", OnSqlChange.FULL_REFRESH if strategy is Strategy.AUTO else OnSqlChange.WARN
    )
    if strategy is Strategy.AUTO and on_sql_change not in (OnSqlChange.FULL_REFRESH, OnSqlChange.FAIL):
        wrong.append(
            f"on_sql_change is '{on_sql_change.value}', but with incremental_strategy 'auto' the table always equals "
            "its SQL: set it to 'full_refresh' or 'fail'"
        )
    policy = Policy(
        strategy=strategy,
        unique_key=unique_key,
        on_source_rewrite=read.choice("on_source_rewrite", OnRewrite.FAIL),
        on_history_break=_on_history_break(config.get("on_history_break"), wrong),
        on_missing_checkpoint=read.choice("on_missing_checkpoint", OnBreak.FAIL),
        on_sql_change=on_sql_change,
        may_rebuild=config.get("full_refresh") is not False,
        max_snapshots=read.positive("max_snapshots_per_run"),
        max_bytes=read.positive("max_bytes_per_run"),
        fixed_columns=fixed,
        sequence_by=sequence_by,
        replaces_rows=strategy.is_keyed and not narrowing,
        hold=read.duration("hold_source"),
        audit=read.flag("audit"),
        on_aggregates=read.choice("aggregates_of_changes", OnAggregates.FAIL),
        on_not_incremental=read.choice("on_not_incremental", OnNotIncremental.FAIL),
        rebuild_above=read.share("rebuild_above"),
        history=history,
    )
    if wrong:
        raise model_errors.invalid_config(model, wrong)
    return policy


def declared_functions(config: Mapping[str, Any]) -> tuple[str, ...]:
    """``deterministic_functions`` of any node. Empty if its value is invalid, which ``policy_of`` reports."""
    return _functions(_Configs(config))


def _functions(read: _Configs) -> tuple[str, ...]:
    return read.names("deterministic_functions", "a function name, or a list of function names")


def _require_update_columns(config: Mapping[str, Any], read: _Configs) -> None:
    if config.get("merge_update_columns") == []:  # dbt would update all columns
        read.wrong.append(
            "merge_update_columns is an empty list: list the columns to update, or omit it to update all columns"
        )
    if read.columns("merge_update_columns") and read.columns("merge_exclude_columns"):
        read.wrong.append("merge_update_columns and merge_exclude_columns are both set: keep one of them")


def _require_history_configs(config: Mapping[str, Any], wrong: list[str], *, is_history: bool) -> None:
    """Check the configs that only histories support, and those that they do not support."""
    if not is_history:
        given = [name for name in HISTORY_CONFIGS if config.get(name) is not None]
        wrong += [f"{name} is set, which only 'history' supports: remove it" for name in given]
        return
    refused = [name for name in (*_NARROWING, "merge_fixed_columns") if config.get(name)]
    wrong += [f"{name} is set, which 'history' does not support: remove it" for name in refused]
    contract = config.get("contract")
    enforced = contract.get("enforced") if isinstance(contract, Mapping) else getattr(contract, "enforced", False)
    if enforced:
        wrong.append(
            "contract is enforced, which 'history' does not support: use a view of the history with a contract"
        )


def _require_table_configs(config: Mapping[str, Any], wrong: list[str]) -> None:
    properties = config.get("tblproperties") or {}
    if not isinstance(properties, Mapping):
        wrong.append(f"tblproperties is {properties!r}: expected a mapping from names of table properties to values")
    elif own := [str(name) for name in properties if str(name).startswith("ip.")]:
        wrong.append(f"tblproperties has {', '.join(own)}: remove it, since names that start with ip. are reserved")
    else:
        wrong += [
            f"tblproperties has {name} {properties[name]!r}: expected {COPY_ON_WRITE!r} or {MERGE_ON_READ!r}"
            for name in WRITE_MODES
            if name in properties and properties[name] not in (COPY_ON_WRITE, MERGE_ON_READ)
        ]
    file_format = config.get("file_format")
    if file_format and file_format != "iceberg":
        wrong.append(f"file_format is {file_format!r}: omit it, or set it to 'iceberg'")


_Value = TypeVar("_Value")
_Choice = TypeVar("_Choice", bound=Enum)


class _Configs:
    """The configs of a model, each with its expected values. ``wrong``: the errors found so far."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self.wrong: list[str] = []

    def read(self, key: str, default: _Value, accepted: Callable[[Any], _Value | None], expected: str) -> _Value:
        """The accepted value of a config. The default if the config is not set, or if its value is not accepted."""
        value = self._config.get(key)
        found = None if value is None else accepted(value)
        if value is not None and found is None:
            self.wrong.append(f"{key} is {value!r}: expected {expected}")
        return default if found is None else found

    def choice(self, key: str, default: _Choice) -> _Choice:
        if self._config.get(key) is None:
            return default
        members = list(type(default))
        expected = f"one of {_listed([member.value for member in members])}"
        return self.read(key, default, lambda value: next((m for m in members if m.value == value), None), expected)

    def one_of(self, key: str, values: Sequence[str]) -> None:
        self.read(key, None, lambda value: value if value in values else None, f"one of {_listed(values)}")

    def positive(self, key: str) -> int | None:
        def above_0(value: object) -> int | None:
            return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

        return self.read(key, None, above_0, "a whole number above 0, or omit it for no limit")

    def share(self, key: str) -> float | None:
        def from_0_to_1(value: object) -> float | None:
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return float(value) if is_number and 0 <= value <= 1 else None  # type: ignore[operator,arg-type]

        return self.read(key, None, from_0_to_1, "a number from 0 (always rebuild) to 1 (rebuild only if necessary)")

    def flag(self, key: str) -> bool:
        return self.read(key, False, lambda value: value if isinstance(value, bool) else None, "true or false")

    def duration(self, key: str) -> timedelta | None:
        return self.read(key, None, lambda value: duration(value) or None, f"a duration above 0, {EXAMPLES}")

    def columns(self, key: str) -> tuple[str, ...]:
        return self.names(key, "a column name, or a list of column names")

    def names(self, key: str, expected: str) -> tuple[str, ...]:
        def names(value: Any) -> tuple[str, ...] | None:
            listed = [value] if isinstance(value, str) else value
            is_list = isinstance(listed, Sequence) and all(isinstance(name, str) and name.strip() for name in listed)
            return tuple(listed) if is_list else None

        return self.read(key, (), names, expected)


def _on_history_break(value: object, wrong: list[str]) -> Mapping[Cause, OnBreak]:
    """One policy for all causes, or a mapping by cause, in which missing causes have their defaults."""
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
