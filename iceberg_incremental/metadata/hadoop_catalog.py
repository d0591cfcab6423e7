"""Iceberg's ``hadoop`` catalog: tables are folders in the warehouse, with numbered metadata files."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ..table.history import TableName
from .files import exists, local_path, read_bytes
from .table_metadata import parse

_METADATA_FILE = re.compile(r"v(\d+)(?:\.gz)?\.metadata\.json(?:\.gz)?")
_SUFFIXES = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")


class HadoopMetadataCatalog:
    """Reads tables as Iceberg's HadoopTableOperations does: from the hinted version to the newest existing one."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        """Raises FileNotFoundError if a local warehouse does not exist, because Spark may use another file system."""
        self._properties = properties
        self._warehouse = properties["warehouse"].rstrip("/")
        path = local_path(self._warehouse)
        if path is not None and not Path(path).is_dir():
            raise FileNotFoundError(f"no such folder: {path}")

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """See MetadataReader.locations. Raises the errors of the file system."""
        found = ((table, self._newest_location(table)) for table in tables)
        return {table: location for table, location in found if location is not None}

    def document(self, table: TableName) -> Mapping[str, Any] | None:
        """See MetadataCatalog.document. Raises the errors of the file system."""
        newest = self._newest_location(table)
        return None if newest is None else parse(read_bytes(newest, self._properties))

    def view(self, name: TableName) -> None:
        """See MetadataCatalog.view. A hadoop catalog has no views."""

    def _newest_location(self, table: TableName) -> str | None:
        folder = f"{self._warehouse}/{table.namespace}/{table.name}/metadata"
        version = self._hinted_version(folder)
        newest: str | None = None
        while (location := self._location(folder, version)) is not None:
            newest, version = location, version + 1
        return newest

    def _location(self, folder: str, version: int) -> str | None:
        locations = (f"{folder}/v{version}{suffix}" for suffix in _SUFFIXES)
        return next((location for location in locations if exists(location, self._properties)), None)

    def file_properties(self, table: TableName) -> Mapping[str, Any]:
        """See MetadataCatalog.file_properties."""
        return self._properties

    def _hinted_version(self, folder: str) -> int:
        try:
            return int(read_bytes(f"{folder}/version-hint.text", self._properties))
        except FileNotFoundError:
            path = local_path(folder)  # a FileIO cannot list files, so the search starts at version 1
            names = [each.name for each in Path(path).glob("v*")] if path is not None else []
            return max((int(found[1]) for name in names if (found := _METADATA_FILE.fullmatch(name))), default=1)
