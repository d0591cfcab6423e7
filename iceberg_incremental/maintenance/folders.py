"""The folders of tables: which table's listing shows the files of another one, and so takes them for orphans."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..table.history import TableName

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/*")


def listed_with(table: TableName, folders: Mapping[TableName, Sequence[str]]) -> tuple[TableName, ...]:
    """The other tables that have files in a table's folder, or below it.

    A catalog that names folders after tables gives the folder of a table that was renamed to the next one of its old
    name. ``folders``: those of each table, its own location first; none of a table that is not there.
    """
    if not folders.get(table):
        return ()
    own = _path(folders[table][0])
    inside = {name for name, listed in folders.items() for each in listed if f"{_path(each)}/".startswith(f"{own}/")}
    return tuple(sorted(inside - {table}, key=str))


def _path(folder: str) -> str:
    """A folder without the scheme, which may be written in several ways."""
    return "/" + _SCHEME.sub("", folder).strip("/")
