"""The INSERT statements of packages, whose values may be strings for columns of any type."""

from __future__ import annotations

from dbt.adapters.base.relation import BaseRelation

from iceberg_incremental.sql import plain_name, sql_name

from .exact_cast import exact_cast
from .lookup import RelationLookup


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
