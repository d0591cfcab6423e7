"""Reading one file, wherever it lies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyiceberg.io import InputFile

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
    file = _file(location, properties)
    if isinstance(file, Path):
        return file.read_bytes()
    with file.open() as stream:
        return stream.read()


def exists(location: str, properties: Mapping[str, Any]) -> bool:
    """Whether there is a file. Raises whatever the FileIO raises where that cannot be reached."""
    return _file(location, properties).exists()


def _file(location: str, properties: Mapping[str, Any]) -> Path | InputFile:
    path = local_path(location)
    if path is not None and "py-io-impl" not in properties:
        return Path(path)
    from pyiceberg.io import load_file_io

    return load_file_io(cast("dict[str, str]", dict(properties)), location).new_input(location)
