"""Any catalog that PyIceberg itself knows (``rest``, ``hive``, ``glue``, …) as a source of histories."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import NotIcebergError
from ..explain import metadata_errors
from ..table.history import TableName

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

_HEADS = {"snapshot-loading-mode": "refs"}
"""Has a REST catalog leave out the other snapshots; other catalogs do not know it."""


class PyIcebergCatalog:
    """Each thread has a PyIceberg catalog of its own, since a connection to a Hive metastore cannot be shared."""

    def __init__(self, name: str, properties: Mapping[str, Any]) -> None:
        self._name = name
        self._properties = properties
        self._thread = threading.local()
        self._open()  # what is wrong with the properties shows now, not at the first table

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """See MetadataReader.locations: what these catalogs answer has the metadata with it, of REST without a history.

        Raises whatever PyIceberg raises where the catalog cannot be reached.
        """
        found: dict[TableName, str] = {}
        for table in tables:
            with suppress(NotIcebergError):
                if (loaded := self._load(table, heads=True)) is not None:
                    found[table] = loaded.metadata_location
        return found

    def file_properties(self, table: TableName) -> Mapping[str, Any]:
        """See MetadataCatalog.file_properties; a REST catalog lends the credentials for a table's files with it."""
        found = self._load(table)
        return self._properties if found is None else found.io.properties

    def document(self, table: TableName) -> Mapping[str, Any] | None:
        """See MetadataCatalog.document; raises whatever PyIceberg raises."""
        found = self._load(table)
        return None if found is None else document_of(found.metadata)

    def _load(self, table: TableName, *, heads: bool = False) -> Table | None:
        from pyiceberg.exceptions import NoSuchIcebergTableError, NoSuchPropertyException, NoSuchTableError

        catalog = self._open(heads=heads)
        identifier = (table.namespace, table.name)
        try:
            return catalog.load_table(identifier)
        except (NoSuchIcebergTableError, NoSuchPropertyException) as error:
            if "iceberg-view" in str(error).lower():
                raise metadata_errors.view(table) from error
            raise metadata_errors.not_iceberg(table, provider=None) from error
        except NoSuchTableError:
            if _is_view(catalog, identifier):
                raise metadata_errors.view(table) from None
            return None

    def _open(self, *, heads: bool = False) -> Catalog:
        """This thread's catalog; ``heads``: one that asks for the heads of branches and tags alone, if it can."""
        kept = "heads" if heads else "catalog"
        catalog: Catalog | None = getattr(self._thread, kept, None)
        if catalog is None:
            from pyiceberg.catalog import load_catalog

            catalog = load_catalog(self._name, **{**self._properties, **(_HEADS if heads else {})})
            setattr(self._thread, kept, catalog)
        return catalog


def document_of(metadata: TableMetadata) -> dict[str, Any]:
    """The metadata document that PyIceberg has read. Its ``model_dump_json`` refuses format v3 (PyIceberg 0.12)."""
    return metadata.model_dump(mode="json")


def _is_view(catalog: Catalog, identifier: tuple[str, ...]) -> bool:
    try:
        return catalog.view_exists(identifier)
    except NotImplementedError:
        return False
