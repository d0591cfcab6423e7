"""The errors of models that replace whole groups of rows, and of ``ip_range``, which returns ranges of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from ..errors import ArgumentsError, ConfigError
from ..plan.groups import ChangedGroups
from ..plan.policy import Policy, Strategy
from ..table.history import TableName
from .wording import full_refresh


def groups_need_merge(model: str, policy: Policy, keys: Sequence[str]) -> ConfigError:
    """``ip_changed_groups`` was called in a model that cannot replace whole groups of its table."""
    is_narrowed = policy.strategy is Strategy.MERGE and not policy.replaces_rows
    found = [
        f"incremental_strategy '{policy.strategy.value}'",
        f"unique_key {', '.join(policy.unique_key)}" if policy.unique_key else "no unique_key",
        f"groups by {', '.join(keys)}",
        *(["a config that keeps old values or rows"] if is_narrowed else []),
        *(["sequence_by"] if policy.sequence_by else []),
    ]
    return ConfigError(
        f"ip_changed_groups() was called in {model}, which cannot replace whole groups of its table.",
        expected="incremental_strategy 'merge', a unique_key that includes the keys of the groups (which identify the "
        "rows of a group in the table), and no merge_update_columns, merge_exclude_columns, incremental_predicates or "
        "sequence_by.",
        found=f"{'; '.join(found)}.",
        fix=f"set incremental_strategy='merge' and a unique_key that includes {', '.join(keys)}; do not rename these "
        "columns in the model's SQL; and remove merge_update_columns, merge_exclude_columns, incremental_predicates "
        "and sequence_by.",
    ).named("groups-need-merge")


def groups_need_all_columns(model: str, missing: Sequence[str]) -> ConfigError:
    """A model that replaces whole groups does not return all columns of its table."""
    return ConfigError(
        f"{model} calls ip_changed_groups(), but its SQL does not return all columns of its table.",
        expected="every column, since all rows of a changed group are replaced.",
        found=f"no {', '.join(missing)}.",
        fix="add the column to the SQL, or drop it from the table with on_schema_change: sync_all_columns.",
    ).named("groups-need-all-columns")


def unchanged_groups(model: str, keys: Sequence[str], found: str) -> ConfigError:
    """A model returns rows of groups that did not change; ``found``: which groups, and how many rows."""
    listed = ", ".join(keys)
    return ConfigError(
        f"{model} returns rows of groups in which nothing changed.",
        expected=f"{listed} as returned by ip_changed_groups(), since not all rows of other groups are read.",
        found=f"{found}.",
        fix=f"return {listed} unchanged. If the groups depend on an expression, such as coalesce(k, 'none') or "
        "date_trunc('month', day), compute it in an upstream model, and pass its column to ip_changed_groups().",
    ).named("unchanged-groups")


def other_groups(model: str, before: ChangedGroups, found: ChangedGroups) -> ConfigError:
    """A model calls ``ip_changed_groups`` several times, with different keys or different changed relations."""
    ways = (
        f"{', '.join(groups.keys)} in {', '.join(sorted(str(table) for table in groups.relations))}"
        for groups in (before, found)
    )
    return ConfigError(
        f"ip_changed_groups() is called in {model} for different groups: {', and '.join(ways)}.",
        expected="the same keys and the same changed relations in each call, since all changed groups are replaced in "
        "the table.",
        fix="pass the same keys to each call, and the same changes_of with all changed relations; or split the model.",
    ).named("other-groups")


def other_key_columns(keys: Sequence[str], source: TableName, model: str) -> ConfigError:
    """Keys of changed groups now refer to different columns."""
    refers = "which refers to a different column" if len(keys) == 1 else "which refer to different columns"
    return ConfigError(
        f"{model} groups {source} by {', '.join(keys)}, {refers} than in the model's last run.",
        expected="columns that have not been renamed, or dropped and added again, since the last run.",
        fix="if the column was renamed, correct the model's SQL. Then rebuild the model, since its groups are those "
        f"of the old column: {full_refresh(model)}",
    ).named("other-key-columns")


def other_key_types(model: str, types: Mapping[str, Sequence[str]], keys: Sequence[str]) -> ConfigError:
    """The keys of groups have different types in the relations and the table; ``types``: of all keys, by table."""
    found = ((table, key, type_) for table, each in types.items() for key, type_ in zip(keys, each, strict=True))
    listed = "; ".join(f"{column} of {table} is {type_}" for table, column, type_ in found)
    return ConfigError(
        f"ip_changed_groups() in {model} has keys of different types.",
        expected="keys of the same type in the relation, in the relations of changes_of, and in the model's table, so "
        "that their groups are the same everywhere.",
        found=f"{listed}.",
        fix="cast the column upstream, or return it from the model's SQL without a cast.",
    ).named("other-key-types")


def no_such_bound(name: str, known: Sequence[str]) -> ArgumentsError:
    """The result of ``ip_range`` does not have the requested attribute."""
    meant = next((each for each in known if name.lower().startswith(each)), None) or next(
        iter(get_close_matches(name, known, n=1, cutoff=0.4)), known[0]
    )
    return ArgumentsError(
        f"ip_range(…).{name} does not exist.",
        expected=f"{', '.join(f'.{each}' for each in known)}.",
        found=f".{name}.",
        fix=f"write ip_range(…).{meant}.",
    ).named("no-such-bound")


def no_range(column: str, kind: str) -> ConfigError:
    """``ip_range`` was called with a column whose values cannot be bounded by literals."""
    return ConfigError(
        f"ip_range() was called with {column}, whose type is {kind}.",
        expected="a column of strings, numbers, dates, timestamps or booleans.",
        fix="choose another column.",
    ).named("no-range")


def no_range_with_nan(column: str) -> ConfigError:
    """``ip_range`` was called with a column that has NaN in a changed row."""
    return ConfigError(
        f"ip_range() was called with {column}, which is NaN in a changed row.",
        expected="numbers. Spark treats NaN as the greatest number, but Iceberg skips files with only NaN when a "
        "query compares the column.",
        found=f"NaN in {column}.",
        fix=f"write NULL instead of NaN to the relation (nanvl({column}, null)), or make {column} a decimal; or "
        "choose another column. has_nulls is true if there are NULLs.",
    ).named("no-range-with-nan")


def no_range_of_bytes(column: str, greatest: bytes) -> ConfigError:
    """``ip_range`` was called with a column whose strings are not UTF-8."""
    return ConfigError(
        f"ip_range() was called with {column}, which has bytes that are not UTF-8.",
        expected="text. Spark compares the bytes, and Iceberg compares the decoded text, so no string is a bound of "
        "these values in both orders.",
        found=f"a value that starts with the bytes {greatest[:8].hex(' ')}.",
        fix=f"write {column} to the relation as binary or as hex text; or choose another column.",
    ).named("no-range-of-bytes")
