"""The configs of a history table, with the names of dbt's snapshot configs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from iceberg_incremental.plan.history_config import META_COLUMNS, HardDeletes, HistoryConfig, MetaColumns

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
