"""The errors of ``sequence_by``: rows whose order is not known, and tables that were not kept in that order."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import CheckpointError, ConcurrentRunError, ConfigError, SequenceError
from ..table.checkpoint import Deletions
from ..table.history import TableName
from .entries import indexed
from .wording import alone, command, full_refresh, numbered, run_again, short

_ADD = "add a column to sequence_by that orders these rows, such as the position in the log that they come from"


@indexed
def tied(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """Several new rows of one key are the newest."""
    expected = "one newest row for each key, or rows that are all the same"
    return _tie("Several new rows", model, keys, sequence, found, expected)


@indexed
def tied_with_row(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A new row is as new as the one in the table, and is another one."""
    expected = "a new row that is newer or older than the table's row of its key, or the same row"
    return _tie("New rows, and other rows that the table has,", model, keys, sequence, found, expected)


@indexed
def tied_deletion(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A deletion is as new as the row in the table."""
    expected = "a deletion that is newer or older than the table's row of its key"
    return _tie("Deletions, and rows that the table has,", model, keys, sequence, found, expected)


@indexed
def tied_with_deletion(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A new row is as new as a deletion that an earlier run applied."""
    expected = "a new row that is newer or older than the last deletion of its key"
    rebuild = f"if the deleted row came back as it was, rebuild the model: {full_refresh(model)}"
    return _tie("New rows, and deletions that an earlier run applied,", model, keys, sequence, found, expected, rebuild)


def _tie(
    what: str, model: str, keys: Sequence[str], sequence: Sequence[str], found: str, expected: str, *more: str
) -> SequenceError:
    ways = [
        f"{_ADD}, and rebuild the model: {full_refresh(model)}",
        "keep one row of each key and sequence in the model's SQL",
        "add to unique_key the column in which these rows differ",
        *more,
    ]
    return SequenceError(
        f"{what} of {model} have the same unique_key, {', '.join(keys)}, and the same sequence_by, "
        f"{', '.join(sequence)}.\n"
        f"  Expected: {expected}.\n"
        f"  Found: {found}.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def no_place_in_order(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A new row or deletion has a NULL in a column of the sequence."""
    return SequenceError(
        f"New rows of {model} have no place in the order of sequence_by, {', '.join(sequence)}.\n"
        "  Expected: a value in each of these columns, in deletions too.\n"
        f"  Found: NULL in rows of this {', '.join(keys)}: {found}.\n"
        "  To fix: have the model's SQL return a value, for example coalesce(updated_at, created_at), or leave "
        "these rows out."
    )


@indexed
def no_place_in_order_in_table(model: str, keys: Sequence[str], sequence: Sequence[str], found: str) -> SequenceError:
    """A row of the table has a NULL in a column of the sequence."""
    ways = [
        f"rebuild the model: {full_refresh(model)}",
        "set the column in these rows of the table, by UPDATE",
    ]
    return SequenceError(
        f"The table of {model} has rows without a place in the order of sequence_by, {', '.join(sequence)}, so that it "
        "is not known whether the new rows of their keys are newer.\n"
        "  Expected: a value in each of these columns, as all rows have that were written under sequence_by.\n"
        f"  Found: NULL in rows of this {', '.join(keys)}: {found}.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def no_order(model: str, found: Sequence[tuple[str, str]]) -> ConfigError:
    """Columns of the sequence have types that Spark does not order; ``found``: (name, type)."""
    return ConfigError(
        f"sequence_by of {model} names columns whose values have no order.\n"
        "  Expected: columns such as timestamps, numbers or text.\n"
        f"  Found: {', '.join(f'{name} of type {type_}' for name, type_ in found)}.\n"
        "  To fix: name other columns, or one field of this one as a column of the model's SQL."
    )


@indexed
def needs_all_columns(model: str, absent: Sequence[str]) -> ConfigError:
    """A model under ``sequence_by`` leaves out columns of its table."""
    return ConfigError(
        f"{model} has sequence_by, but its SQL gives no value for all columns of its table.\n"
        "  Expected: every column, since the newest row replaces the old one as a whole.\n"
        f"  Found: no {', '.join(absent)}.\n"
        "  To fix: add the column to the SQL, or drop it from the table with on_schema_change: sync_all_columns."
    )


@indexed
def needs_same_rows(model: str) -> ConfigError:
    """A server cannot hold the rows of SQL that is not deterministic."""
    return ConfigError(
        f"The SQL of {model} is not deterministic, and the model has sequence_by.\n"
        "  Expected: SQL that returns the same rows each time, since a Spark server may compute them more than once "
        "to compare them with the table.\n"
        "  Found: an expression that Spark calls not deterministic, such as uuid() or rand().\n"
        "  To fix: compute such values from columns of the row, for example sha2(id, 256) instead of uuid(); or "
        "run the model with method: session, which computes the rows once."
    )


@indexed
def other_sequence(target: TableName, model: str, wanted: Sequence[str], found: Sequence[str]) -> ConfigError:
    """The table was not kept in the order that the model is configured with."""
    name = short(model)
    kept = f"sequence_by {', '.join(found)}" if found else "no sequence_by"
    ways = [
        f"rebuild the model: {full_refresh(name)}",
        "if you know that each row is the newest of its key, and that no row will come that is older than a deletion "
        f"applied before: `{command('ip_set_checkpoint', model=name)}`",
    ]
    return ConfigError(
        f"The rows of {target} were not kept by sequence_by {', '.join(wanted)}, which {model} is configured with.\n"
        "  Expected: a table of which each row is the newest of its key, and whose deletions were remembered, since "
        "it was built.\n"
        f"  Found: {kept} when the model last ran.\n"
        f"  To fix, one of:\n{numbered(ways)}"
    )


@indexed
def other_key(target: TableName, model: str, wanted: Sequence[str], found: Sequence[str]) -> ConfigError:
    """The table was kept by another unique_key: rows that lost under it are missing under the new one."""
    name = short(model)
    return ConfigError(
        f"The unique_key of {model} has changed, and the model has sequence_by.\n"
        f"  Expected: the unique_key {', '.join(found)}, by which the rows of {target} were kept. Rows that were older "
        "than another row of that key were not stored, and remembered deletions apply to that key.\n"
        f"  Found: unique_key {', '.join(wanted)}.\n"
        f"  To fix: rebuild the table with the new key: {full_refresh(name)}; or set the old unique_key again."
    )


@indexed
def deletions_lost(model: str, deletions: Deletions, found: str) -> CheckpointError:
    """The table that remembers the deletions is not as it was."""
    return CheckpointError(
        f"The deletions that {model} has applied are not known any more.\n"
        f"  Expected: the table {deletions.table} at snapshot {deletions.snapshot_id}, which remembers them, so that "
        "rows that are older and come late stay deleted.\n"
        f"  Found: {found}.\n"
        f"  To fix: rebuild the model: {full_refresh(model)}; and have nobody drop or roll back that table."
    )


@indexed
def deletions_of_other_columns(model: str, deletions: Deletions, others: Sequence[tuple[str, str, str]]) -> ConfigError:
    """The deletions were remembered by other columns, or by other types of them.

    ``others``: (name, type, remembered type, '' where there is no such column).
    """
    found = [
        f"{name} is {type_} in the model's table and {kept} there" if kept else f"no {name}"
        for name, type_, kept in others
    ]
    return ConfigError(
        f"{deletions.table} remembers the deletions that {model} has applied by other columns or types.\n"
        "  Expected: the columns of unique_key and sequence_by, with types that compare like those of the model's "
        "table.\n"
        f"  Found: {', '.join(found)}.\n"
        f"  To fix: rebuild the model: {full_refresh(model)}"
    )


@indexed
def table_in_the_way(model: str, table: TableName) -> ConfigError:
    """A table of another kind has the name of the one that remembers deletions."""
    return ConfigError(
        f"{model} cannot remember the deletions that it applies: {table} is a table of another kind.\n"
        "  Expected: no table of this name, or the one that an earlier run of the model made.\n"
        "  To fix: rename that table, or give the model another alias."
    )


@indexed
def deletions_overtaken(model: str, table: TableName) -> ConcurrentRunError:
    """Another run has written to the table of remembered deletions at the same time."""
    return ConcurrentRunError(
        f"Another run of {model} has changed {table}, the table that remembers deletions, while this one was "
        "running.\n"
        "  Expected: no commit to it beside that of this run.\n"
        f"  {run_again()}; and {alone()}."
    )


@indexed
def rows_moved(model: str, target: TableName) -> ConcurrentRunError:
    """Another writer has changed rows of the target after the new rows were compared with them."""
    return ConcurrentRunError(
        f"Another writer has changed rows of {target} after {model} compared them with its new rows by sequence_by.\n"
        "  Expected: no commit but compaction between the comparison and the publication.\n"
        f"  {run_again()}."
    )
