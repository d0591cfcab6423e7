"""The INSERT statements of packages, whose values may be strings for columns of any type."""

from __future__ import annotations

from dbt.adapters.base.relation import BaseRelation

from iceberg_incremental.errors import message
from iceberg_incremental.sql import plain_name, sql_name, sql_string

from .lookup import RelationLookup


def exact_cast(value: str, kind: str, column: str, what: str, fix: str) -> str:
    """An expression cast to the type of a column. A value that the type cannot hold raises an error, which shows it."""
    text = message(what, expected=f"{kind}, in the column {column}.", found="'\0'.", fix=fix)
    before, after = text.split("\0")
    error = f"raise_error(concat({sql_string(before)}, {value}, {sql_string(after)}))"
    return f"coalesce(try_cast({value} as {kind}), if({value} is null, null, {error}))"


class Inserts:
    """Inserts rows into existing tables."""

    def __init__(self, lookup: RelationLookup) -> None:
        self._lookup = lookup

    def query(self, relation: BaseRelation, fields: str, rows: str) -> str:
        """An INSERT of a query's rows. ``fields``: the list of columns in parentheses, in the order of the query.

        Each value is cast to the type of its column. A value that the type cannot hold is an error. Without the cast,
        Spark rejects strings for other types. A setting that permits them would convert invalid values to NULL.
        """
        types = {column.name.lower(): column.dtype for column in self._lookup.columns(relation)}
        names = [plain_name(name.strip()) for name in fields.strip().removeprefix("(").removesuffix(")").split(",")]
        aliases = [f"c{number}" for number in range(len(names))]
        values = [_typed(*each, types, relation) for each in zip(aliases, names, strict=True)]
        columns = ", ".join(map(sql_name, names))
        return (
            f"insert into {relation.render()} ({columns})\n"
            f"select {', '.join(values)} from (\n{rows}\n) as inserted({', '.join(aliases)})"
        )


def _typed(value: str, name: str, types: dict[str, str], relation: BaseRelation) -> str:
    """A value cast to its column's type. Spark itself casts to string, and refuses unknown columns."""
    kind = types.get(name.lower(), "string")
    if kind == "string":
        return value
    what = f"Cannot insert into {relation.render()}: a value does not fit its column."
    return exact_cast(value, kind, name, what, "correct the value, or the type of the column.")
