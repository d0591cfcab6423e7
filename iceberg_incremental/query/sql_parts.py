"""Small parts of the SQL that is generated for a query."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from ..names import sql_name, sql_names


def listed_sql(columns: Iterable[str]) -> str:
    """The list of columns for a SELECT. A constant if there are no columns."""
    return sql_names(columns) or "1 as ip_one"


def nothing_sql(columns: Iterable[str]) -> str:
    """A query that returns some columns and no rows."""
    return f"select {', '.join(f'null as {sql_name(column)}' for column in columns)} where false"


def raw(text: str, alias: str) -> exp.Table:
    """A relation for FROM, given as SQL, as a node of a tree."""
    return exp.Table(this=exp.Var(this=text), alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
