"""Reading one file, wherever it lies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..table.history import History, TableName
from . import table_metadata

_LOCAL_PREFIXES = ("file://", "file:")


def local_path(location: str) -> str | None:
    """The path of a location on this machine's disk, or None for any other.

    Nothing is decoded: to Iceberg's writers, as to the disk, ``%``, ``#`` and ``?`` are characters like others.
    """
    for prefix in _LOCAL_PREFIXES:
        if location.startswith(prefix):
            return location.removeprefix(prefix)
    return None if "://" in location else location


def read_bytes(location: str, properties: Mapping[str, Any]) -> bytes:
    """The content of a file, by PyIceberg's FileIO for the location's scheme; local files need no FileIO.

    Raises FileNotFoundError where it is gone, and whatever the FileIO raises where it cannot be reached.
    """
    path = local_path(location)
    if path is not None and "py-io-impl" not in properties:
        return Path(path).read_bytes()
    from pyiceberg.io import load_file_io

    with load_file_io(cast("dict[str, str]", dict(properties)), location).new_input(location).open() as stream:
        return stream.read()


def exists(location: str, properties: Mapping[str, Any]) -> bool:
    """Whether there is a file. Raises whatever the FileIO raises where that cannot be reached."""
    path = local_path(location)
    if path is not None and "py-io-impl" not in properties:
        return Path(path).exists()
    from pyiceberg.io import load_file_io

    return load_file_io(cast("dict[str, str]", dict(properties)), location).new_input(location).exists()


def read_history(table: TableName, location: str, properties: Mapping[str, Any]) -> History:
    """The history in one metadata file of a table. Raises as read_bytes does, and ValueError for any other file."""
    return table_metadata.to_history(table, table_metadata.parse(read_bytes(location, properties)))
