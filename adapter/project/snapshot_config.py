"""The configs of a dbt snapshot: whether they permit comparing only changed keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbt.adapters.base.column import Column

from iceberg_incremental.plan.configs import NodeConfigs
from iceberg_incremental.plan.versions_config import META_COLUMNS, HardDeletes, HistoryConfig, MetaColumns
from iceberg_incremental.query.row_wise import require_constant
from iceberg_incremental.query.text.refusal import Refusal
from iceberg_incremental.sql import plain_name
from iceberg_incremental.table.types import Trait, traits

from .graph import Node
from .model_config import config_of

STRATEGIES = ("check", "timestamp")
_OWN_PACKAGES = ("dbt", "dbt_spark", "dbt_spark_iceberg")
_MACROS = frozenset(
    [
        "build_snapshot_staging_table",
        "build_snapshot_table",
        "create_columns",
        "current_timestamp",
        "equals",
        "get_columns_in_query",
        "get_dbt_valid_to_current",
        "get_snapshot_table_column_names",
        "get_true_sql",
        "snapshot_check_all_get_existing_columns",
        "snapshot_check_strategy",
        "snapshot_get_time",
        "snapshot_hash_arguments",
        "snapshot_merge_sql",
        "snapshot_staging_table",
        "snapshot_string_as_time",
        "snapshot_timestamp_strategy",
        "strategy_dispatch",
        "unique_key_fields",
        "unique_key_is_not_null",
        "unique_key_is_null",
        "unique_key_join_on",
    ]
)
"""dbt's macros that generate the statements of a snapshot."""
_NAME = re.compile(r"`(?:[^`]|``)+`|[A-Za-z_]\w*")


def unique_key_of(node: Node) -> tuple[str, ...]:
    """The columns of unique_key, without back-quotes."""
    return _columns(node["config"].get("unique_key"))


def history_of(node: Node, names: Mapping[str, str]) -> HistoryConfig:
    """The configs by which versions are found in a snapshot's table. ``names``: dbt's names for its own columns."""
    current, deletes = node["config"].get("dbt_valid_to_current"), node["config"].get("hard_deletes")
    return HistoryConfig(
        unique_key_of(node),
        hard_deletes=HardDeletes.NEW_RECORD if deletes == "new_record" else HardDeletes.INVALIDATE,
        valid_to_current=None if current is None else str(current),
        names=MetaColumns(**{each: names[each] for each in META_COLUMNS if each in names}),
    )


def reason_of_config(node: Node, macros: Iterable[Any]) -> str | None:
    """The reason why a snapshot must compare whole tables because of its configs or macros. None without one.

    ``macros``: all macros in dbt's manifest. Raises ConfigError.
    """
    config = node["config"]
    if not config_of(node, NodeConfigs.ip_incremental):
        return "ip_incremental is false"
    if (strategy := config.get("strategy")) not in STRATEGIES:
        return f"its strategy is {strategy!r}"
    if (file_format := config.get("file_format")) not in (None, "iceberg"):
        return f"its file_format is {file_format!r}"
    if config.get("sql_header"):
        return "it has a sql_header"
    if not unique_key_of(node):
        return "it has no unique_key"
    for name, value in _named(node):
        if _NAME.fullmatch(value) is None:
            return _not_a_column(name, value)
    current = config.get("dbt_valid_to_current")
    if current is not None:
        try:
            require_constant(str(current))
        except Refusal as refusal:
            return f"dbt_valid_to_current has {refusal}"
    overridden = {f"{macro.package_name}.{macro.name}" for macro in macros if _is_override(macro)}
    return f"dbt's macros for snapshots are overridden by {', '.join(sorted(overridden))}" if overridden else None


def _not_a_column(config: str, text: str) -> str:
    return f"{config} is {text!r}, which is not the name of a column as the query returns it"


def reason_of_columns(node: Node, given: Sequence[Column], stored: Sequence[Column], valid_from: str) -> str | None:
    """The reason why a comparison may report unchanged rows as changed. None without one.

    Unchanged rows can then not be omitted. ``given``: the columns of the query. ``stored``: the columns of the table,
    to which dbt adds missing ones. ``valid_from``: the name of the table's column with the start of a version.
    """
    types, lower = {each.name: each.dtype for each in given}, [each.name.lower() for each in given]
    known = {**types, **{each.name: each.dtype for each in stored}}
    for name in lower:
        if lower.count(name) > 1:
            return f"the query returns several columns named {name!r}"
    for config, value in _named(node):
        if plain_name(value) not in types:
            return _not_a_column(config, value)
    for name in unique_key_of(node):
        if Trait.BOUNDED not in traits(types[name]):
            return f"the unique_key {name} is of type {types[name]}"
    compared = [(name, name) for name in types]
    compared += [(plain_name(value), valid_from) for config, value in _named(node) if config == "updated_at"]
    for one, other in compared:
        if types[one] != known.get(other):
            return f"{one} is {types[one]} in the query and {known.get(other)} in the table"
    if records_deletions(node) and known.get(valid_from) == "string":
        return "updated_at is text, which dbt converts to timestamps and back because hard_deletes is not ignore"
    return None


def makes_new_ids(node: Node) -> bool:
    """Whether each new version has a unique id, because the id contains the time of the run."""
    return node["config"].get("strategy") == "check" and not node["config"].get("updated_at")


def records_deletions(node: Node) -> bool:
    """Whether deleted rows are recorded. The current time is then written to the columns with values of updated_at."""
    config = node["config"]
    return bool(config.get("invalidate_hard_deletes")) or config.get("hard_deletes") not in (None, "ignore")


def _named(node: Node) -> list[tuple[str, str]]:
    """The configs that must each name a column of the query, with their values.

    With the strategy ``check``, the column ``updated_at`` is not among them, because it determines only the ids of
    versions.
    """
    config = node["config"]
    found = [("unique_key", value) for value in _texts(config.get("unique_key"))]
    if config.get("strategy") == "timestamp":
        found.append(("updated_at", str(config.get("updated_at"))))
    elif config.get("check_cols") != "all":
        found += [("check_cols", value) for value in _texts(config.get("check_cols"))]
    return found


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else [str(value)]


def _columns(value: object) -> tuple[str, ...]:
    return tuple(plain_name(each) for each in _texts(value))


def _is_override(macro: Any) -> bool:
    """Whether a macro of a project or package overrides one of dbt's macros, by its name or by dispatch."""
    return macro.package_name not in _OWN_PACKAGES and macro.name.rpartition("__")[2] in _MACROS
