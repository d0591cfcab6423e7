"""Names as Spark SQL takes them. It imports nothing, so that the values of planning can name a table."""

from __future__ import annotations


def sql_name(part: str) -> str:
    """One part of a name, back-quoted."""
    return "`" + part.replace("`", "``") + "`"


def plain_name(text: str) -> str:
    """The reverse of ``sql_name``; a name that is not back-quoted stays as it is."""
    if len(text) > 1 and text.startswith("`") and text.endswith("`"):
        return text[1:-1].replace("``", "`")
    return text
