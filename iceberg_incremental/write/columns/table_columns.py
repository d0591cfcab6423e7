"""The columns that a statement writes: which values fit without loss, and columns that only one side has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Protocol, TypeVar

from ...explain import column_errors, model_errors, window_errors
from ...expose.event_window import inside_sql
from ...plan.event_window import EventWindow, holds_whole_partitions
from ...sql import plain_name, sql_name, sql_string
from ...table.files import METADATA_COLUMNS
from ...table.history import TableName
from ...table.types import INTEGERS, SparkType, as_written, compares_alike, is_collated, parsed, same_parts, type_text

_EXACT_TEXT = {*INTEGERS, "float", "double", "decimal", "boolean", "date", "timestamp_ntz"}
"""Types whose text represents the value exactly, regardless of the session's settings."""
_WIDER = {
    "float": {"tinyint", "smallint"},
    "double": {"tinyint", "smallint", "int", "float"},
    "timestamp": {"date"},
    "timestamp_ntz": {"date"},
    "string": _EXACT_TEXT,
}


def fits(given: str, target: str) -> bool:
    """Whether a column of type ``target`` can store every value of type ``given``. Types are named as in DESCRIBE."""
    return same_type(given, target) or _fits(parsed(given), parsed(target))


def same_type(given: str, target: str) -> bool:
    """Whether two types are the same in Iceberg, which has one type for text and none for 8-bit and 16-bit integers."""
    return _stored(parsed(given)) == _stored(parsed(target))


def promotes(before: str, after: str) -> bool:
    """Whether Iceberg can change a column's type from ``before`` to ``after``, which preserves every value."""
    old, new = _stored(parsed(before)), _stored(parsed(after))
    if old.name == new.name == "decimal":
        return old.numbers[1] == new.numbers[1] and old.numbers[0] <= new.numbers[0]
    return (old.name, new.name) in (("int", "bigint"), ("float", "double"))


def new_fields(name: str, given: str, target: str) -> list[str] | None:
    """The fields that a type has in addition to another type, each as in ALTER TABLE ADD COLUMNS.

    ``name``: the column's name in SQL. None if the types differ in any other way.
    """
    found = _new_fields(name, as_written(given), as_written(target))
    return None if found is None else list(found)


def _new_fields(path: str, given: SparkType, target: SparkType) -> tuple[str, ...] | None:
    if given.name != target.name or not given.parts:
        return () if _fits(parsed(type_text(given)), parsed(type_text(target))) else None
    if given.name != "struct":
        inner = {"array": ("element",), "map": ("key", "value")}[given.name]
        pairs = zip(inner, given.parts, target.parts, strict=True)
        return _together([_new_fields(f"{path}.{part}", ours[1], theirs[1]) for part, ours, theirs in pairs])
    rest, place = list(target.parts), " first"
    found = []
    for name, type_ in given.parts:
        if rest and rest[0][0].lower() == name.lower():
            found.append(_new_fields(f"{path}.{sql_name(name)}", type_, rest.pop(0)[1]))
        else:
            # without a place, the field would follow those of the table, although Spark assigns fields by position
            found.append((f"{path}.{sql_name(name)} {type_text(type_)}{place}",))
        place = f" after {sql_name(name)}"
    return None if rest else _together(found)


def _together(found: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The fields of all parts. None if one of them is None."""
    known = [each for each in found if each is not None]
    return tuple(chain.from_iterable(known)) if len(known) == len(found) else None


def _fits(given: SparkType, target: SparkType) -> bool:
    if given == target or given.name == "void":
        return True
    if given.parts or target.parts:
        return same_parts(given, target, _fits)
    precision, scale = target.numbers
    if given.name in INTEGERS and target.name in INTEGERS:
        return INTEGERS[given.name] <= INTEGERS[target.name]
    if given.name in INTEGERS and target.name == "decimal":
        return INTEGERS[given.name] <= precision - scale
    if given.name == target.name == "decimal":
        return given.numbers[1] <= scale and given.numbers[0] - given.numbers[1] <= precision - scale
    return given.name in _WIDER.get(target.name, ())


def _stored(type_: SparkType) -> SparkType:
    """The type as Iceberg stores it."""
    if type_.name in ("tinyint", "smallint"):
        return SparkType("int")
    return SparkType(type_.name, tuple((name, _stored(part)) for name, part in type_.parts), type_.numbers)


class Named(Protocol):
    """A column with a name."""

    @property
    def name(self) -> str:
        """The column's name, without quotes."""


class Typed(Named, Protocol):
    """A column with a name and a type."""

    @property
    def dtype(self) -> str:
        """The Spark type."""


@dataclass(frozen=True)
class Column:
    """A column that was not described by a connection. ``dtype``: the Spark type."""

    name: str
    dtype: str


_Column = TypeVar("_Column", bound=Named)
_TypedColumn = TypeVar("_TypedColumn", bound=Typed)


@dataclass(frozen=True)
class SchemaChanges(Generic[_TypedColumn]):
    """The changes to a target's columns before a model's rows are written.

    ``added``: columns of the model that are added. ``removed``: columns of the table that are dropped. ``retyped``:
    columns of the model whose types the table adopts. ``passed_over``: the names of columns of the model that are not
    written to the table.
    """

    added: Sequence[_TypedColumn] = ()
    removed: Sequence[_TypedColumn] = ()
    retyped: Sequence[_TypedColumn] = ()
    passed_over: Sequence[str] = ()

    @property
    def alters(self) -> bool:
        """Whether the target is altered."""
        return bool(self.added or self.removed or self.retyped)


def require_comparable(
    given: Sequence[Typed], target: Sequence[Typed], compared: Mapping[str, Sequence[str]], table: TableName, model: str
) -> None:
    """Raise ConfigError if new rows do not compare with the table's rows in the same way as with each other.

    ``compared``: the columns by which rows are compared, by config. Such a column is an error if the table lacks it, or
    if its type in the table orders or distinguishes values differently.
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
    """Raise ConfigError if compared columns have other types than when the table's rows were written.

    The table's current types do not show this if a user has altered them. For example, a float that became a double
    differs from the double that the SQL returns. Types are by lower-case name.
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
    """Raise ConfigError if text by which rows are compared has a collation, which Iceberg tables do not store."""
    types = {column.name.lower(): column.dtype for column in columns}
    found = [(config, name, types[name]) for config, name in _each(compared) if is_collated(types.get(name, ""))]
    if found:
        raise column_errors.collated(model, found)


def _each(compared: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(config, name) for config, names in compared.items() for name in _names(names)]


def schema_changes(
    on_schema_change: str,
    given: Sequence[_TypedColumn],
    target: Sequence[_TypedColumn],
    table: TableName,
    model: str,
    *,
    keeps_history: bool = False,
) -> SchemaChanges[_TypedColumn]:
    """The changes to the table's columns, given the model's columns and ``on_schema_change``.

    ``keeps_history``: whether the table has versions that a rebuild would lose, so that no error offers one. Raises
    ConfigError if rows of the table would silently be NULL or have other values than the model returns.
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
            raise column_errors.out_of_sync(table, model, new, gone, differing, keeps_history=keeps_history)
    if on_schema_change == "ignore" and missing:
        raise column_errors.columns_missing(table, model, gone, new, on_schema_change, keeps_history=keeps_history)
    unfit = [(ours, theirs) for ours, theirs in pairs if not fits(ours.dtype, theirs.dtype)]
    promotable = all(promotes(theirs.dtype, ours.dtype) for ours, theirs in unfit)
    syncs = on_schema_change == "sync_all_columns"
    if unfit and not (syncs and promotable):
        fields = [new_fields(sql_name(theirs.name), ours.dtype, theirs.dtype) for ours, theirs in unfit]
        more = [field for each in fields for field in each or ()] if None not in fields else []
        raise column_errors.values_do_not_fit(
            table,
            model,
            _types(unfit),
            on_schema_change,
            promotable=promotable,
            more=more,
            keeps_history=keeps_history,
        )
    if on_schema_change == "ignore":
        return SchemaChanges(passed_over=new)
    return SchemaChanges(added, missing if syncs else (), [ours for ours, _ in unfit])


def _types(pairs: Iterable[tuple[Typed, Typed]]) -> list[tuple[str, str, str]]:
    return [(ours.name, ours.dtype, theirs.dtype) for ours, theirs in pairs]


def written_columns(source: Sequence[Named], target: Sequence[_Column]) -> list[_Column]:
    """The target's columns for which the model's SQL returns values. The case of names is ignored."""
    given = {column.name.lower() for column in source}
    return [column for column in target if column.name.lower() in given]


def updated_columns(
    columns: Sequence[_Column], update: str | Sequence[str] | None, exclude: str | Sequence[str] | None
) -> list[_Column]:
    """The columns that a MERGE updates in matched rows.

    ``update``, ``exclude``: the configs ``merge_update_columns`` and ``merge_exclude_columns``. Raises ConfigError for
    a name that is not a column.
    """
    chosen, excluded = _names(update), _names(exclude)
    known = {column.name.lower() for column in columns}
    unknown = [name for name in (*chosen, *excluded) if name not in known]
    if unknown:
        config = "merge_update_columns" if unknown[0] in chosen else "merge_exclude_columns"
        raise column_errors.not_columns_of_the_model(config, unknown, [column.name for column in columns])
    return [
        column
        for column in columns
        if (not chosen or column.name.lower() in chosen) and column.name.lower() not in excluded
    ]


def key_columns(columns: Sequence[Named], keys: str | Sequence[str], config: str = "unique_key") -> list[str]:
    """The columns in a config, with the target's spelling. Raises ConfigError for a name that is not a column."""
    known = {column.name.lower(): column.name for column in columns}
    names = _names(keys)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise column_errors.not_columns_of_the_model(config, unknown, list(known.values()))
    return [known[name] for name in names]


def require_readable(columns: Sequence[Named], model: str, *, replaces_rows: bool) -> None:
    """Raise ConfigError for columns of a table with the names of Iceberg's metadata columns.

    Iceberg creates a table with such a column and cannot read it. If the case differs, it can, but statements that
    replace rows cannot locate them.
    """
    found = [each.name for each in columns if (each.name.lower() if replaces_rows else each.name) in METADATA_COLUMNS]
    if found:
        raise model_errors.reserved_columns(found, model)


def overwriting_values(
    columns: Sequence[Named],
    window: EventWindow,
    *,
    event_time: str,
    event_times: Collection[str],
    partition_by: str | Sequence[str] | None,
    model: str,
) -> list[str]:
    """The values that an INSERT OVERWRITE of a window writes, as expressions that fail for rows outside the window.

    The check is an expression on the row's event time, not a condition, because Spark would push a condition below
    joins that omit the row. ``event_times``: the columns that selected the sources' rows of the window.

    Raises ConfigError if these have other names than ``event_time``, or if the window does not consist of whole
    partitions.
    """
    others = {name for name in event_times if plain_name(name).lower() != plain_name(event_time).lower()}
    if others:
        raise window_errors.other_event_times(model, event_time, others)
    if not holds_whole_partitions(window, partition_by, plain_name(event_time)):
        raise window_errors.window_cuts_partitions(window, model, event_time, partition_by)
    values = {column.name: sql_name(column.name) for column in columns}
    outside = sql_string(
        f"The model returns rows with {event_time} outside the window {window}, which would replace a whole partition "
        "with a part of its rows"
    )
    (name,) = key_columns(columns, event_time, config="event_time")
    inside = inside_sql(window, event_time)
    values[name] = f"case when {inside} then {values[name]} else raise_error({outside}) end as {values[name]}"
    return list(values.values())


def _require_distinct_names(columns: Sequence[Named], model: str) -> None:
    """Raise ConfigError for columns whose names differ only in case."""
    alike = column_errors.differing_only_in_case(column.name for column in columns)
    if alike:
        raise column_errors.columns_differ_in_case(alike, f"the columns of {model}")


def _names(names: str | Sequence[str] | None) -> list[str]:
    listed = [names] if isinstance(names, str) else names or []
    return [plain_name(name).lower() for name in listed]
