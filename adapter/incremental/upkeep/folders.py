"""The folders of tables: which table's listing shows the files of another one, and so takes them for orphans."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..table.history import TableName

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/*")
_METADATA_FILE = re.compile(r"/metadata/[^/]*$")


def listed_with(table: TableName, metadata_files: Mapping[TableName, str]) -> tuple[TableName, ...]:
    """The other tables whose files are in a table's folder, or below it.

    A catalog that names folders after tables gives the folder of a table that was renamed to the next one of its old
    name. ``metadata_files``: where the current metadata file of each table is.
    """
    folders = {name: _folder(file) for name, file in metadata_files.items()}
    own = folders.get(table)
    if own is None:
        return ()
    return tuple(
        sorted(
            (name for name, folder in folders.items() if name != table and (folder + "/").startswith(own + "/")),
            key=str,
        )
    )


def _folder(metadata_file: str) -> str:
    """A table's folder, without the scheme, which may be written in several ways."""
    return "/" + _SCHEME.sub("", _METADATA_FILE.sub("", metadata_file)).lstrip("/")
