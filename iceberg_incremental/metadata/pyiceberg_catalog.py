"""Any catalog that PyIceberg supports (``rest``, ``hive``, ``glue``, …), as a source of histories."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import NotIcebergError, ViewError
from ..explain import metadata_errors
from ..table.history import TableName

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.view import View

_HEADS = {"snapshot-loading-mode": "refs"}
"""Makes a REST catalog return only the snapshots of branches and tags. Other types of catalogs ignore it."""


class PyIcebergCatalog:
    """One PyIceberg catalog per thread, because threads cannot share a connection to a Hive metastore."""

    def __init__(self, name: str, properties: Mapping[str, Any]) -> None:
        self._name = name
        self._properties = properties
        self._thread = threading.local()
        self._open()  # so that wrong properties fail here, and not at the first table

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """See MetadataReader.locations.

        Each response of the catalog contains the table's metadata. A REST catalog omits the history.

        Raises the errors of PyIceberg if the catalog is unreachable.
        """
        found: dict[TableName, str] = {}
        for table in tables:
            try:
                if (loaded := self._load(table, heads=True)) is not None:
                    found[table] = loaded.metadata_location
            except ViewError:
                if (view := self._load_view(table)) is not None:  # PyIceberg does not return its location
                    found[table] = f"version {view.current_version().version_id} of {view.metadata.view_uuid}"
            except NotIcebergError:
                continue
        return found

    def file_properties(self, table: TableName) -> Mapping[str, Any]:
        """See MetadataCatalog.file_properties.

        A REST catalog returns the credentials for a table's files with the table.
        """
        found = self._load(table)
        return self._properties if found is None else found.io.properties

    def document(self, table: TableName) -> Mapping[str, Any] | None:
        """See MetadataCatalog.document. Raises the errors of PyIceberg."""
        found = self._load(table)
        return None if found is None else document_of(found.metadata)

    def view(self, name: TableName) -> Mapping[str, Any] | None:
        """See MetadataCatalog.view. Raises the errors of PyIceberg, which reads views only in REST catalogs."""
        found = self._load_view(name)
        return None if found is None else found.metadata.model_dump(mode="json")

    def _load_view(self, name: TableName) -> View | None:
        from pyiceberg.exceptions import NoSuchViewError

        with suppress(NotImplementedError, NoSuchViewError):
            return self._open().load_view((name.namespace, name.name))
        return None

    def _load(self, table: TableName, *, heads: bool = False) -> Table | None:
        from pyiceberg.exceptions import NoSuchIcebergTableError, NoSuchPropertyException, NoSuchTableError

        catalog = self._open(heads=heads)
        identifier = (table.namespace, table.name)
        try:
            return catalog.load_table(identifier)
        except (NoSuchIcebergTableError, NoSuchPropertyException) as error:
            if "iceberg-view" in str(error).lower():
                raise metadata_errors.view(table) from error
            raise metadata_errors.other_format(table, provider=None) from error
        except NoSuchTableError:
            if _is_view(catalog, identifier):
                raise metadata_errors.view(table) from None
            return None

    def _open(self, *, heads: bool = False) -> Catalog:
        """This thread's catalog. ``heads``: whether a REST catalog returns only the snapshots of branches and tags."""
        kept = "heads" if heads else "catalog"
        catalog: Catalog | None = getattr(self._thread, kept, None)
        if catalog is None:
            from pyiceberg.catalog import load_catalog

            catalog = load_catalog(self._name, **{**self._properties, **(_HEADS if heads else {})})
            setattr(self._thread, kept, catalog)
        return catalog


def document_of(metadata: TableMetadata) -> dict[str, Any]:
    """The metadata document that PyIceberg has read. Its ``model_dump_json`` rejects format v3 (PyIceberg 0.12)."""
    return metadata.model_dump(mode="json")


def _is_view(catalog: Catalog, identifier: tuple[str, ...]) -> bool:
    try:
        return catalog.view_exists(identifier)
    except NotImplementedError:
        return False
