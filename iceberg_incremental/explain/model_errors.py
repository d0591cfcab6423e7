"""The errors of a model's SQL and configs: macros, columns and keys; and the messages of an edited model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..errors import ArgumentsError, ConfigError, DuplicateKeyError, message
from ..plan.policy import MATERIALIZATION
from ..plan.ranges import CHANGE_TYPE
from ..quantities import counted
from ..table.files import METADATA_COLUMNS, TableColumn
from ..table.history import TableName
from . import column_errors
from .caller import by_caller
from .wording import DETERMINISTIC, argument, calls, command, full_refresh, short

if TYPE_CHECKING:
    from ..plan.session_settings import Refused


def invalid_config(model: str, wrong: Sequence[str]) -> ConfigError:
    """Configs of a model have unknown values, require other configs, or exclude each other."""
    listing = "\n".join(f"  - {line}" for line in wrong)
    return ConfigError(f"The configuration of {model} is not valid:\n{listing}").named("invalid-config")


def wrong_materialization(macro: str, model: str, materialized: str) -> ConfigError:
    """An ``ip_`` macro was called in a model with another materialization."""
    return ConfigError(
        f"{macro}() was called in {model}, which is materialized as '{materialized}'.",
        expected=f"materialized='{MATERIALIZATION}', since only these models have a checkpoint to continue from.",
        fix=f"set materialized='{MATERIALIZATION}', or call ref() or source() without {macro}().",
    ).named("wrong-materialization")


def strategy_of_another_materialization(model: str, strategy: str) -> ConfigError:
    """A strategy of this package is set for a model with dbt's own incremental materialization."""
    return ConfigError(
        f"incremental_strategy of {model} is '{strategy}', which materialized='incremental' does not support.",
        expected="append, merge, insert_overwrite, delete+insert or microbatch.",
        fix=f"set materialized='{MATERIALIZATION}', which supports '{strategy}', or choose another strategy.",
    ).named("strategy-of-another-materialization")


def ephemeral(macro: str, name: str, model: str) -> ConfigError:
    """An ``ip_`` macro was called on an ephemeral model, which is not a table."""
    return ConfigError(
        f"In {model}, {macro}() was called on {name}, which is an ephemeral model.",
        expected="an Iceberg table, whose commits can be captured.",
        fix="materialize the model as a table, or read the tables that it reads.",
    ).named("ephemeral")


def not_a_relation(macro: str, value: object) -> ConfigError:
    """An ``ip_`` macro was called with a value that is not a relation."""
    return ConfigError(
        f"{macro}() expects a relation, as returned by ref() or source(); found {argument(value)}.",
        fix=f"write {macro}(ref('…')) or {macro}(source('…', '…')).",
    ).named("not-a-relation")


def not_a_value(macro: str, argument: str, value: object, known: Sequence[str], model: str) -> ConfigError:
    """An argument of a macro has an unknown value."""
    return ConfigError(
        f"{macro}() was called in {model} with {argument}={value!r}.",
        expected=f"{argument} is one of {', '.join(map(repr, known))}.",
        fix=f"write {argument}={known[-1]!r}, or omit the argument.",
    ).named("not-a-value")


_MOVE_OUT = (
    "move the macro out of the condition, and remove the branch that reads the relation without the macro: `from {{ "
    "ip_changes(ref('…')) }}`. If the first build needs a different query, read the relation there with ip_as_of()."
)


def captured_later(model: str, sources: Iterable[TableName]) -> ConfigError:
    """A first build or full refresh does not capture a source whose changes later runs read."""
    listed = ", ".join(sorted(map(str, sources)))
    return ConfigError(
        f"{model} reads the changes of {listed} only under is_incremental(), so this run, which builds the whole "
        "table, does not capture them.",
        expected="a first build or full refresh also captures every source whose changes are read, so that the next "
        "run knows where to continue.",
        found=f"no ip_ macro around {listed} outside the condition.",
        fix=_MOVE_OUT,
    ).named("captured-later")


def unknown_arguments(
    macro: str, known: Sequence[str], positional: int, named: Sequence[str], configs: Collection[str] = ()
) -> ArgumentsError:
    """A macro was called with unknown arguments. ``positional``: how many without a name; ``named``: the names.

    ``configs``: the names of a model's configs.
    """
    found = [f"'{name}'" for name in named]
    if positional:
        found.append(f"{counted(positional, 'extra argument')}")
    meant = [f"set {name} in the model's config(), since it is a config" for name in named if name in configs]
    near = {name: match for name in named if name not in configs for match in get_close_matches(name, known, 1, 0.5)}
    what = ", ".join([*meant, *(f"write {match} instead of {name}" for name, match in near.items())]) or "remove them"
    return ArgumentsError(
        f"{macro}() was called with arguments that it does not accept.",
        expected=f"{macro}({', '.join(known)}).",
        found=f"{', '.join(found)}.",
        fix=f"{what}.",
    ).named("unknown-arguments")


def no_capture(model: str, macros: Sequence[str], *, only_incremental: bool, is_plain: bool = False) -> ConfigError:
    """The model's SQL calls no ``ip_`` macro, or calls it only in branches that this run does not execute."""
    if only_incremental:
        return ConfigError(
            f"{model} calls ip_ macros only under is_incremental(), so this run, which builds its whole table, "
            "captures no source.",
            expected="the macro in every run. In a first build or full refresh, it returns the whole relation, pinned "
            "at the snapshot from which the next run continues.",
            found="calls only under {% if is_incremental() %}.",
            fix=_MOVE_OUT,
        ).named("no-capture")
    if is_plain:
        return ConfigError(
            f"{model} has incremental_strategy 'auto', but its SQL reads no ref() or source().",
            expected="SQL over at least one table, whose commits decide what a run updates.",
            fix="read the table with ref() or source(), or set materialized='table'.",
        ).named("no-capture")
    return ConfigError(
        f"{model} is materialized as '{MATERIALIZATION}', but its SQL captures no source.",
        expected=f"at least one of {calls(macros)} around a ref() or source().",
        fix="set incremental_strategy='auto', which updates the table incrementally from plain SQL; or read the "
        "source that drives the model with {{ ip_changes(ref('…')) }}.",
    ).named("no-capture")


def refused_settings(who: str, found: Iterable[tuple[Refused, str]]) -> ConfigError:
    """The session has settings that change the meaning of this package's SQL; ``who``: the model, or an operation."""
    found = list(found)
    expected = "".join(f"\n    {each.key}: {each.needed}, since {each.reason}" for each, _ in found)
    return ConfigError(
        f"{who} cannot write with the current settings of its Spark session.",
        expected=f"{expected.lstrip() if len(found) == 1 else expected}.",
        found=f"{', '.join(f'{each.key} = {value}' for each, value in found)}. Nothing was written.",
        fix="remove the setting. It can be in server_side_parameters in the profile; in a pre-hook, on-run-start hook "
        "or sql_header, including those of a model that ran earlier on this connection; or in the configuration of "
        "the Spark server.",
    ).named("refused-settings")


def reads_itself(macro: str, model: str) -> ConfigError:
    """A model captures its own table."""
    who = by_caller("model", "job", "job")
    fix = by_caller(
        "write {{ this }} without the macro",
        f"read the table with spark.table() instead of run.{macro}()",
        "name another table with --source",
    )
    return ConfigError(
        f"{macro}() was called in {model} on the {who}'s own table.",
        expected=f"another table, whose commits drive the {who}.",
        fix=f"{fix}.",
    ).named("reads-itself")


def require_columns(
    macro: str, names: Sequence[str], columns: Sequence[TableColumn], source: TableName, model: str
) -> None:
    """Raise ConfigError for names of columns that the relation lacks, or has more than once in different case."""
    known = {column.name.lower() for column in columns}
    twins = column_errors.differing_only_in_case(column.name for column in columns)
    if {name.lower() for name in names} & {name.lower() for name in twins}:
        raise column_errors.columns_differ_in_case(twins, str(source))
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        expected = f"columns of {source}: {', '.join(column.name for column in columns)}"
        raise unknown_columns(macro, unknown, expected, source, model)


def unknown_columns(macro: str, unknown: Sequence[str], expected: str, source: TableName, model: str) -> ConfigError:
    """A macro was called with columns that its relation does not have."""
    return ConfigError(
        f"{macro}() was called in {model} with {', '.join(unknown)}, which {source} does not have.",
        expected=f"{expected}.",
        fix="correct the name.",
    ).named("unknown-columns")


def not_columns(macro: str, value: object, model: str) -> ConfigError:
    """A macro was called with a value that is not a list of column names."""
    return ConfigError(
        f"{macro}() was called in {model} with {argument(value)} instead of columns.",
        expected="a column name, or a list of column names.",
        fix="correct the argument. A name without quotes is a Jinja variable.",
    ).named("not-columns")


def reserved_columns(columns: Sequence[str], model: str) -> ConfigError:
    """The columns of a model's rows or table have the names of Iceberg's metadata columns."""
    return ConfigError(
        f"{model} has columns with the names of Iceberg's metadata columns.",
        expected="no such column, because Iceberg could not read it, or not locate the rows to replace: "
        f"{', '.join(METADATA_COLUMNS)}.",
        found=f"{', '.join(columns)}.",
        fix=f"rename the column in the model's SQL. If the table has it, use {full_refresh(model)}.",
    ).named("reserved-columns")


def no_change_type(model: str, columns: Iterable[str]) -> ConfigError:
    """The rows for the strategy ``apply_changes`` or ``history`` have no change type."""
    return ConfigError(
        f"The SQL of {model} does not return {CHANGE_TYPE}.",
        expected=f"a column {CHANGE_TYPE}, which incremental_strategy 'apply_changes' or 'history' requires.",
        found=f"{', '.join(columns)}.",
        fix=f"read the source with ip_changelog() and return {CHANGE_TYPE}, or set another strategy.",
    ).named("no-change-type")


def other_columns(columns: Sequence[str], source: TableName, model: str) -> ConfigError:
    """Column names of a source with signed changes now refer to different columns."""
    listed = ", ".join(columns)
    return ConfigError(
        f"ip_signed_changes() in {model} cannot subtract the rows that it added before: column names of {source} "
        "refer to different columns than in the model's last run.",
        expected="each name refers to the same column as in the last run, or is new.",
        found=f"{listed}: another column was renamed to this name, or the column was dropped and added again.",
        fix=f"if a column was renamed, correct the model's SQL. Then rebuild the model: {full_refresh(model)}",
    ).named("other-columns")


def wrong_sort_by(model: str, value: object, found: str) -> ConfigError:
    """The config ``sort_by`` has a value that is not a field of an Iceberg sort order."""
    return ConfigError(
        f"sort_by of {model} has {str(value)[:120]!r}, {found}.",
        expected="fields as in partition_by, with ASC or DESC, NULLS FIRST or NULLS LAST, or without.",
        fix="correct it.",
    ).named("wrong-sort-by")


def wrong_partition_by(model: str, value: object, found: str) -> ConfigError:
    """The config ``partition_by`` has a value that is not an Iceberg partition field."""
    advice = "correct it"
    if isinstance(value, Mapping) and isinstance(value.get("field"), str):
        column, part = value["field"], value.get("granularity")
        if part is None and str(value.get("data_type", "")).lower() in ("timestamp", "datetime"):
            part = "day"
        advice = f"a mapping is BigQuery's syntax; write partition_by: {f'{part}s({column})' if part else column}"
    return ConfigError(
        f"partition_by of {model} has {str(value)[:120]!r}, {found}.",
        expected="a column of the model's SQL, or years(c), months(c), days(c), hours(c), bucket(16, c) or "
        "truncate(4, c) of a column; or a list of these.",
        fix=f"{advice}.",
    ).named("wrong-partition-by")


def duplicate_keys(model: str, keys: Sequence[str], found: str) -> DuplicateKeyError:
    """More than one new row has the same ``unique_key``; ``found``: which, and how often."""
    listed = ", ".join(keys)
    return DuplicateKeyError(
        f"More than one new row of {model} has the same unique_key ({listed}).",
        expected="one new row for each key, since it replaces the existing row with this key.",
        found=f"{found}.",
        fix=[
            "keep one row of each key, for example the newest: in a subquery, return row_number() over (partition by "
            f"{listed} order by … desc) as n, and select the rows with n = 1",
            "add a column to unique_key in which these rows differ",
            "remove the duplicates from the table that the model reads",
            "if the SQL reads ip_changelog(), which returns several changes of a key: also return _change_type, and "
            "set incremental_strategy: apply_changes",
        ],
    ).named("duplicate-keys")


def key_taken(model: str, keys: Sequence[str], found: str) -> DuplicateKeyError:
    """A new row has a key that another row already has; ``found``: the key."""
    listed = ", ".join(keys)
    return DuplicateKeyError(
        f"An inserted row of {model} has the same unique_key ({listed}) as an existing row.",
        expected="a new key, or a DELETE or UPDATE_BEFORE of the existing row in the same run.",
        found=f"{found}.\n"
        "  Possible causes: two rows that the model reads share this key, a later commit deletes the existing row, or "
        "a join omits the old version of the row. The table has one row per key, so the deletion of one of these rows "
        "would remove the other.",
        fix=[
            "set unique_key to columns that differ in these rows, or keep one row of each key in the SQL",
            "if a row moves from one relation to another, remove max_snapshots_per_run and max_bytes_per_run, so that "
            "one run reads both commits",
            "if the changes are not from ip_changelog, and an INSERT may replace a row, return UPDATE_AFTER instead; "
            "if the SQL turns another row of ip_changelog into an UPDATE_AFTER, also return that row as DELETE",
            f"rebuild the model, which reports all such keys: {full_refresh(model)}",
        ],
    ).named("key-taken")


def not_deterministic(model: str, cause: str) -> ConfigError:
    """A copy-on-write MERGE uses SQL that is not deterministic."""
    return ConfigError(
        f"The SQL of {model} is not deterministic, and its table uses copy-on-write for MERGE.",
        expected="SQL that returns the same rows each time. For a copy-on-write MERGE, Spark computes the rows twice: "
        "to find the files to rewrite, and to write the new files.",
        found=cause,
        fix=[
            DETERMINISTIC,
            "use merge-on-read, for which Spark computes the rows once: ALTER TABLE … SET TBLPROPERTIES "
            "('write.merge.mode' = 'merge-on-read'). Set the same property in the model's tblproperties",
        ],
    ).named("not-deterministic")


def logic_changed(
    target: TableName, model: str, after: int, differences: Sequence[str], *, is_new: bool
) -> ConfigError:
    """Rows of the table were written by different logic, and ``on_sql_change`` is ``fail``."""
    return ConfigError(
        f"The logic of {model} has changed since run {after}, and on_sql_change is fail.",
        expected=f"the SQL, macros, variables and configs that wrote the rows of {target}.",
        found=_found(differences) if is_new else f"rows up to run {after} from different logic.",
        fix=_ways(model),
    ).named("logic-changed")


def logic_changed_warning(model: str, after: int, differences: Sequence[str], *, is_new: bool) -> str:
    """The warning of a run that continues a table with rows from different logic."""
    if not is_new:
        return (
            f"Rows of {model} up to run {after} were written by different logic. To fix, either "
            f"{', or '.join(_ways(model))}."
        )
    return message(
        f"The logic of {model} has changed since run {after}. Rows written up to run {after} keep the old logic.",
        found=_found(differences),
        fix=[*_ways(model), "to choose what happens in such cases, set on_sql_change"],
    )


def changed_since(after: int) -> str:
    """The state of a table with rows from different logic, in ``ip_status`` and the log."""
    return f"logic changed since run {after}"


def _found(differences: Sequence[str]) -> str:
    if not differences:
        return "different logic. The earlier SQL is not known, so there is no diff."
    return "".join(f"\n    {line}" for line in differences)


def _ways(model: str) -> list[str]:
    accept = command("ip_set_checkpoint", model=short(model), accept_sql="true")
    return [
        f"rebuild the table with the new logic: {full_refresh(model)}",
        f"accept the existing rows without a rebuild: `{accept}`",
    ]
