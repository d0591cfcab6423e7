"""Iceberg's JDBC catalog, which PyIceberg calls ``sql``: a database table with the location of each metadata file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..explain import metadata_errors
from ..table.history import TableName
from .files import read_bytes
from .table_metadata import parse

_SELECT = (
    "select * from iceberg_tables where catalog_name = :catalog and table_namespace = :namespace and table_name = :name"
)

_SELECT_ALL = (
    "select table_name, metadata_location from iceberg_tables "
    "where catalog_name = :catalog and table_namespace = :namespace"
)


class SqlMetadataCatalog:
    """Queries the database directly, because PyIceberg's catalog would create missing tables, and hides views.

    Thread-safe. Each call uses a separate connection from SQLAlchemy's engine.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        from sqlalchemy import create_engine, make_url, text
        from sqlalchemy.pool import NullPool, QueuePool

        url = make_url(properties["uri"])
        # A pooled connection to SQLite would continue to read a database file that was replaced. A new one is cheap.
        pool = NullPool if url.get_backend_name() == "sqlite" else QueuePool
        self._properties = properties
        self._engine = create_engine(url, poolclass=pool, pool_pre_ping=True)
        self._select = text(_SELECT)
        self._select_all = text(_SELECT_ALL)

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """See MetadataReader.locations. Executes one query per namespace, and raises the errors of the database."""
        by_namespace: dict[tuple[str, str], set[str]] = {}
        for table in tables:
            by_namespace.setdefault((table.catalog, table.namespace), set()).add(table.name)
        found: dict[TableName, str] = {}
        with self._engine.connect() as connection:
            for (catalog, namespace), names in by_namespace.items():
                rows = connection.execute(self._select_all, {"catalog": catalog, "namespace": namespace})
                found |= {
                    TableName(catalog, namespace, str(name)): str(location) for name, location in rows if name in names
                }
        return found

    def document(self, table: TableName) -> Mapping[str, Any] | None:
        """See MetadataCatalog.document. Raises the errors of the database and the file system."""
        row = self._row(table)
        if row is not None and _is_view(row):
            raise metadata_errors.view(table)
        return self._parsed(row)

    def view(self, name: TableName) -> Mapping[str, Any] | None:
        """See MetadataCatalog.view. Raises the errors of the database and the file system."""
        row = self._row(name)
        return self._parsed(row) if row is not None and _is_view(row) else None

    def _parsed(self, row: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        return None if row is None else parse(read_bytes(str(row["metadata_location"]), self._properties))

    def _row(self, table: TableName) -> Mapping[str, Any] | None:
        parameters = {"catalog": table.catalog, "namespace": table.namespace, "name": table.name}
        with self._engine.connect() as connection:
            row = connection.execute(self._select, parameters).mappings().one_or_none()
        return None if row is None else dict(row)

    def file_properties(self, table: TableName) -> Mapping[str, Any]:
        """See MetadataCatalog.file_properties."""
        return self._properties


def _is_view(row: Mapping[str, Any]) -> bool:
    return row.get("iceberg_type") == "VIEW"  # catalogs of schema version V0 lack this column
