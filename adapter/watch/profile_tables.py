"""Table metadata outside of a dbt command. Spark is not needed if the profile defines all catalogs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.open import open_reader

from ..impl import SparkIcebergAdapter
from ..profile.credentials import Method, SparkIcebergCredentials

if TYPE_CHECKING:
    from dbt.config.runtime import RuntimeConfig


class ProfileTables:
    """The tables of a profile. Spark is started only if PyIceberg cannot access a table.

    Each thread that uses Spark has its own connection.
    """

    def __init__(self, config: RuntimeConfig, catalogs: Collection[str]) -> None:
        """``catalogs``: the catalogs of the tables."""
        from dbt.mp_context import get_mp_context

        self._adapter = SparkIcebergAdapter(config, get_mp_context())
        self._catalogs = catalogs
        self.reader = self._open()

    def reopen(self) -> None:
        """Open a new reader after an access error, which tries unreachable catalogs again."""
        self.close()
        self.reader = self._open()

    def close(self) -> None:
        """Close the connection to Spark, if there is one."""
        self._adapter.connections.cleanup_all()

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        self._connect()
        return self._adapter.connections.rows(sql)

    def _spark_settings(self) -> Mapping[str, str]:
        self._connect()
        return self._adapter.access.settings()

    def _connect(self) -> None:
        """Assign a connection to the calling thread. Its first statement opens it."""
        if self._adapter.connections.get_if_exists() is None:
            self._adapter.connections.set_connection_name("watch")

    def _open(self) -> MetadataReader:
        credentials = self._adapter.credentials
        return open_reader(
            str(credentials.metadata_reader),
            _settings(credentials, self._catalogs, self._spark_settings),
            credentials.pyiceberg,
            self._rows,
            beside_spark=credentials.method == Method.SESSION,
        )


def _settings(
    credentials: SparkIcebergCredentials, catalogs: Collection[str], of_spark: Callable[[], Mapping[str, str]]
) -> Callable[[], Mapping[str, str]]:
    """The function that returns Spark's settings: from the profile if it defines all catalogs, otherwise from Spark."""
    if credentials.method != Method.SESSION:
        named: Mapping[str, str] = credentials.server_side_parameters
    else:
        from ..spark.in_process.session import wanted_confs

        named = wanted_confs(credentials)
    known = {name for name in catalogs if f"spark.sql.catalog.{name}" in named} | credentials.pyiceberg.keys()
    return (lambda: named) if known.issuperset(catalogs) else of_spark
