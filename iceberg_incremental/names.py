"""Names in Spark SQL. This module has no imports from this package, so that planning can use it."""

from __future__ import annotations

from collections.abc import Iterable


def sql_name(part: str) -> str:
    """One part of a name, back-quoted."""
    return "`" + part.replace("`", "``") + "`"


def sql_names(parts: Iterable[str], alias: str | None = None) -> str:
    """A list of columns, each back-quoted. ``alias``: the alias of their relation."""
    return ", ".join(sql_name(part) if alias is None else f"{alias}.{sql_name(part)}" for part in parts)


def namespace_levels(namespace: str) -> tuple[str, ...]:
    """The names of a namespace's levels, which dots separate."""
    return tuple(namespace.split("."))


def namespaces_around(namespace: str) -> list[str]:
    """A namespace of several levels and the namespaces around it, the outermost first."""
    levels = namespace_levels(namespace)
    return [".".join(levels[:size]) for size in range(1, len(levels) + 1)]


def namespace_sql(namespace: str, catalog: str | None = None) -> str:
    """A namespace, with every level back-quoted. ``catalog``: the catalog to name before it."""
    return ".".join(map(sql_name, [*([] if catalog is None else [catalog]), *namespace_levels(namespace)]))


def plain_name(text: str) -> str:
    """The reverse of ``sql_name``. A name without back-quotes is returned unchanged."""
    if len(text) > 1 and text.startswith("`") and text.endswith("`"):
        return text[1:-1].replace("``", "`")
    return text
