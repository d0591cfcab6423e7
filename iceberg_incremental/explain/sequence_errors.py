"""The errors of ``sequence_by``: rows whose order is unknown, and tables that were not built in this order."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import CheckpointError, ConcurrentRunError, ConfigError, SequenceError
from ..plan.ranges import COMMIT_ORDER
from ..table.checkpoint import Deletions
from ..table.history import TableName
from .wording import DETERMINISTIC, again, command, full_refresh, one_run_at_a_time, short

_ADD = "add a column to sequence_by that orders these rows, such as the position in the source log"
_KEEP_ONE = "keep one row of each key and sequence in the model's SQL"


def tied(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """Several different new rows of one key share the newest sequence."""
    what = "several new rows have the same {}"
    expected = "one newest row for each key, or rows that are equal"
    return _tie(model, what, keys, sequence, expected, found, keep_one=_KEEP_ONE).named("tied")


def tied_with_row(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A new row is as new as the row in the table, but differs from it."""
    what = "new rows have the same {} as different existing rows"
    expected = "a new row that is newer or older than the existing row of its key, or equal to it"
    return _tie(model, what, keys, sequence, expected, found).named("tied-with-row")


def tied_deletion(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A deletion is as new as the row in the table."""
    what = "deletions have the same {} as existing rows"
    expected = "a deletion that is newer or older than the existing row of its key"
    return _tie(model, what, keys, sequence, expected, found).named("tied-deletion")


def tied_with_deletion(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A new row is as new as a deletion that an earlier run applied."""
    what = "new rows have the same {} as deletions that an earlier run applied"
    expected = "a new row that is newer or older than the last deletion of its key"
    rebuild = f"if the deleted row was restored unchanged, rebuild the model: {full_refresh(model)}"
    return _tie(model, what, keys, sequence, expected, found, rebuild).named("tied-with-deletion")


def _tie(
    model: str,
    what: str,
    keys: Sequence[str],
    sequence: Sequence[str],
    expected: str,
    found: str,
    *more: str,
    keep_one: str = f"{_KEEP_ONE}, and rebuild the model",
) -> SequenceError:
    """``keep_one``: the fix in the SQL. Without a rebuild, the table keeps the row or deletion of an earlier run."""
    same = f"unique_key ({', '.join(keys)}) and the same sequence_by ({', '.join(sequence)})"
    return SequenceError(
        f"{model}: {what.format(same)}.",
        expected=f"{expected}.",
        found=f"{found}.",
        fix=[
            f"{_ADD}, and rebuild the model: {full_refresh(model)}",
            keep_one,
            "add a column to unique_key in which these rows differ, and rebuild the model",
            *more,
        ],
    )


def unordered(model: str, keys: Sequence[str], found: str) -> SequenceError:
    """A log without ``sequence_by`` has a new row and a deletion of one key."""
    return SequenceError(
        f"{model} reads a new row and a deletion of the same unique_key ({', '.join(keys)}), and it is unknown which "
        "is newer.",
        expected="without sequence_by, each key has one new row, only deletions, or the UPDATE_BEFORE and "
        "UPDATE_AFTER of one update.",
        found=f"{found}.",
        fix=[
            f"set sequence_by to columns that order the changes, and rebuild the model: {full_refresh(model)}",
            "return only the last change of each key from the SQL",
            "if the model follows a table, read it with ip_changelog(), without per='commit'",
        ],
    ).named("unordered")


def null_in_sequence(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A new row or deletion has NULL in a column of ``sequence_by``."""
    return SequenceError(
        f"New rows of {model} have NULL in sequence_by ({', '.join(sequence)}), so their order is unknown.",
        expected="a value in each of these columns, including in deletions.",
        found=f"NULL in rows with this {', '.join(keys)}: {found}.",
        fix="return a value from the model's SQL, for example coalesce(updated_at, created_at), or filter these rows "
        "out.",
    ).named("null-in-sequence")


def null_in_sequence_of_table(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A row of the table has NULL in a column of ``sequence_by``."""
    return SequenceError(
        f"The table of {model} has rows with NULL in sequence_by ({', '.join(sequence)}), so it is unknown whether "
        "new rows of their keys are newer.",
        expected="a value in each of these columns, as in all rows that were written with sequence_by.",
        found=f"NULL in rows with this {', '.join(keys)}: {found}.",
        fix=[
            f"rebuild the model: {full_refresh(model)}",
            "set the column in these rows of the table with UPDATE",
        ],
    ).named("null-in-sequence-of-table")


def no_order(model: str, found: Sequence[tuple[str, str]]) -> ConfigError:
    """Columns of ``sequence_by`` have types that Spark cannot order; ``found``: (name, type)."""
    return ConfigError(
        f"sequence_by of {model} names columns that cannot be ordered.",
        expected="columns such as timestamps, numbers or text.",
        found=f"{', '.join(f'{name} of type {type_}' for name, type_ in found)}.",
        fix=f"set sequence_by to other columns, or return a field of {found[0][0]} as a separate column and name that "
        "column.",
    ).named("no-order")


def counted_in_each_run(model: str) -> ConfigError:
    """``sequence_by`` names ``_commit_order``, whose values start again in each run."""
    return ConfigError(
        f"sequence_by of {model} names {COMMIT_ORDER}.",
        expected="columns whose values order the rows of all runs.",
        found=f"{COMMIT_ORDER}, which starts at 0 in each run, so rows of later runs would be skipped as older.",
        fix=[
            "remove sequence_by, and read the changes without per='commit', which returns the last version of each row",
            "set sequence_by to columns of the source that order the rows, such as the time of the update",
        ],
    ).named("counted-in-each-run")


def needs_all_columns(model: str, absent: Sequence[str]) -> ConfigError:
    """A model with ``sequence_by`` does not return all columns of its table."""
    return ConfigError(
        f"{model} has sequence_by, but its SQL does not return all columns of its table.",
        expected="every column, since the newest row replaces the whole old row.",
        found=f"no {', '.join(absent)}.",
        fix="add the column to the SQL, or drop it from the table with on_schema_change: sync_all_columns.",
    ).named("needs-all-columns")


def needs_same_rows(model: str) -> ConfigError:
    """The SQL of a model with ``sequence_by`` is not deterministic."""
    return ConfigError(
        f"{model} has sequence_by, but its SQL is not deterministic.",
        expected="SQL that returns the same rows each time Spark computes it. On this connection, Spark may compute "
        "them more than once in a run.",
        found="an expression that Spark marks as nondeterministic, such as uuid() or rand().",
        fix=[DETERMINISTIC, "set method to session or connect in the profile; these compute the rows only once"],
    ).named("needs-same-rows")


def other_sequence(target: TableName, model: str, wanted: Sequence[str], found: Sequence[str]) -> ConfigError:
    """The table was built with a different ``sequence_by``."""
    name = short(model)
    kept = f"sequence_by {', '.join(found)}" if found else "no sequence_by"
    return ConfigError(
        f"{target} was not built with sequence_by {', '.join(wanted)}, which {model} is configured with.",
        expected="a table that was built with this sequence_by, so that each row is the newest of its key and applied "
        "deletions are recorded.",
        found=f"{kept} in the model's last run.",
        fix=[
            f"rebuild the model: {full_refresh(name)}",
            "if you know that each row is the newest of its key, and that no future row is older than a deletion that "
            f"was already applied: `{command('ip_set_checkpoint', model=name)}`",
        ],
    ).named("other-sequence")


def other_key(target: TableName, model: str, wanted: Sequence[str], found: Sequence[str]) -> ConfigError:
    """The table was built with another ``unique_key``."""
    name = short(model)
    return ConfigError(
        f"The unique_key of {model}, which has sequence_by, has changed.",
        expected=f"the unique_key {', '.join(found)}, with which {target} was built. Rows that were older than "
        "another row of that key were not stored, and recorded deletions apply to that key.",
        found=f"unique_key {', '.join(wanted)}.",
        fix=f"rebuild the table with the new key: {full_refresh(name)}; or restore the old unique_key.",
    ).named("other-key")


def deletions_lost(model: str, deletions: Deletions, found: str) -> CheckpointError:
    """The table of recorded deletions was dropped or rolled back."""
    return CheckpointError(
        f"The deletions that {model} has applied are no longer known.",
        expected=f"the table {deletions.table} at snapshot {deletions.snapshot_id}, which records these deletions. "
        "Without them, a late row could restore a row that was deleted.",
        found=f"{found}.",
        fix=f"rebuild the model: {full_refresh(model)}. Make sure that nobody drops or rolls back {deletions.table}.",
    ).named("deletions-lost")


def deletions_of_other_columns(model: str, deletions: Deletions, others: Sequence[tuple[str, str, str]]) -> ConfigError:
    """The deletions were recorded with other columns or types.

    ``others``: (name, type, recorded type, or '' if there is no such column).
    """
    found = [
        f"{name} is {type_} in the model's table and {kept} in the recorded deletions" if kept else f"no {name}"
        for name, type_, kept in others
    ]
    return ConfigError(
        f"{deletions.table} records the deletions of {model} with other columns or types.",
        expected="the columns of unique_key and sequence_by, with types that compare like those of the model's table.",
        found=f"{', '.join(found)}.",
        fix=f"rebuild the model: {full_refresh(model)}",
    ).named("deletions-of-other-columns")


def table_in_the_way(model: str, table: TableName) -> ConfigError:
    """Another table has the name of the table of recorded deletions."""
    return ConfigError(
        f"{model} cannot record the deletions that it applies: {table} is used for something else.",
        expected="no table of this name, or the table that an earlier run of the model created.",
        fix="rename that table, or set a different alias for the model.",
    ).named("table-in-the-way")


def deletions_overtaken(model: str, table: TableName) -> ConcurrentRunError:
    """Another run has written to the table of recorded deletions during this run."""
    return ConcurrentRunError(
        f"Another run of {model} has changed {table}, the table of recorded deletions, during this run.",
        expected="no commit to it except those of this run.",
        state="This run published nothing.",
        fix=f"{again()}. To prevent this, {one_run_at_a_time()}.",
    ).named("deletions-overtaken")


def rows_moved(model: str, target: TableName) -> ConcurrentRunError:
    """Another writer changed rows of the target after the new rows were compared with them."""
    return ConcurrentRunError(
        f"Another writer changed rows of {target} after {model} compared them with its new rows by sequence_by.",
        expected="no commit other than compaction between the comparison and the publication.",
        state="This run published nothing.",
        fix=f"{again()}.",
    ).named("rows-moved")
