"""How the adapter reaches Spark and the metadata of tables: what incremental processing builds on."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from multiprocessing.context import SpawnContext
from typing import Any, cast

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.spark.impl import SparkAdapter

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.file_properties import with_own_values
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.table.history import TableName

from ..profile.credentials import Method, SparkIcebergCredentials
from . import engine_log
from .connections import SparkIcebergConnectionManager
from .port import DbtSpark
from .python_models import PythonModel

_SETTINGS_PREFIXES = ("spark.sql.catalog.", "spark.hadoop.", "spark.hive.")


class SparkAccess(SparkAdapter):
    """The profile, the settings of Spark, and the reader of metadata."""

    connections: SparkIcebergConnectionManager

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        engine_log.forward()
        self._lock = threading.RLock()
        self._settings: Mapping[str, str] | None = None
        self._reader: MetadataReader | None = None

    @property
    def credentials(self) -> SparkIcebergCredentials:
        """The profile."""
        return cast(SparkIcebergCredentials, self.config.credentials)

    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata, one per adapter; made on the first call."""
        with self._lock:
            if self._reader is None:
                from iceberg_incremental.metadata.open import open_reader

                credentials = self.credentials
                self._reader = open_reader(
                    str(credentials.metadata_reader),
                    self.spark_settings,
                    credentials.pyiceberg,
                    self.connections.rows,
                    beside_spark=credentials.method == Method.SESSION,
                )
            return self._reader

    def spark_settings(self) -> Mapping[str, str]:
        """The Spark settings of catalogs and file systems, as a connection of this profile has them; read once."""
        with self._lock:
            if self._settings is None:
                # A session of this process shows them as they are; SET hides what looks like a secret.
                session = self.connections.own_session()
                rows = session.settings().items() if session else self.connections.rows("set")
                found = {str(k): str(v) for k, v, *_ in rows if str(k).startswith(_SETTINGS_PREFIXES)}
                self._settings = with_own_values(found, self.credentials.server_side_parameters)
            return self._settings

    @property
    def spark(self) -> Spark:
        """Spark by this thread's connection."""
        return DbtSpark(self, self.connections)

    def run_python(self, model: PythonModel, view: str, *, once: bool) -> None:
        """Run a model in Python, and make a temporary view of its result; ``once``: its rows are computed once."""
        self.connections.run_python(model, view, once=once)

    def table_name(self, relation: BaseRelation) -> TableName:
        """A relation's name in Spark, in the profile's catalog where it names none."""
        return TableName(relation.database or self.credentials.catalog, str(relation.schema), str(relation.identifier))
