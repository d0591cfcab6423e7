"""The errors of history tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import CheckpointError, ConfigError, DuplicateKeyError, SequenceError
from ..quantities import counted
from ..table.history import TableName
from .entries import indexed
from .wording import command, full_refresh, numbered, short


def drops_history(model: str) -> str:
    """The command that rebuilds a history table without the versions that it has."""
    name = short(model)
    return f"`dbt run --full-refresh --select {name} --vars '{{ip_drop_history: [{name}]}}'`"


@indexed
def not_one_changelog(model: str, found: Sequence[str]) -> ConfigError:
    """The SQL of a history model does not read the changelog of one source."""
    return ConfigError(
        f"{model} keeps a history, and its SQL does not read it from one changelog.\n"
        "  Expected: ip_changelog() of one relation, and no other changes; other relations are read by ip_as_of() or "
        "without a macro.\n"
        f"  Found: the changes of {', '.join(found) or 'no relation'}, or another macro than ip_changelog().\n"
        "  To fix: read one relation by ip_changelog(). To keep the history of a join, make the join a model of its "
        "own (incremental_strategy: auto), and keep the history of that."
    )


@indexed
def not_a_log(model: str, found: Sequence[str]) -> ConfigError:
    """The SQL of a history model with ``sequence_by`` does not read a log of events."""
    return ConfigError(
        f"{model} keeps the history of a log by sequence_by, and its SQL does not read events alone.\n"
        "  Expected: ip_changes() of the log, and no other changes; other relations are read by ip_as_of() or without "
        "a macro.\n"
        f"  Found: the changes of {', '.join(found) or 'no relation'}, or another macro than ip_changes().\n"
        "  To fix: read the log by ip_changes(). To keep the history of a table, read it by ip_changelog() and remove "
        "sequence_by."
    )


@indexed
def tied_events(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """Two events of one key have the same sequence, and are not the same."""
    return SequenceError(
        f"Events of {model} have the same unique_key, {', '.join(keys)}, and the same sequence_by, "
        f"{', '.join(sequence)}, and differ.\n"
        "  Expected: one event of each key and sequence, or events that are the same in all columns.\n"
        f"  Found: {found}.\n"
        "  To fix: choose one of them in the model's SQL, or compute a column that orders them, such as the "
        "position in the log, and name it in sequence_by."
    )


@indexed
def log_incomplete(table: TableName, model: str, found: str) -> CheckpointError:
    """A rebuild of a history would lose the versions whose events the log may not have any more."""
    ways = [
        "restore the log, for example by rollback_to_snapshot",
        "keep all versions, and continue with the events that the log gets from now on, or from an earlier snapshot "
        f"of it on: `{command('ip_set_checkpoint', model=short(model), source='<log>', snapshot_id='<snapshot>')}`",
        f"begin again with the events that the log has now: {drops_history(model)}",
    ]
    return CheckpointError(
        f"{model} would be built again, and its log may not have all events any more that the versions in {table} are "
        "from.\n"
        "  Expected: a log that only got rows since the model read it.\n"
        f"  Found: {found}.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def several_at_once(model: str, keys: Sequence[str], found: str) -> DuplicateKeyError:
    """The history has two versions of a key that begin at the same time."""
    return DuplicateKeyError(
        f"The history of {model} has versions of a {', '.join(keys)} that begin at the same time.\n"
        "  Expected: one version of a key from each time on.\n"
        f"  Found: {found}.\n"
        "  To fix: delete all but one of them from the table."
    )


@indexed
def no_commit_order(model: str, columns: Sequence[str]) -> ConfigError:
    """The SQL of a history model does not pass the commit on."""
    return ConfigError(
        f"{model} keeps a history, and its SQL does not return _commit_order.\n"
        "  Expected: _change_type and _commit_order, as ip_changelog() returns them.\n"
        f"  Found: {', '.join(columns)}.\n"
        "  To fix: add _change_type and _commit_order to the select list."
    )


@indexed
def own_columns(model: str, columns: Sequence[str]) -> ConfigError:
    """The SQL of a history model returns a column that the history adds."""
    return ConfigError(
        f"{model} keeps a history, and its SQL returns {', '.join(columns)}, which the history adds.\n"
        "  Expected: other names.\n"
        "  To fix: rename the column in the SQL, or give the history's own column another name by "
        "snapshot_meta_column_names."
    )


@indexed
def other_history(
    table: TableName, model: str, differing: Mapping[str, tuple[str, str]], *, from_log: bool = False
) -> ConfigError:
    """The table's history was kept in another way than the model is configured to."""
    found = "; ".join(f"{name} is {now}, and was {was}" for name, (was, now) in differing.items())
    ways = ["set the config back to what it was"]
    if from_log:
        ways.append(
            f"make all versions again by the new config, if the log still has all events: {full_refresh(model)}"
        )
    elif set(differing) == {"check_cols"}:
        ways.append(
            f"compare the valid versions with the source by the new check_cols, and keep all versions: "
            f"{full_refresh(model)}"
        )
    ways += [
        "keep the table, and begin another history in a model of another name",
        f"begin again without the versions that the table has: {drops_history(model)}",
    ]
    return ConfigError(
        f"The history in {table} was kept in another way than {model} is configured to.\n"
        "  Expected: the configs by which the table's versions were made.\n"
        f"  Found: {found}.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def would_drop_history(table: TableName, model: str) -> ConfigError:
    """A model that keeps no history any more would replace the versions of its table, or add other rows to them."""
    ways = [
        "set incremental_strategy to history",
        "give the model another name, or an alias",
        f"drop the versions: {drops_history(model)}",
    ]
    return ConfigError(
        f"{table} holds a history, and {model} would write other rows.\n"
        "  Expected: incremental_strategy: history, as when the table was built.\n"
        "  Found: another incremental_strategy.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def not_a_history(table: TableName, model: str, missing: Sequence[str]) -> ConfigError:
    """The table in the place of a history is none."""
    return ConfigError(
        f"{table} is in the place of the history of {model}, and is none.\n"
        f"  Expected: a table with {', '.join(missing)}, such as dbt's snapshot makes it.\n"
        f"  Found: a table without {'it' if len(missing) == 1 else 'them'}.\n"
        f"  To fix, one of:\n{numbered(['give the model another name, or an alias', drops_history(model)])}"
    )


@indexed
def several_valid(model: str, keys: Sequence[str], found: str) -> DuplicateKeyError:
    """The history has more than one valid version of a key."""
    return DuplicateKeyError(
        f"The history of {model} has more than one valid version of a {', '.join(keys)}.\n"
        "  Expected: at most one version without an end.\n"
        f"  Found: {found}.\n"
        "  To fix: end all but one of them by an UPDATE of the table."
    )


@indexed
def needs_same_changes(model: str) -> ConfigError:
    """The SQL of a history model returns other rows each time."""
    return ConfigError(
        f"{model} keeps a history, and its SQL is not deterministic.\n"
        "  Expected: SQL that returns the same rows each time Spark computes it. On this connection, Spark may compute "
        "them more than once in a run.\n"
        "  Found: a function such as rand(), uuid() or an aggregate that depends on the order of rows.\n"
        "  To fix: compute these values in the source, or in a view on the history."
    )


@indexed
def drops_columns(model: str, columns: Sequence[str]) -> ConfigError:
    """A column of a history table would be dropped, with the values that old versions have in it."""
    return ConfigError(
        f"The SQL of {model} no longer returns {', '.join(columns)}, and on_schema_change is sync_all_columns.\n"
        "  Expected: all columns of the history, whose old versions have values in them.\n"
        "  To fix: set on_schema_change to append_new_columns, which leaves the column NULL in new versions, or drop "
        "the column by ALTER TABLE."
    )


def dropping(model: str, table: TableName, versions: int) -> str:
    """The warning of a run that drops a history."""
    return f"{model} is built without its history: {counted(versions, 'version')} of {table} are dropped, as asked."
