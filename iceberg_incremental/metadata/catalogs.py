"""Catalogs as sources of histories: those that PyIceberg supports, Hadoop folders, and databases (``jdbc``)."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NotIcebergError, ViewError
from ..explain import metadata_errors
from ..table.history import TableName
from .files import exists, local_path, read_bytes
from .table_metadata import parse

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
            return self._open().load_view((*name.levels, name.name))
        return None

    def _load(self, table: TableName, *, heads: bool = False) -> Table | None:
        from pyiceberg.exceptions import NoSuchIcebergTableError, NoSuchPropertyException, NoSuchTableError

        catalog = self._open(heads=heads)
        identifier = (*table.levels, table.name)
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
        folder = f"{self._warehouse}/{'/'.join(table.levels)}/{table.name}/metadata"
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


_SELECT = (
    "select * from iceberg_tables where catalog_name = :catalog and table_namespace = :namespace and table_name = :name"
)

_SELECT_ALL = (
    "select table_name, metadata_location from iceberg_tables "
    "where catalog_name = :catalog and table_namespace = :namespace"
)


_SQLITE_FILE = re.compile(r"sqlite:///(file:[^?]*\?mode=rw)&uri=true")
"""The form in which ``catalog_properties.sqlalchemy_uri`` writes the URI of a SQLite file."""

_Rows = Callable[[str, Mapping[str, str]], list[Mapping[str, Any]]]
"""Executes a query with named parameters."""


def _rows_of_file(uri: str, sql: str, parameters: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The rows of a query in a SQLite file. ``uri``: for SQLite. A replaced file is read again by each query."""
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, parameters)]


def _rows_by_engine(uri: str) -> _Rows:
    """The function that executes queries with SQLAlchemy. ``uri``: for SQLAlchemy."""
    from sqlalchemy import create_engine, make_url, text
    from sqlalchemy.pool import NullPool, QueuePool

    url = make_url(uri)
    # A pooled connection to SQLite would continue to read a database file that was replaced. A new one is cheap.
    pool = NullPool if url.get_backend_name() == "sqlite" else QueuePool
    engine = create_engine(url, poolclass=pool, pool_pre_ping=True)

    def rows(sql: str, parameters: Mapping[str, str]) -> list[Mapping[str, Any]]:
        with engine.connect() as connection:
            return [dict(row) for row in connection.execute(text(sql), parameters).mappings()]

    return rows


class SqlMetadataCatalog:
    """Queries the database directly, because PyIceberg's catalog would create missing tables, and hides views.

    Thread-safe. Each query uses a separate connection. A SQLite file, such as that of the embedded lakehouse, needs no
    SQLAlchemy, whose import takes a third of a second.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        uri = str(properties["uri"])
        file = _SQLITE_FILE.fullmatch(uri)
        self._properties = properties
        self._rows = _rows_by_engine(uri) if file is None else partial(_rows_of_file, file[1])

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """See MetadataReader.locations. Executes one query per namespace, and raises the errors of the database."""
        by_namespace: dict[tuple[str, str], set[str]] = {}
        for table in tables:
            by_namespace.setdefault((table.catalog, table.namespace), set()).add(table.name)
        found: dict[TableName, str] = {}
        for (catalog, namespace), names in by_namespace.items():
            rows = self._rows(_SELECT_ALL, {"catalog": catalog, "namespace": namespace})
            located = {str(row["table_name"]): str(row["metadata_location"]) for row in rows}
            found |= {TableName(catalog, namespace, name): located[name] for name in names & located.keys()}
        return found

    def document(self, table: TableName) -> Mapping[str, Any] | None:
        """See MetadataCatalog.document. Raises the errors of the database and the file system."""
        row = self._row(table)
        if row is not None and _has_view(row):
            raise metadata_errors.view(table)
        return self._parsed(row)

    def view(self, name: TableName) -> Mapping[str, Any] | None:
        """See MetadataCatalog.view. Raises the errors of the database and the file system."""
        row = self._row(name)
        return self._parsed(row) if row is not None and _has_view(row) else None

    def _parsed(self, row: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        return None if row is None else parse(read_bytes(str(row["metadata_location"]), self._properties))

    def _row(self, table: TableName) -> Mapping[str, Any] | None:
        parameters = {"catalog": table.catalog, "namespace": table.namespace, "name": table.name}
        return next(iter(self._rows(_SELECT, parameters)), None)

    def file_properties(self, table: TableName) -> Mapping[str, Any]:
        """See MetadataCatalog.file_properties."""
        return self._properties


def _has_view(row: Mapping[str, Any]) -> bool:
    return row.get("iceberg_type") == "VIEW"  # catalogs of schema version V0 lack this column
