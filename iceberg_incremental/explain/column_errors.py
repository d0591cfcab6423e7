"""The errors of columns that differ between a model's SQL and its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..errors import ConfigError, OutOfSyncError
from ..quantities import counted
from ..sql import sql_name
from ..table.history import TableName
from .wording import ANOTHER_HISTORY, full_refresh


def differing_only_in_case(names: Iterable[str]) -> list[str]:
    """The names that differ from another name only in case."""
    listed = list(names)
    times = Counter(name.lower() for name in listed)
    return [name for name in listed if times[name.lower()] > 1]


def not_columns_of_the_model(config: str, unknown: Sequence[str], known: Sequence[str]) -> ConfigError:
    """A config names columns that the model's SQL does not return."""
    listed = [part.strip() for name in unknown for part in name.split(",")]
    advice = "correct the name, or add the column to the model's SQL"
    if len(listed) > len(unknown) and all(part.lower() in map(str.lower, known) for part in listed):
        advice = f"write a list: {config}=[{', '.join(map(repr, listed))}]"
    elif any("(" in name for name in unknown):
        advice = "return the value of the expression as a column of the model's SQL, and write the name of this column"
    shown = ", ".join(repr(name) if "," in name else name for name in unknown)
    return ConfigError(
        f"{config} names {shown}, which the model does not have.",
        expected=f"columns of the model: {', '.join(known)}.",
        fix=f"{advice}.",
    ).named("not-columns-of-the-model")


def columns_differ_in_case(names: Sequence[str], where: str) -> ConfigError:
    """Columns have names that only ``spark.sql.caseSensitive`` distinguishes."""
    return ConfigError(
        f"The column names {', '.join(names)} in {where} differ only in case.",
        expected="names that differ in more than case, so that they are unique for each value of "
        "spark.sql.caseSensitive.",
        found=f"{', '.join(names)}.",
        fix="rename one of them, with ALTER TABLE … RENAME COLUMN or with AS in a model's SQL.",
    ).named("columns-differ-in-case")


def columns_missing(
    target: TableName,
    model: str,
    missing: Sequence[str],
    added: Sequence[str],
    on_schema_change: str,
    *,
    keeps_history: bool = False,
) -> ConfigError:
    """The model's SQL no longer returns columns that its table has."""
    one, other = ("it", "its") if len(missing) == 1 else ("them", "their")
    ways = [
        f"set on_schema_change: append_new_columns, which keeps {one}, with NULL in the new rows",
        f"set on_schema_change: sync_all_columns, which drops {one} with {other} values, and adds new columns",
        f"rebuild the table with the model's columns: {full_refresh(model)}",
    ]
    if keeps_history:  # which loses no column, and has versions that no rebuild computes again
        ways[1:] = [ANOTHER_HISTORY]
    found = f"no {', '.join(missing)}"
    if len(missing) == len(added) == 1:
        old, new = sql_name(missing[0]), sql_name(added[0])
        found += f". The SQL returns {added[0]}, which the table does not have "
        found += f"(was {missing[0]} renamed to {added[0]}?)"
        ways = [
            f"if it was renamed, write `{added[0]} as {missing[0]}` in the model's SQL to keep the table's name",
            f"if it was renamed, also rename it in the table: ALTER TABLE {target.sql} RENAME COLUMN {old} TO {new}",
            *ways,
        ]
    else:
        if added:
            found += f". The SQL returns {', '.join(added)}, which the table does not have"
        ways = ["if columns were renamed upstream, restore their names with AS in the model's SQL", *ways]
    return ConfigError(
        f"The SQL of {model} returns no value for {counted(len(missing), 'column')} of {target}. The new rows would "
        "have NULL there.",
        expected=f"every column of the table, since on_schema_change is '{on_schema_change}'.",
        found=f"{found}.",
        state="Nothing was written.",
        fix=ways,
    ).named("columns-missing")


def values_do_not_fit(
    target: TableName,
    model: str,
    found: Sequence[tuple[str, str, str]],
    on_schema_change: str,
    *,
    promotable: bool,
    more: Sequence[str] = (),
    keeps_history: bool = False,
) -> ConfigError:
    """Columns of the table have types that cannot represent all values of the model.

    ``found``: (name, model's type, table's type). ``promotable``: whether Iceberg can change all of them to the
    model's types. ``more``: the fields that the table lacks, as in ADD COLUMNS, if the types differ only by them.
    """
    added = f"add the fields, which are NULL in existing rows: ALTER TABLE {target.sql} ADD COLUMNS ({', '.join(more)})"
    widen = "set on_schema_change: sync_all_columns, which widens the columns of the table without rewriting files"
    cannot = "" if promotable or more else ", which Iceberg's ALTER TABLE cannot change to the model's type"
    return ConfigError(
        f"The column types of {target} do not fit the values of {model}: Spark would round them, truncate them, or "
        "assign them to other fields.",
        expected=f"types that hold every value, since on_schema_change is '{on_schema_change}'.",
        found=f"{_listed(found)}{cannot}.",
        state="Nothing was written.",
        fix=[
            *([widen] if promotable else []),
            *([added] if more else []),
            "keep the table's types: cast in the model's SQL, and handle the values that do not fit there",
            ANOTHER_HISTORY if keeps_history else f"rebuild the table with the model's types: {full_refresh(model)}",
        ],
    ).named("values-do-not-fit")


def compared_types_differ(target: TableName, model: str, differing: Sequence[tuple[str, str, str, str]]) -> ConfigError:
    """The model and its table have incompatible types for columns that are used to compare rows.

    ``differing``: (config, name, type in the model, type in the table).
    """
    columns = [
        f"{config} {name} is {given} in the model and {kept} in the table" for config, name, given, kept in differing
    ]
    _, name, _, kept = differing[0]
    return ConfigError(
        f"The SQL of {model} returns types that differ from those of {target} for columns by which new rows are "
        "compared with existing rows. Rows would be lost or duplicated.",
        expected="the table's types, or types that differ only in how large a number can be, such as int and bigint, "
        "or decimals with the same number of digits after the point. Other types compare differently: as text, '10' "
        "is less than '9', and '1' and '1.00' are different values.",
        found=f"{', '.join(columns)}.",
        state="Nothing was written.",
        fix=[
            f"keep the table's types: cast in the model's SQL, for example `cast({sql_name(name)} as {kept})`, and "
            "make sure that equal values are written like those in the table",
            f"rebuild the table with the model's types: {full_refresh(model)}",
        ],
    ).named("compared-types-differ")


def compared_columns_missing(target: TableName, model: str, absent: Sequence[tuple[str, str]]) -> ConfigError:
    """Columns that are used to compare rows are not in the table; ``absent``: (config, name)."""
    return ConfigError(
        f"{target} does not have all columns by which {model} compares new rows with existing rows. Existing rows "
        "would not be found, and would be duplicated.",
        expected="these columns in the table, with values in its rows.",
        found=f"no column for {', '.join(f'{config} {name}' for config, name in absent)}.",
        state="Nothing was written.",
        fix=[
            f"rebuild the table: {full_refresh(model)}",
            f"add the columns to the table with ALTER TABLE {target.sql} ADD COLUMN, and set them in all rows with "
            "UPDATE",
            f"set {' and '.join(dict.fromkeys(config for config, _ in absent))} to columns that the table has",
        ],
    ).named("compared-columns-missing")


def collated(model: str, columns: Sequence[tuple[str, str, str]]) -> ConfigError:
    """Columns that are used to compare rows have a collation; ``columns``: (config, name, type)."""
    listed = ", ".join(f"{config} {name} of type {type_}" for config, name, type_ in columns)
    name = sql_name(columns[0][1])
    return ConfigError(
        f"The SQL of {model} returns text with a collation for columns by which rows are compared.",
        expected="text without a collation. Iceberg tables compare text by its bytes, so values that are equal under "
        "the collation would be different in the table.",
        found=f"{listed}.",
        state="Nothing was written.",
        fix=[
            f"compare by bytes: `cast({name} as string)` in the model's SQL",
            f"compare without regard to case: `lower({name})` in the model's SQL",
        ],
    ).named("collated")


def out_of_sync(
    target: TableName,
    model: str,
    added: Sequence[str],
    missing: Sequence[str],
    types: Sequence[tuple[str, str, str]],
    *,
    keeps_history: bool = False,
) -> OutOfSyncError:
    """The columns of the model's SQL and its table differ, and ``on_schema_change`` is ``fail``."""
    found = [
        f"not in the table: {', '.join(added)}" if added else "",
        f"not in the model's SQL: {', '.join(missing)}" if missing else "",
        f"of another type: {_listed(types)}" if types else "",
    ]
    return OutOfSyncError(
        f"The columns of {model} and of {target} are out of sync.",
        expected="the same columns of the same types, since on_schema_change is 'fail'.",
        found=f"{'; '.join(part for part in found if part)}.",
        state="Nothing was written.",
        fix=[
            "change the model's SQL so that it returns the table's columns",
            "set on_schema_change: append_new_columns or sync_all_columns",
            ANOTHER_HISTORY if keeps_history else f"rebuild the table: {full_refresh(model)}",
        ],
    ).named("out-of-sync")


def _listed(types: Sequence[tuple[str, str, str]]) -> str:
    return ", ".join(f"{name} is {given} in the model and {target} in the table" for name, given, target in types)


def no_end(model: str, config: str, found: str) -> ConfigError:
    """The config ``dbt_valid_to_current`` of a history table or dbt snapshot is not the SQL of a time."""
    return ConfigError(
        f"{model}: dbt_valid_to_current is {config}, which is not a time.",
        expected="a SQL expression of a date or a timestamp, as a text in the YAML or Jinja of the config.",
        found=f"{found}.",
        fix="set it to an expression such as \"to_date('9999-12-31')\".",
    ).named("no-end")


def no_time_of_deletion(model: str, column: str, type_: str, hard_deletes: str) -> ConfigError:
    """The ``updated_at`` of a dbt snapshot that records deletions has a type that cannot contain a time."""
    return ConfigError(
        f"{model}: updated_at is {column}, of type {type_}, so its table cannot record when a row was deleted.",
        expected=f"a date, a timestamp or text, because hard_deletes: {hard_deletes} writes the current time to the "
        "columns that contain the values of updated_at.",
        found=f"{type_}. Spark does not combine it with a timestamp, so each run after the first would fail.",
        fix="convert it in the dbt snapshot's SQL, for example timestamp_seconds(updated_at) as updated_at, or set "
        "hard_deletes: ignore.",
    ).named("no-time-of-deletion")
