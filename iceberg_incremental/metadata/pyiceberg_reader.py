"""Reads table metadata with PyIceberg, which needs no Spark and takes a few milliseconds per table."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from ..errors import MetadataAccessError
from ..explain import metadata_errors
from ..table.commits import may_repeat_files
from ..table.files import ChangedFiles, LiveFiles, TableColumn
from ..table.history import History, TableName
from ..table.layout import Layout, LiveSpec
from . import FilesAt, manifests
from .catalogs import HadoopMetadataCatalog, PyIcebergCatalog, SqlMetadataCatalog
from .failures import access_to
from .files import read_bytes
from .manifest_files import ReadBytes
from .table_metadata import columns_by_schema, folders_of, layout_of, parse, to_history
from .views import View, view_of

_Read = TypeVar("_Read")


class MetadataCatalog(Protocol):
    """An open catalog. Its methods raise IncrementalErrors, and the errors of the libraries that they use."""

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """See MetadataReader.locations. Raises an error if the catalog is unreachable."""

    def file_properties(self, table: TableName) -> Mapping[str, Any]:
        """The properties that PyIceberg's FileIO needs to read the table's files."""

    def document(self, table: TableName) -> Mapping[str, Any] | None:
        """The table's current metadata document. None if the table does not exist.

        Raises NotIcebergError for a view or a table of another format.
        """

    def view(self, name: TableName) -> Mapping[str, Any] | None:
        """A view's current metadata document. None if it cannot be read from this catalog."""


class PyIcebergReader:
    """A MetadataReader. It requests the PyIceberg properties of each catalog once, for the catalog's first table."""

    def __init__(self, properties_of: Callable[[str], Mapping[str, Any]]) -> None:
        """``properties_of`` returns a catalog's PyIceberg properties, or raises MetadataAccessError."""
        self._properties_of = properties_of
        self._catalogs: dict[str, tuple[MetadataCatalog, Mapping[str, Any]]] = {}
        self._opening = threading.Lock()

    def load(self, table: TableName) -> History | None:
        """See MetadataReader.load."""
        return self._of_document(table, lambda document: to_history(table, document))

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """See MetadataReader.locations."""
        found: dict[TableName, str] = {}
        for name in sorted({table.catalog for table in tables}):
            with suppress(MetadataAccessError):
                catalog, properties = self._catalog(name)
                with access_to(f"catalog {name}", properties):
                    found |= catalog.locations([table for table in tables if table.catalog == name])
        return found

    def folders(self, table: TableName) -> Sequence[str]:
        """See MetadataReader.folders."""
        found = self._of_document(table, lambda each: folders_of(each["location"], each.get("properties") or {}))
        return found or ()

    def load_with_layout(self, table: TableName) -> tuple[History, Layout | None] | None:
        """See MetadataReader.load_with_layout."""
        return self._of_document(table, lambda document: (to_history(table, document), layout_of(document)))

    def layout(self, table: TableName) -> Layout | None:
        """The table's layout. None if the table does not exist. Raises errors as ``load`` does."""
        return self._of_document(table, layout_of)

    def view(self, name: TableName) -> View | None:
        """See MetadataReader.view."""
        catalog, properties = self._catalog(name.catalog)
        with access_to(f"the metadata of {name}", properties):
            document = catalog.view(name)
            return None if document is None else view_of(name, document)

    def schemas(self, table: TableName) -> Mapping[int, Sequence[TableColumn]]:
        """The columns of each schema that a table has had, by schema id. Empty if the table does not exist."""
        return self._of_document(table, columns_by_schema) or {}

    def _of_document(self, table: TableName, what: Callable[[Mapping[str, Any]], _Read]) -> _Read | None:
        """Read a value from a table's metadata document. None if the table does not exist."""
        catalog, properties = self._catalog(table.catalog)
        with access_to(f"the metadata of {table}", properties):
            document = catalog.document(table)
            return None if document is None else what(document)

    def load_without_statement(self, table: TableName) -> History | None:
        """See MetadataReader.load_without_statement."""
        try:
            return self.load(table)
        except MetadataAccessError:
            return None

    def layout_without_statement(self, table: TableName) -> Layout | None:
        """See MetadataReader.layout_without_statement."""
        try:
            return self.layout(table)
        except MetadataAccessError:
            return None

    def older(self, history: History) -> Iterator[History]:
        """See MetadataReader.older."""
        catalog, properties = self._catalog(history.table.catalog)
        with access_to(f"the metadata of {history.table}", properties):
            properties = catalog.file_properties(history.table)
        for location in reversed(history.metadata_log):
            with access_to(f"an older metadata file of {history.table}", properties):
                try:
                    earlier = to_history(history.table, parse(read_bytes(location, properties)))
                except FileNotFoundError:
                    continue  # removed by write.metadata.delete-after-commit or remove_orphan_files
            yield earlier

    def changed_files(self, history: History, start: int, end: int) -> ChangedFiles:
        """See MetadataReader.changed_files."""
        repeats = may_repeat_files(history, end)
        return self._read(
            history.table,
            lambda document, read: manifests.changed_files(document, start, end, read, may_repeat=repeats),
        )

    def data_files(self, history: History, asked: FilesAt) -> ChangedFiles | None:
        """See MetadataReader.data_files."""
        return self._read(
            history.table,
            lambda document, read: manifests.data_files(document, asked, read),
        )

    def live_specs(self, history: History, at: int) -> Sequence[LiveSpec]:
        """See MetadataReader.live_specs."""
        return self._read(history.table, lambda document, read: manifests.live_specs(document, at, read))

    def live_files(self, history: History) -> LiveFiles | None:
        """See MetadataReader.live_files."""
        head = history.current_snapshot_id
        if head is None:
            return None
        return self._read(history.table, lambda document, read: manifests.live_files(document, head, read))

    def _read(self, table: TableName, what: Callable[[Mapping[str, Any], ReadBytes], _Read]) -> _Read:
        """Read a value from a table's manifests, with its metadata document and a function that reads its files."""
        catalog, properties = self._catalog(table.catalog)
        with access_to(f"the manifests of {table}", properties):
            document = catalog.document(table)
            if document is None:
                raise metadata_errors.dropped_meanwhile(table)
            of_files = catalog.file_properties(table)
            return what(document, lambda location: read_bytes(location, of_files))

    def _catalog(self, name: str) -> tuple[MetadataCatalog, Mapping[str, Any]]:
        with self._opening:
            if name not in self._catalogs:
                properties = self._properties_of(name)
                with access_to(f"catalog {name}", properties):
                    self._catalogs[name] = open_catalog(name, properties), properties
            return self._catalogs[name]


def open_catalog(name: str, properties: Mapping[str, Any]) -> MetadataCatalog:
    """The catalog for PyIceberg properties. Raises ImportError if an optional package is missing."""
    match catalog_type(properties):
        case "sql":
            return SqlMetadataCatalog(properties)
        case "hadoop":
            return HadoopMetadataCatalog(properties)
        case _:
            return PyIcebergCatalog(name, properties)


def catalog_type(properties: Mapping[str, Any]) -> str | None:
    """The catalog type in the properties, or the one that PyIceberg infers from their URI."""
    if "type" in properties or "py-catalog-impl" in properties:
        return properties.get("type")
    scheme = str(properties.get("uri", "")).partition(":")[0]
    return "sql" if scheme.startswith(("sqlite", "postgresql")) else None
