"""The order of a run's rows under ``sequence_by``: its columns and their types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...capture.run_plan import RunPlan
from ...explain import sequence_errors
from ...expose.value_range import type_name
from ...plan.policy import Strategy
from ...plan.ranges import COMMIT_ORDER
from ...sql import sql_name
from ...table.types import is_comparable
from ..columns.table_columns import Typed, key_columns


@dataclass(frozen=True)
class Ordered:
    """The rows that are ordered. ``keys``: the columns that identify them. ``sequence``: the columns that order them.

    ``fixed``: other columns that a deletion also has. ``has_deletions``: whether the rows are a changelog, in which
    NULL is a normal key value. Otherwise, all rows with a NULL in the key are kept. ``deletes_same``: whether a
    deletion has the sequence of the row that it deletes, because ``ip_changelog`` returns the old row.
    """

    columns: tuple[Typed, ...]
    keys: tuple[str, ...]
    sequence: tuple[str, ...]
    fixed: tuple[str, ...] = ()
    has_deletions: bool = False
    deletes_same: bool = False

    def types_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """The Spark types of some of the columns."""
        types = {column.name: str(column.dtype) for column in self.columns}
        return tuple(types[name] for name in names)

    @property
    def identifying(self) -> tuple[str, ...]:
        """The columns that identify a deletion: keys and sequence, each column once."""
        return tuple(dict.fromkeys((*self.keys, *self.sequence)))

    @property
    def remembered(self) -> tuple[Typed, ...]:
        """The columns of ``identifying`` with their types."""
        columns = {column.name: column for column in self.columns}
        return tuple(columns[name] for name in self.identifying)

    @property
    def without_order(self) -> list[tuple[str, str]]:
        """The columns of the sequence whose types cannot be ordered, with their types."""
        pairs = zip(self.sequence, self.types_of(self.sequence), strict=True)
        return [(name, type_) for name, type_ in pairs if not is_comparable(type_)]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]


def ordered_by(plan: RunPlan, columns: Sequence[Typed]) -> Ordered:
    """The order of rows with these columns by a model's ``sequence_by``.

    Raises ConfigError if ``sequence_by`` names a column that is missing, cannot be ordered or starts again in each run.
    """
    policy = plan.policy
    found = Ordered(
        tuple(columns),
        tuple(key_columns(columns, policy.unique_key)),
        tuple(key_columns(columns, policy.sequence_by, "sequence_by")),
        tuple(key_columns(columns, policy.fixed_columns, "merge_fixed_columns")),
        has_deletions=policy.strategy is Strategy.APPLY_CHANGES,
        deletes_same=plan.shows_old_rows,
    )
    if COMMIT_ORDER in map(str.lower, found.sequence):
        raise sequence_errors.counted_in_each_run(plan.model)
    if found.without_order:
        raise sequence_errors.no_order(plan.model, found.without_order)
    return found


def cast_sql(value: str, type_: str) -> str:
    """A value cast to a type of the table. Nested types are not cast, because Spark does not quote field names."""
    return value if "<" in type_ else f"cast({value} as {type_name(type_)})"


def casts_sql(columns: Sequence[Typed]) -> str:
    """Columns cast to their types, as in ``cast_sql``, for a SELECT."""
    return ", ".join(f"{cast_sql(sql_name(each.name), str(each.dtype))} as {sql_name(each.name)}" for each in columns)


def has_null(names: Sequence[str]) -> str:
    """The condition that one of the columns is NULL."""
    return " or ".join(f"{sql_name(name)} is null" for name in names)
