"""The errors of ``sequence_by``: rows whose order is unknown, and tables that were not built in this order."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import CheckpointError, ConcurrentRunError, ConfigError, SequenceError
from ..plan.ranges import COMMIT_ORDER
from ..table.checkpoint import Deletions
from ..table.history import TableName
from .entries import indexed
from .wording import DETERMINISTIC, command, full_refresh, numbered, one_run_at_a_time, run_again, short

_ADD = "add a column to sequence_by that orders these rows, such as the position in the source log"
_KEEP_ONE = "keep one row of each key and sequence in the model's SQL"


@indexed
def tied(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """Several different new rows of one key share the newest sequence."""
    expected = "one newest row for each key, or rows that are equal"
    return _tie("several new rows have the same {}", model, keys, sequence, found, expected, keep_one=_KEEP_ONE)


@indexed
def tied_with_row(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A new row is as new as the row in the table, but differs from it."""
    expected = "a new row that is newer or older than the existing row of its key, or equal to it"
    return _tie("new rows have the same {} as different existing rows", model, keys, sequence, found, expected)


@indexed
def tied_deletion(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A deletion is as new as the row in the table."""
    expected = "a deletion that is newer or older than the existing row of its key"
    return _tie("deletions have the same {} as existing rows", model, keys, sequence, found, expected)


@indexed
def tied_with_deletion(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A new row is as new as a deletion that an earlier run applied."""
    expected = "a new row that is newer or older than the last deletion of its key"
    rebuild = f"if the deleted row was restored unchanged, rebuild the model: {full_refresh(model)}"
    what = "new rows have the same {} as deletions that an earlier run applied"
    return _tie(what, model, keys, sequence, found, expected, rebuild)


def _tie(
    what: str,
    model: str,
    keys: Sequence[str],
    sequence: Sequence[str],
    found: str,
    expected: str,
    *more: str,
    keep_one: str = f"{_KEEP_ONE}, and rebuild the model",
) -> SequenceError:
    """``keep_one``: the fix in the SQL. Without a rebuild, the table keeps the row or deletion of an earlier run."""
    ways = [
        f"{_ADD}, and rebuild the model: {full_refresh(model)}",
        keep_one,
        "add a column to unique_key in which these rows differ, and rebuild the model",
        *more,
    ]
    same = f"unique_key ({', '.join(keys)}) and the same sequence_by ({', '.join(sequence)})"
    return SequenceError(
        f"{model}: {what.format(same)}.\n"
        f"  Expected: {expected}.\n"
        f"  Found: {found}.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def unordered(model: str, keys: Sequence[str], found: str) -> SequenceError:
    """A log without ``sequence_by`` has a new row and a deletion of one key."""
    ways = [
        f"set sequence_by to columns that order the changes, and rebuild the model: {full_refresh(model)}",
        "return only the last change of each key from the SQL",
        "if the model follows a table, read it with ip_changelog(), without per='commit'",
    ]
    return SequenceError(
        f"{model} reads a new row and a deletion of the same unique_key ({', '.join(keys)}), and it is unknown which "
        "is newer.\n"
        "  Expected: without sequence_by, each key has one new row, only deletions, or the UPDATE_BEFORE and "
        "UPDATE_AFTER of one update.\n"
        f"  Found: {found}.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def null_in_sequence(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A new row or deletion has NULL in a column of ``sequence_by``."""
    return SequenceError(
        f"New rows of {model} have NULL in sequence_by ({', '.join(sequence)}), so their order is unknown.\n"
        "  Expected: a value in each of these columns, including in deletions.\n"
        f"  Found: NULL in rows with this {', '.join(keys)}: {found}.\n"
        "  To fix: return a value from the model's SQL, for example coalesce(updated_at, created_at), or filter these "
        "rows out."
    )


@indexed
def null_in_sequence_of_table(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A row of the table has NULL in a column of ``sequence_by``."""
    ways = [
        f"rebuild the model: {full_refresh(model)}",
        "set the column in these rows of the table with UPDATE",
    ]
    return SequenceError(
        f"The table of {model} has rows with NULL in sequence_by ({', '.join(sequence)}), so it is unknown whether new "
        "rows of their keys are newer.\n"
        "  Expected: a value in each of these columns, as in all rows that were written with sequence_by.\n"
        f"  Found: NULL in rows with this {', '.join(keys)}: {found}.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def no_order(model: str, found: Sequence[tuple[str, str]]) -> ConfigError:
    """Columns of ``sequence_by`` have types that Spark cannot order; ``found``: (name, type)."""
    return ConfigError(
        f"sequence_by of {model} names columns that cannot be ordered.\n"
        "  Expected: columns such as timestamps, numbers or text.\n"
        f"  Found: {', '.join(f'{name} of type {type_}' for name, type_ in found)}.\n"
        "  To fix: set sequence_by to other columns, or return a field of this column as a separate column and name "
        "that column."
    )


@indexed
def counted_in_each_run(model: str) -> ConfigError:
    """``sequence_by`` names ``_commit_order``, whose values start again in each run."""
    ways = [
        "remove sequence_by, and read the changes without per='commit', which returns the last version of each row",
        "set sequence_by to columns of the source that order the rows, such as the time of the update",
    ]
    return ConfigError(
        f"sequence_by of {model} names {COMMIT_ORDER}.\n"
        "  Expected: columns whose values order the rows of all runs.\n"
        f"  Found: {COMMIT_ORDER}, which starts at 0 in each run, so rows of later runs would be skipped as older.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def needs_all_columns(model: str, absent: Sequence[str]) -> ConfigError:
    """A model with ``sequence_by`` does not return all columns of its table."""
    return ConfigError(
        f"{model} has sequence_by, but its SQL does not return all columns of its table.\n"
        "  Expected: every column, since the newest row replaces the whole old row.\n"
        f"  Found: no {', '.join(absent)}.\n"
        "  To fix: add the column to the SQL, or drop it from the table with on_schema_change: sync_all_columns."
    )


@indexed
def needs_same_rows(model: str) -> ConfigError:
    """The SQL of a model with ``sequence_by`` is not deterministic, and Spark may compute it more than once."""
    return ConfigError(
        f"{model} has sequence_by, but its SQL is not deterministic.\n"
        "  Expected: SQL that returns the same rows each time Spark computes it. On this connection, Spark may compute "
        "them more than once in a run.\n"
        "  Found: an expression that Spark marks as nondeterministic, such as uuid() or rand().\n"
        "  To fix, one of:\n"
        f"    1. {DETERMINISTIC}\n"
        "    2. set method to session or connect in the profile; these compute the rows only once"
    )


@indexed
def other_sequence(target: TableName, model: str, wanted: Sequence[str], found: Sequence[str]) -> ConfigError:
    """The table was built with a different ``sequence_by``."""
    name = short(model)
    kept = f"sequence_by {', '.join(found)}" if found else "no sequence_by"
    ways = [
        f"rebuild the model: {full_refresh(name)}",
        "if you know that each row is the newest of its key, and that no future row is older than a deletion that was "
        f"already applied: `{command('ip_set_checkpoint', model=name)}`",
    ]
    return ConfigError(
        f"{target} was not built with sequence_by {', '.join(wanted)}, which {model} is configured with.\n"
        "  Expected: a table that was built with this sequence_by, so that each row is the newest of its key and "
        "applied deletions are recorded.\n"
        f"  Found: {kept} in the model's last run.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def other_key(target: TableName, model: str, wanted: Sequence[str], found: Sequence[str]) -> ConfigError:
    """The table was built with another ``unique_key``, so it contains only the newest row of each old key."""
    name = short(model)
    return ConfigError(
        f"The unique_key of {model}, which has sequence_by, has changed.\n"
        f"  Expected: the unique_key {', '.join(found)}, with which {target} was built. Rows that were older than "
        "another row of that key were not stored, and recorded deletions apply to that key.\n"
        f"  Found: unique_key {', '.join(wanted)}.\n"
        f"  To fix: rebuild the table with the new key: {full_refresh(name)}; or restore the old unique_key."
    )


@indexed
def deletions_lost(model: str, deletions: Deletions, found: str) -> CheckpointError:
    """The table of recorded deletions was dropped or rolled back."""
    return CheckpointError(
        f"The deletions that {model} has applied are no longer known.\n"
        f"  Expected: the table {deletions.table} at snapshot {deletions.snapshot_id}, which records these deletions. "
        "Without them, a late row could restore a row that was deleted.\n"
        f"  Found: {found}.\n"
        f"  To fix: rebuild the model: {full_refresh(model)}. Make sure that nobody drops or rolls back that table."
    )


@indexed
def deletions_of_other_columns(model: str, deletions: Deletions, others: Sequence[tuple[str, str, str]]) -> ConfigError:
    """The deletions were recorded with other columns or types.

    ``others``: (name, type, recorded type, or '' if there is no such column).
    """
    found = [
        f"{name} is {type_} in the model's table and {kept} in the recorded deletions" if kept else f"no {name}"
        for name, type_, kept in others
    ]
    return ConfigError(
        f"{deletions.table} records the deletions of {model} with other columns or types.\n"
        "  Expected: the columns of unique_key and sequence_by, with types that compare like those of the model's "
        "table.\n"
        f"  Found: {', '.join(found)}.\n"
        f"  To fix: rebuild the model: {full_refresh(model)}"
    )


@indexed
def table_in_the_way(model: str, table: TableName) -> ConfigError:
    """Another table has the name of the table of recorded deletions."""
    return ConfigError(
        f"{model} cannot record the deletions that it applies: {table} is used for something else.\n"
        "  Expected: no table of this name, or the table that an earlier run of the model created.\n"
        "  To fix: rename that table, or set a different alias for the model."
    )


@indexed
def deletions_overtaken(model: str, table: TableName) -> ConcurrentRunError:
    """Another run has written to the table of recorded deletions during this run."""
    return ConcurrentRunError(
        f"Another run of {model} has changed {table}, the table of recorded deletions, during this run.\n"
        "  Expected: no commit to it except those of this run.\n"
        f"  {run_again()}. To prevent this, {one_run_at_a_time()}."
    )


@indexed
def rows_moved(model: str, target: TableName) -> ConcurrentRunError:
    """Another writer changed rows of the target after the new rows were compared with them."""
    return ConcurrentRunError(
        f"Another writer changed rows of {target} after {model} compared them with its new rows by sequence_by.\n"
        "  Expected: no commit other than compaction between the comparison and the publication.\n"
        f"  {run_again()}."
    )
