"""Which columns of a target a statement writes, and what becomes of columns that only one side has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ..explain import column_errors, window_errors
from ..expose.event_window import inside_sql
from ..plan.event_window import EventWindow, holds_whole_partitions
from ..sql import plain_name, sql_name, sql_string
from ..table.history import TableName
from ..table.spark_types import compares_alike, is_collated
from .assignment import fits, promotes, same_type


class Named(Protocol):
    """A column, as far as this module needs it."""

    @property
    def name(self) -> str:
        """The column's name, without quotes."""


class Typed(Named, Protocol):
    """A column with its type."""

    @property
    def dtype(self) -> str:
        """The type, by Spark's name."""


@dataclass(frozen=True)
class Column:
    """A column that no connection has described. ``dtype``: the type, by Spark's name."""

    name: str
    dtype: str


_Column = TypeVar("_Column", bound=Named)
_TypedColumn = TypeVar("_TypedColumn", bound=Typed)


@dataclass(frozen=True)
class SchemaChanges(Generic[_TypedColumn]):
    """How a target is altered before a model's rows are written into it.

    ``added``: columns of the model that it gets. ``removed``: columns of its own that it loses. ``retyped``: columns of
    the model whose types it takes. ``passed_over``: names of columns of the model that are not written.
    """

    added: Sequence[_TypedColumn] = ()
    removed: Sequence[_TypedColumn] = ()
    retyped: Sequence[_TypedColumn] = ()
    passed_over: Sequence[str] = ()

    @property
    def alters(self) -> bool:
        """Whether the target is altered at all."""
        return bool(self.added or self.removed or self.retyped)


def require_comparable(
    given: Sequence[Typed], target: Sequence[Typed], compared: Mapping[str, Sequence[str]], table: TableName, model: str
) -> None:
    """Refuse new rows that do not compare with those of the table as they would among themselves.

    ``compared``: the columns by which rows are compared, by the configs that name them.
    Raises ConfigError for such columns that the table does not have, or has of a type that orders its values, or tells
    them apart, in another way.
    """
    require_uncollated(given, compared, model)
    ours, theirs = ({column.name.lower(): column for column in columns} for columns in (given, target))
    pairs = [(config, ours[name], theirs.get(name)) for config, name in _each(compared) if name in ours]
    absent = [(config, column.name) for config, column, known in pairs if known is None]
    if absent:
        raise column_errors.compared_columns_missing(table, model, absent)
    differing = [
        (config, column.name, column.dtype, known.dtype)
        for config, column, known in pairs
        if known is not None and not compares_alike(column.dtype, known.dtype)
    ]
    if differing:
        raise column_errors.compared_types_differ(table, model, differing)


def require_recorded_types(now: Mapping[str, str], recorded: Mapping[str, str], table: TableName, model: str) -> None:
    """Refuse new rows whose columns compare otherwise than when the table's rows were written, by lower-case name.

    The table's present types do not show that where somebody has altered them: a float that became a double is another
    number than the double in the SQL. Raises ConfigError.
    """
    differing = [
        ("column", name, type_, recorded[name])
        for name, type_ in now.items()
        if name in recorded and not compares_alike(type_, recorded[name])
    ]
    if differing:
        raise column_errors.compared_types_differ(table, model, differing)


def types_of(columns: Sequence[Typed], compared: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The types of the columns by which rows are compared, by lower-case name."""
    types = {column.name.lower(): column.dtype for column in columns}
    return {name: types[name] for _, name in _each(compared) if name in types}


def require_uncollated(columns: Sequence[Typed], compared: Mapping[str, Sequence[str]], model: str) -> None:
    """Raise ConfigError where text by which rows are compared has a collation, which no Iceberg table keeps."""
    types = {column.name.lower(): column.dtype for column in columns}
    found = [(config, name, types[name]) for config, name in _each(compared) if is_collated(types.get(name, ""))]
    if found:
        raise column_errors.collated(model, found)


def _each(compared: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(config, name) for config, names in compared.items() for name in _names(names)]


def schema_changes(
    on_schema_change: str, given: Sequence[_TypedColumn], target: Sequence[_TypedColumn], table: TableName, model: str
) -> SchemaChanges[_TypedColumn]:
    """Compare the columns that a model gives with those of its table, and decide by ``on_schema_change``.

    Raises ConfigError where rows of the table would be NULL, or hold other values than the model gives, unsaid.
    """
    for columns in (given, target):
        _require_distinct_names(columns, model)
    known = {column.name.lower(): column for column in target}
    names = {column.name.lower() for column in given}
    added = [column for column in given if column.name.lower() not in known]
    missing = [column for column in target if column.name.lower() not in names]
    pairs = [(column, known[column.name.lower()]) for column in given if column.name.lower() in known]
    new, gone = [column.name for column in added], [column.name for column in missing]
    if on_schema_change == "fail":
        differing = _types((ours, theirs) for ours, theirs in pairs if not same_type(ours.dtype, theirs.dtype))
        if added or missing or differing:
            raise column_errors.out_of_sync(table, model, new, gone, differing)
    if on_schema_change == "ignore" and missing:
        raise column_errors.columns_missing(table, model, gone, new, on_schema_change)
    unfit = [(ours, theirs) for ours, theirs in pairs if not fits(ours.dtype, theirs.dtype)]
    promotable = all(promotes(theirs.dtype, ours.dtype) for ours, theirs in unfit)
    syncs = on_schema_change == "sync_all_columns"
    if unfit and not (syncs and promotable):
        raise column_errors.values_do_not_fit(table, model, _types(unfit), on_schema_change, promotable=promotable)
    if on_schema_change == "ignore":
        return SchemaChanges(passed_over=new)
    return SchemaChanges(added, missing if syncs else (), [ours for ours, _ in unfit])


def _types(pairs: Iterable[tuple[Typed, Typed]]) -> list[tuple[str, str, str]]:
    return [(ours.name, ours.dtype, theirs.dtype) for ours, theirs in pairs]


def written_columns(source: Sequence[Named], target: Sequence[_Column]) -> list[_Column]:
    """The target's columns that the model's SQL gives values for, whatever the case their names are written in."""
    given = {column.name.lower() for column in source}
    return [column for column in target if column.name.lower() in given]


def updated_columns(
    columns: Sequence[_Column], update: str | Sequence[str] | None, exclude: str | Sequence[str] | None
) -> list[_Column]:
    """The columns that a MERGE updates in matched rows.

    ``update`` and ``exclude`` are the configs ``merge_update_columns`` and ``merge_exclude_columns``.
    Raises ConfigError for a name that is none of the columns.
    """
    chosen, excluded = _names(update), _names(exclude)
    known = {column.name.lower() for column in columns}
    unknown = [name for name in (*chosen, *excluded) if name not in known]
    if unknown:
        config = "merge_update_columns or merge_exclude_columns"
        raise column_errors.not_columns_of_the_model(config, unknown, [column.name for column in columns])
    return [
        column
        for column in columns
        if (not chosen or column.name.lower() in chosen) and column.name.lower() not in excluded
    ]


def key_columns(columns: Sequence[Named], keys: str | Sequence[str], config: str = "unique_key") -> list[str]:
    """The columns that a config names, as the target names them. Raises ConfigError for one that is none of them."""
    known = {column.name.lower(): column.name for column in columns}
    names = _names(keys)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise column_errors.not_columns_of_the_model(config, unknown, list(known.values()))
    return [known[name] for name in names]


def overwriting_values(
    columns: Sequence[Named],
    window: EventWindow,
    *,
    event_time: str,
    event_times: Collection[str],
    partition_by: str | Sequence[str] | None,
    model: str,
) -> list[str]:
    """What an INSERT OVERWRITE of a window writes into its columns: the new rows' values, where a row outside fails.

    That is said of the row's event time, and not as a condition, which Spark would push below the joins that leave the
    row out. ``event_times``: the columns by which the sources' rows of the window were found.
    Raises ConfigError where these have other names, and where the window does not consist of whole partitions.
    """
    others = {name for name in event_times if plain_name(name).lower() != plain_name(event_time).lower()}
    if others:
        raise window_errors.other_event_times(model, event_time, others)
    if not holds_whole_partitions(window, partition_by, plain_name(event_time)):
        raise window_errors.window_cuts_partitions(window, model, event_time, partition_by)
    values = {column.name: sql_name(column.name) for column in columns}
    outside = sql_string(window_errors.outside_window(window, event_time))
    (name,) = key_columns(columns, event_time, config="event_time")
    inside = inside_sql(window, event_time)
    values[name] = f"case when {inside} then {values[name]} else raise_error({outside}) end as {values[name]}"
    return list(values.values())


def _require_distinct_names(columns: Sequence[Named], model: str) -> None:
    """Raise ConfigError for columns whose names differ in case only."""
    alike = column_errors.differing_only_in_case(column.name for column in columns)
    if alike:
        raise column_errors.columns_differ_in_case(alike, f"the columns of {model}")


def _names(names: str | Sequence[str] | None) -> list[str]:
    listed = [names] if isinstance(names, str) else names or []
    return [plain_name(name).lower() for name in listed]
