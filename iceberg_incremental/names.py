"""Names as Spark SQL takes them. It imports nothing of ours, so that the values of planning can name a table."""

from __future__ import annotations

from collections.abc import Iterable


def sql_name(part: str) -> str:
    """One part of a name, back-quoted."""
    return "`" + part.replace("`", "``") + "`"


def sql_names(parts: Iterable[str], alias: str | None = None) -> str:
    """A list of columns, each back-quoted; those of one relation by its alias."""
    return ", ".join(sql_name(part) if alias is None else f"{alias}.{sql_name(part)}" for part in parts)


def plain_name(text: str) -> str:
    """The reverse of ``sql_name``; a name that is not back-quoted stays as it is."""
    if len(text) > 1 and text.startswith("`") and text.endswith("`"):
        return text[1:-1].replace("``", "`")
    return text
