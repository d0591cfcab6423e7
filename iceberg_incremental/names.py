"""Names in Spark SQL. This module has no imports from this package, so that planning can use it."""

from __future__ import annotations

from collections.abc import Iterable


def sql_name(part: str) -> str:
    """One part of a name, back-quoted."""
    return "`" + part.replace("`", "``") + "`"


def sql_names(parts: Iterable[str], alias: str | None = None) -> str:
    """A list of columns, each back-quoted. ``alias``: the alias of their relation."""
    return ", ".join(sql_name(part) if alias is None else f"{alias}.{sql_name(part)}" for part in parts)


def plain_name(text: str) -> str:
    """The reverse of ``sql_name``. A name without back-quotes is returned unchanged."""
    if len(text) > 1 and text.startswith("`") and text.endswith("`"):
        return text[1:-1].replace("``", "`")
    return text
