"""Which columns of a target a statement writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from ..sql import plain_name
from .errors import ConfigError


class Named(Protocol):
    """A column, as far as this module needs it."""

    @property
    def name(self) -> str:
        """The column's name, without quotes."""
        ...


_Column = TypeVar("_Column", bound=Named)


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
        raise ConfigError(
            f"merge_update_columns or merge_exclude_columns names {', '.join(unknown)}.\n"
            f"  Expected: columns of the model: {', '.join(column.name for column in columns)}.\n"
            "  What to do: correct the name, or add the column to the model's SQL."
        )
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
        raise ConfigError(
            f"{config} names {', '.join(unknown)}.\n"
            f"  Expected: columns of the model: {', '.join(known.values())}.\n"
            "  What to do: correct the name, or add the column to the model's SQL."
        )
    return [known[name] for name in names]


def _names(names: str | Sequence[str] | None) -> list[str]:
    listed = [names] if isinstance(names, str) else names or []
    return [plain_name(name).lower() for name in listed]
