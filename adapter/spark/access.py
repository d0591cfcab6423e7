"""The adapter's own reads, in addition to dbt's statements: Spark's settings, and table metadata."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.catalog_properties import with_own_values

from ..profile.credentials import Method, SparkIcebergCredentials
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
