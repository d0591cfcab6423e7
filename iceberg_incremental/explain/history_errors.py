"""The errors of history tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import CheckpointError, ConfigError, DuplicateKeyError, SequenceError
from ..table.history import TableName
from .wording import ANOTHER_HISTORY, command, full_refresh, short


def drops_history(model: str, command: str = "run") -> str:
    """The command that rebuilds a history table without its existing versions."""
    name = short(model)
    return f"`dbt {command} --full-refresh --select {name} --vars '{{ip_drop_history: [{name}]}}'`"


def _from_the_log(model: str) -> str:
    return f"start again with the events that are in the log now: {drops_history(model)}"


def not_one_changelog(model: str, found: Sequence[str]) -> ConfigError:
    """The SQL of a history table does not read the changelog of one source."""
    return ConfigError(
        f"{model} is a history table, but its SQL does not read exactly one changelog.",
        expected="ip_changelog() of one relation, and no other changes. Read other relations with ip_as_of() or "
        "without a macro.",
        found=f"{', '.join(found) or 'no relation'}, read with ip_changelog() or another macro.",
        fix="read one relation with ip_changelog(). To keep the history of a join, build the join in another model "
        "(incremental_strategy: auto), and keep the history of that model.",
    ).named("not-one-changelog")


def not_a_log(model: str, found: Sequence[str]) -> ConfigError:
    """The SQL of a history table with ``sequence_by`` does not read a log of events."""
    return ConfigError(
        f"{model} is a history table with sequence_by, but its SQL does not read exactly one log.",
        expected="ip_changes() of the log, and no other changes. Read other relations with ip_as_of() or without a "
        "macro.",
        found=f"{', '.join(found) or 'no relation'}, read with ip_changes() or another macro.",
        fix="read the log with ip_changes(). To keep the history of a table, read the table with ip_changelog() and "
        "remove sequence_by.",
    ).named("not-a-log")


def tied_events(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """Two different events of one key have the same sequence."""
    return SequenceError(
        f"Different events of {model} have the same unique_key ({', '.join(keys)}) and the same sequence_by "
        f"({', '.join(sequence)}).",
        expected="one event of each key and sequence, or events that are equal in all columns.",
        found=f"{found}.",
        fix=[
            "choose one of them in the model's SQL. If an earlier run has read the other one, also rebuild the model: "
            f"{full_refresh(model)}",
            "compute a column that orders them, such as the position in the log, name it in sequence_by, and rebuild "
            "the model",
        ],
    ).named("tied-events")


def log_incomplete(table: TableName, model: str, found: str, *, can_continue: bool = True) -> CheckpointError:
    """A rebuild of a history table would lose versions whose events may no longer be in the log.

    ``can_continue``: whether the versions come from a log, so that later events can be added to them.
    """
    ways = [
        "restore the log, for example with rollback_to_snapshot",
        "keep all versions, and continue with the events after a snapshot of the log: "
        f"`{command('ip_set_checkpoint', model=short(model), source='<log>', snapshot_id='<snapshot>')}`",
    ]
    if not can_continue:
        ways = [ANOTHER_HISTORY]
    ways.append(_from_the_log(model))
    return CheckpointError(
        f"{model} would be rebuilt, but its log may no longer have all events of the versions in {table}.",
        expected="a log to which rows were only added since the model read it.",
        found=f"{found}.",
        fix=ways,
    ).named("log-incomplete")


def not_from_a_log(table: TableName, model: str) -> CheckpointError:
    """A history table with ``sequence_by`` would continue versions that were not created from a log."""
    return CheckpointError(
        f"{model} reads a log, but the versions in {table} were not created from a log.",
        expected="a table that this model has built, with a record of the events that no version shows, such as "
        "deletions. Without it, a new event would change or extend versions that have ended.",
        found="a checkpoint that was set by hand, without this record.",
        fix=[ANOTHER_HISTORY, _from_the_log(model)],
    ).named("not-from-a-log")


def several_at_once(model: str, keys: Sequence[str], found: str) -> DuplicateKeyError:
    """A history table has two versions of a key that start at the same time."""
    return DuplicateKeyError(
        f"The history table {model} has several versions of a key ({', '.join(keys)}) that start at the same time.",
        expected="a different start for each version of a key.",
        found=f"{found}.",
        fix="delete all but one of them from the table.",
    ).named("several-at-once")


def no_commit_order(model: str, columns: Sequence[str]) -> ConfigError:
    """The SQL of a history table does not return ``_commit_order``."""
    return ConfigError(
        f"{model} is a history table, but its SQL does not return _commit_order.",
        expected="_change_type and _commit_order, as ip_changelog() returns them.",
        found=f"{', '.join(columns)}.",
        fix="add _commit_order to the select list.",
    ).named("no-commit-order")


def own_columns(model: str, columns: Sequence[str]) -> ConfigError:
    """The SQL of a history table returns a column that the strategy adds."""
    return ConfigError(
        f"The SQL of {model} returns {', '.join(columns)}, which the strategy 'history' adds.",
        expected="no column with a name that the strategy uses.",
        fix="rename the column in the SQL, or rename the added column with snapshot_meta_column_names.",
    ).named("own-columns")


def other_history(
    table: TableName, model: str, differing: Mapping[str, tuple[str, str]], *, from_log: bool = False
) -> ConfigError:
    """A history table was built with different configs."""
    found = "; ".join(f"{name} is {now}, but was {was}" for name, (was, now) in differing.items())
    ways = ["set the config back to what it was"]
    if from_log:
        ways.append(f"if the log still has all events, rebuild all versions with the new config: {full_refresh(model)}")
    elif set(differing) == {"check_cols"}:
        ways.append(
            "compare the valid versions with the source using the new check_cols, and keep all versions: "
            f"{full_refresh(model)}"
        )
    ways += [
        "keep the table, and start another history table in a model with another name",
        f"start again without the existing versions: {drops_history(model)}",
    ]
    return ConfigError(
        f"The configs of {model} differ from those with which the history table {table} was built.",
        expected="the configs with which the existing versions were built.",
        found=f"{found}.",
        fix=ways,
    ).named("other-history")


def would_drop_history(table: TableName, model: str, found: str, command: str = "run") -> ConfigError:
    """A model of another kind would replace the versions of a history table."""
    expected = (
        "materialized: iceberg_incremental_snapshot with incremental_strategy: history, as when the table was built"
    )
    keeps = "set materialized='iceberg_incremental_snapshot' and incremental_strategy='history' again"
    if command == "clone":
        expected, keeps = "a table that is itself a clone, or no table", "omit --full-refresh, which keeps the table"
    return ConfigError(
        f"{table} is a history table, and {model} would replace its versions or add other rows to them.",
        expected=f"{expected}.",
        found=f"{found}.",
        fix=[keeps, "rename the model, or set an alias", f"drop the versions: {drops_history(model, command)}"],
    ).named("would-drop-history")


def not_a_history(table: TableName, model: str, missing: Sequence[str]) -> ConfigError:
    """The existing table is not a history table."""
    return ConfigError(
        f"{table} exists, but is not a history table that {model} can continue.",
        expected=f"a table with {', '.join(missing)}, like a table of a dbt snapshot.",
        found=f"a table without {'it' if len(missing) == 1 else 'them'}.",
        fix=["rename the model, or set an alias", f"drop the table: {drops_history(model)}"],
    ).named("not-a-history")


def several_valid(model: str, keys: Sequence[str], found: str) -> DuplicateKeyError:
    """A history table has more than one valid version of a key."""
    return DuplicateKeyError(
        f"The history table {model} has more than one valid version of a key ({', '.join(keys)}).",
        expected="at most one version without an end.",
        found=f"{found}.",
        fix="end all but one of them with an UPDATE of the table.",
    ).named("several-valid")


def ids_repeated(model: str, column: str) -> DuplicateKeyError:
    """Two valid versions of a key in a history table have the same id."""
    return DuplicateKeyError(
        f"The history table {model} has two valid versions with the same {column} and the same key.",
        expected=f"each valid version has its own {column}.",
        found="the number of rows that the run deleted differs from the number of versions that change.",
        fix="end all but one of these versions with an UPDATE of the table, or delete them.",
    ).named("ids-repeated")


def needs_same_changes(model: str) -> ConfigError:
    """The SQL of a history table is not deterministic."""
    return ConfigError(
        f"{model} is a history table, but its SQL is not deterministic.",
        expected="SQL that returns the same rows each time Spark computes them, which may be several times in a run.",
        found="a function such as rand(), uuid() or an aggregate that depends on the order of rows.",
        fix="compute these values in the source, or in a view of the history table.",
    ).named("needs-same-changes")


def ends_unread_versions(table: TableName, model: str) -> ConfigError:
    """A dbt snapshot that records deletions runs with ``--empty`` or ``--sample``."""
    return ConfigError(
        f"{model} reads only a part of its rows under --empty or --sample, and would record all others as deleted.",
        expected="all rows, because hard_deletes is not ignore.",
        found=f"versions of rows in {table}.",
        fix=f"leave the dbt snapshot out (--exclude {short(model)}), or use a target whose schema does not have it.",
    ).named("ends-unread-versions")


def drops_columns(model: str, columns: Sequence[str]) -> ConfigError:
    """A column of a history table would be dropped, including its values in old versions."""
    return ConfigError(
        f"The SQL of {model} no longer returns {', '.join(columns)}, and on_schema_change is sync_all_columns.",
        expected="all columns of the history, since old versions have values in them.",
        fix="set on_schema_change to append_new_columns, which sets the column to NULL in new versions, or drop the "
        "column with ALTER TABLE.",
    ).named("drops-columns")
