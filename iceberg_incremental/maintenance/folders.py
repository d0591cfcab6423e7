"""Finds tables with files in the folder of another table, whose orphan removal would delete these files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..table.history import TableName

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/*")


def listed_with(table: TableName, folders: Mapping[TableName, Sequence[str]]) -> tuple[TableName, ...]:
    """The other tables that have files in a table's folder or a subfolder.

    If a catalog derives folders from names, a new table with the old name of a renamed table gets the same folder.
    ``folders``: the folders of each table, with its location first. Empty for a table that does not exist.
    """
    if not folders.get(table):
        return ()
    own = _path(folders[table][0])
    inside = {name for name, listed in folders.items() for each in listed if f"{_path(each)}/".startswith(f"{own}/")}
    return tuple(sorted(inside - {table}, key=str))


def _path(folder: str) -> str:
    """A folder without its scheme, because the same scheme has several spellings."""
    return "/" + _SCHEME.sub("", folder).strip("/")
