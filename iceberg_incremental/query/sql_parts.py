"""Small parts of the SQL that is generated for a query."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from .dialect import PlainSpark


def name_sql(name: str) -> str:
    """A name in quotes."""
    return exp.to_identifier(name, quoted=True).sql(PlainSpark)


def listed_sql(columns: Iterable[str]) -> str:
    """Columns as a SELECT lists them; a constant in the place of none."""
    return ", ".join(map(name_sql, columns)) or "1 as ip_one"


def nothing_sql(columns: Iterable[str]) -> str:
    """The query for no rows of some columns."""
    return f"select {', '.join(f'null as `{column}`' for column in columns)} where false"


def raw(text: str, alias: str) -> exp.Table:
    """SQL that stands after FROM as a node of a tree."""
    return exp.Table(this=exp.Var(this=text), alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
