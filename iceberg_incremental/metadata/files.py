"""Reads single files from any file system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyiceberg.io import InputFile

_LOCAL_PREFIXES = ("file://", "file:")


def local_path(location: str) -> str | None:
    """The path of a location on a local disk. None for other locations.

    Nothing is decoded, because Iceberg's writers and the file system treat ``%``, ``#`` and ``?`` as normal characters.
    """
    for prefix in _LOCAL_PREFIXES:
        if location.startswith(prefix):
            return location.removeprefix(prefix)
    return None if "://" in location else location


def read_bytes(location: str, properties: Mapping[str, Any]) -> bytes:
    """The content of a file, read by PyIceberg's FileIO for its scheme. Local files need no FileIO by default.

    Raises FileNotFoundError if the file does not exist, and the errors of the FileIO.
    """
    file = _file(location, properties)
    if isinstance(file, Path):
        return file.read_bytes()
    with file.open() as stream:
        return stream.read()


def exists(location: str, properties: Mapping[str, Any]) -> bool:
    """Whether a file exists. Raises the errors of the FileIO."""
    return _file(location, properties).exists()


def _file(location: str, properties: Mapping[str, Any]) -> Path | InputFile:
    path = local_path(location)
    if path is not None and "py-io-impl" not in properties:
        return Path(path)
    from pyiceberg.io import load_file_io

    return load_file_io(cast("dict[str, str]", dict(properties)), location).new_input(location)
