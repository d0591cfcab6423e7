"""The strategy ``merge``: a new row replaces the row with its ``unique_key``, or is inserted."""

from __future__ import annotations

from collections.abc import Sequence

from ...sql import sql_name
from ..columns.table_columns import Named
from ..columns.unique_keys import unique_rows_sql


def enclosed(predicates: Sequence[str]) -> list[str]:
    """The conditions in parentheses, since they may contain OR. A condition may end in a comment."""
    return [f"({each}\n)" if "--" in each else f"({each})" for each in predicates]


SOURCE, TARGET = "DBT_INTERNAL_SOURCE", "DBT_INTERNAL_DEST"


def merge_sql(
    target: str,
    rows: str,
    columns: Sequence[Named],
    keys: Sequence[str],
    updated: Sequence[Named],
    predicates: Sequence[str],
    model: str,
) -> str:
    """The MERGE of the rows of a relation. It fails if two of them have the same key.

    ``updated``: the columns that are updated in a matched row. If empty, matched rows do not change.
    """
    conditions = [*enclosed(predicates), *(f"{SOURCE}.{sql_name(key)} = {TARGET}.{sql_name(key)}" for key in keys)]
    return "\n".join(
        [
            f"merge into {target} as {TARGET}",
            f"using (\n{unique_rows_sql(rows, keys, model)}\n) as {SOURCE}",
            f"on {' and '.join(conditions)}",
            *update_clauses(updated),
            f"when not matched then {insert_clause(columns)}",
        ]
    )


def update_clauses(updated: Sequence[Named]) -> list[str]:
    """The clause of a MERGE that updates matched rows. Empty if no column is updated."""
    values = [f"{sql_name(column.name)} = {SOURCE}.{sql_name(column.name)}" for column in updated]
    return [f"when matched then update set {', '.join(values)}"] if values else []


def insert_clause(columns: Sequence[Named]) -> str:
    """The action of a MERGE that inserts a row."""
    names = [sql_name(column.name) for column in columns]
    return f"insert ({', '.join(names)})\n    values ({', '.join(f'{SOURCE}.{name}' for name in names)})"
