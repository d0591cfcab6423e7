"""The errors of models that replace whole groups of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import ConfigError
from ..plan.groups import ChangedGroups
from ..plan.policy import Policy
from ..table.history import TableName
from .entries import indexed
from .wording import short


@indexed
def groups_need_merge(model: str, policy: Policy, keys: Sequence[str]) -> ConfigError:
    """``ip_changed_groups`` was called in a model that cannot replace whole groups of its table."""
    return ConfigError(
        f"ip_changed_groups() was called in {model}, which cannot replace whole groups of its table.\n"
        "  Expected: incremental_strategy 'merge', a unique_key that includes the keys of the groups (they identify "
        "the table's rows of a group), and no merge_update_columns, merge_exclude_columns, incremental_predicates or "
        "sequence_by.\n"
        f"  Found: incremental_strategy '{policy.strategy.value}', unique_key {list(policy.unique_key)}, groups by "
        f"{list(keys)}{'' if policy.replaces_rows else ', and rows that are not replaced as a whole'}"
        f"{', and a sequence_by' if policy.sequence_by else ''}.\n"
        "  To fix: set these configs, and name the columns of the groups in the model's SQL as in the relation."
    )


@indexed
def groups_need_all_columns(model: str, missing: Sequence[str]) -> ConfigError:
    """A model that replaces whole groups leaves out columns of its table."""
    return ConfigError(
        f"{model} calls ip_changed_groups(), but its SQL gives no value for all columns of its table.\n"
        "  Expected: every column, since the rows of a changed group are replaced as a whole.\n"
        f"  Found: no {', '.join(missing)}.\n"
        "  To fix: add the column to the SQL, or drop it from the table with on_schema_change: sync_all_columns."
    )


@indexed
def unchanged_groups(model: str, keys: Sequence[str], found: str) -> ConfigError:
    """A model gives rows of groups that are none of the changed ones; ``found``: which, and how many rows."""
    listed = ", ".join(keys)
    return ConfigError(
        f"{model} gives rows of groups in which nothing changed.\n"
        f"  Expected: {listed} as ip_changed_groups() gives it, since of other groups not all rows are read.\n"
        f"  Found: {found}.\n"
        f"  To fix: pass {listed} on as it is. Where the groups go by an expression, such as coalesce(k, 'none') "
        "or date_trunc('month', day), compute it in a model before this one, and give ip_changed_groups() its column."
    )


@indexed
def other_groups(model: str, before: ChangedGroups, found: ChangedGroups) -> ConfigError:
    """A model reads changed groups that are chosen in two different ways."""
    ways = (
        f"{', '.join(groups.keys)} in {', '.join(sorted(str(table) for table in groups.relations))}"
        for groups in (before, found)
    )
    return ConfigError(
        f"ip_changed_groups() is called in {model} for different groups: {', and '.join(ways)}.\n"
        "  Expected: the same keys each time, and the same relations whose changes choose the groups, since all chosen "
        "groups are replaced in the table.\n"
        "  To fix: give each call the same changes_of, a list of all relations, or split the model."
    )


@indexed
def other_key_columns(keys: Sequence[str], source: TableName, model: str) -> ConfigError:
    """Keys of changed groups now name other columns, so that every group may have changed without a commit."""
    return ConfigError(
        f"{model} groups {source} by {', '.join(keys)}, which is another column than when the model last ran.\n"
        "  Expected: the same column under this name, not one that was renamed, or dropped and added again.\n"
        "  To fix: correct the model's SQL if the name has changed, and rebuild the model, whose groups are those "
        f"of the old column: dbt run --full-refresh --select {short(model)}"
    )


@indexed
def other_key_types(model: str, types: Mapping[str, Sequence[str]], keys: Sequence[str]) -> ConfigError:
    """The keys of groups have different types; ``types``: those of all keys, by table."""
    found = ((table, key, type_) for table, each in types.items() for key, type_ in zip(keys, each, strict=True))
    listed = "; ".join(f"{column} of {table} is {type_}" for table, column, type_ in found)
    return ConfigError(
        f"ip_changed_groups() in {model} gets keys of different types.\n"
        "  Expected: keys of the same type in the relation, in the relations whose changes choose the groups, and in "
        "the model's table, so that they mean the same groups everywhere.\n"
        f"  Found: {listed}.\n"
        "  To fix: cast the column upstream, or leave it as it is in the model's SQL."
    )
