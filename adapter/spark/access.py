"""The adapter's own reads, in addition to dbt's statements: Spark's settings, and table metadata."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.catalog_properties import with_own_values
from iceberg_incremental.sql import sql_name

from ..profile.credentials import Method, SparkIcebergCredentials
from . import checks
from .connections import SparkIcebergConnectionManager

_SETTINGS_PREFIXES = ("spark.sql.catalog.", "spark.hadoop.", "spark.hive.")


class SparkAccess:
    """The settings and the metadata reader of a profile. Both are read once, over the calling thread's connection."""

    def __init__(self, connections: SparkIcebergConnectionManager, credentials: SparkIcebergCredentials) -> None:
        self._connections = connections
        self._credentials = credentials
        self._lock = threading.RLock()
        self._settings: Mapping[str, str] | None = None
        self._reader: MetadataReader | None = None

    def settings(self) -> Mapping[str, str]:
        """The Spark settings of catalogs and file systems, from a connection of this profile."""
        with self._lock:
            if self._settings is None:
                # A session in this process returns all values. SET hides values that look like secrets.
                session = self._connections.own_session()
                rows = session.settings().items() if session else self._connections.rows("set")
                found = {str(k): str(v) for k, v, *_ in rows if str(k).startswith(_SETTINGS_PREFIXES)}
                self._settings = with_own_values(found, self._credentials.server_side_parameters)
            return self._settings

    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata."""
        with self._lock:
            if self._reader is None:
                from iceberg_incremental.metadata.open import open_reader

                self._reader = open_reader(
                    str(self._credentials.metadata_reader),
                    self.settings,
                    self._credentials.pyiceberg,
                    self._connections.rows,
                    beside_spark=self._credentials.method == Method.SESSION,
                )
            return self._reader


def reached(
    connections: SparkIcebergConnectionManager,
    credentials: SparkIcebergCredentials,
    settings: Callable[[], Mapping[str, str]],
    schemas: Callable[[str], Sequence[str]],
) -> str:
    """The versions of Spark and Iceberg, and the catalog. Raises DbtRuntimeError, with the fix, if one is unreachable.

    ``settings``: returns Spark's settings of its catalogs. ``schemas``: returns the schemas of a catalog.
    """
    catalog = credentials.catalog
    spark = str(connections.rows("select version()")[0][0]).split(" ")[0]
    checks.require_spark(spark)
    if catalog != checks.SESSION_CATALOG:
        checks.require_catalog(catalog, settings())
    iceberg = _iceberg_version(connections, catalog, settings)
    kind = settings().get(f"spark.sql.catalog.{catalog}.type") or "type unknown"
    folder = "" if credentials.folder is None else f", lakehouse in {credentials.folder}"
    return f"Spark {spark}, Iceberg {iceberg}, catalog {catalog} ({kind}), {len(schemas(catalog))} schemas{folder}"


def _iceberg_version(
    connections: SparkIcebergConnectionManager, catalog: str, settings: Callable[[], Mapping[str, str]]
) -> str:
    try:
        return str(connections.rows(f"select {sql_name(catalog)}.system.iceberg_version()")[0][0])
    except DbtDatabaseError as error:
        if str(settings().get(f"spark.sql.catalog.{catalog}")).startswith(checks.ICEBERG_CLASSES):
            raise checks.unreachable(catalog, error.msg) from error
        raise DbtRuntimeError(
            f"The catalog `{catalog}` is reachable, but it is not an Iceberg catalog: {error.msg}\n"
            f"Set spark.sql.catalog.{catalog} to org.apache.iceberg.spark.SparkCatalog, or set `catalog` to another "
            "catalog."
        ) from error
