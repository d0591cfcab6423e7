"""QUALIFY, and the same filter for Spark, which does not support it before version 4.2."""

from __future__ import annotations

_START, _FILTER, _END = "<[", "]?[", "]>"


def qualify(select: str, condition: str) -> str:
    """A SELECT with QUALIFY, to be written by ``with_qualify`` or ``with_derived_tables``."""
    return f"{_START}{select}{_FILTER}{condition}{_END}"


def with_qualify(sql: str) -> str:
    """The text of a query for a model."""
    return sql.replace(_START, "").replace(_FILTER, " qualify ").replace(_END, "")


def with_derived_tables(sql: str) -> str:
    """The text of a query for Spark."""
    return sql.replace(_START, "select * from (").replace(_FILTER, ") q_ where ").replace(_END, "")
