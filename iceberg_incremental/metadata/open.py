"""Chooses the reader of a catalog's metadata: PyIceberg, or Spark if PyIceberg has no access."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import MetadataAccessError
from ..explain import metadata_errors
from ..table.files import ChangedFiles, LiveFiles
from ..table.history import History, TableName
from ..table.layout import Layout, LiveSpec
from . import FilesAt, MetadataReader
from .catalog_properties import Unmapped, map_catalog
from .pyiceberg_reader import PyIcebergReader
from .spark_reader import RunSql, SparkReader
from .views import View

MODES = ("auto", "pyiceberg", "spark")

_logger = logging.getLogger(__name__)
_Read = TypeVar("_Read")


def open_reader(
    mode: str,
    spark_settings: Callable[[], Mapping[str, str]],
    pyiceberg_block: Mapping[str, Mapping[str, Any]],
    run_sql: RunSql,
    *,
    beside_spark: bool = False,
) -> MetadataReader:
    """The reader for the profile's ``metadata_reader``.

    ``spark_settings``: returns the Spark session's ``spark.sql.catalog.*`` and ``spark.hadoop.*`` settings. Called
    once, and only if needed. ``pyiceberg_block``: PyIceberg's properties by catalog, from the profile. ``run_sql``:
    executes a statement on the calling thread's connection. ``beside_spark``: whether Spark runs in this process,
    so that PyIceberg can access the same catalogs. Raises ConfigError for an unknown mode.
    """
    if mode not in MODES:
        raise metadata_errors.unknown_reader(mode, MODES)
    if mode == "spark":
        return SparkReader(run_sql)
    by_pyiceberg = PyIcebergReader(_PropertiesSource(spark_settings, pyiceberg_block))
    return by_pyiceberg if mode == "pyiceberg" else AutoReader(by_pyiceberg, SparkReader(run_sql), beside_spark)


class AutoReader:
    """A MetadataReader that uses PyIceberg, and Spark for tables that PyIceberg cannot access.

    If the first read of a catalog fails, Spark reads all its tables from then on, because a failure may take a long
    time. After a successful read, a failure affects only the table that was read.
    """

    def __init__(self, by_pyiceberg: PyIcebergReader, by_spark: MetadataReader, beside_spark: bool = False) -> None:
        """The two readers, in the order in which they are tried. ``beside_spark``: as for ``open_reader``."""
        self._beside_spark = beside_spark
        self._by_pyiceberg = by_pyiceberg
        self._by_spark = by_spark
        self._read_once: set[str] = set()
        self._given_up: set[str | TableName] = set()

    def load(self, table: TableName) -> History | None:
        """See MetadataReader.load."""
        return self._either(table, lambda reader: reader.load(table))

    def view(self, name: TableName) -> View | None:
        """See MetadataReader.view."""
        return self._of_metadata(name, f"Spark shows the definition of {name}", lambda reader: reader.view(name))

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """See MetadataReader.locations. Uses Spark for tables that PyIceberg failed to access before."""
        by_spark = {table for table in tables if self._by_spark_only(table)}
        return {
            **self._by_pyiceberg.locations([table for table in tables if table not in by_spark]),
            **self._by_spark.locations(by_spark),
        }

    def folders(self, table: TableName) -> Sequence[str]:
        """See MetadataReader.folders."""
        return self._either(table, lambda reader: reader.folders(table))

    def load_with_layout(self, table: TableName) -> tuple[History, Layout | None] | None:
        """See MetadataReader.load_with_layout."""
        return self._either(table, lambda reader: reader.load_with_layout(table))

    def _either(self, table: TableName, what: Callable[[MetadataReader], _Read]) -> _Read:
        if self._by_spark_only(table):
            return what(self._by_spark)
        try:
            found = what(self._by_pyiceberg)
        except MetadataAccessError as error:
            self._give_up(table, _logger.info, error)
            return what(self._by_spark)
        if table.catalog not in self._read_once:
            self._read_once.add(table.catalog)
            _logger.debug(f"PyIceberg reads the metadata of catalog {table.catalog}")
        return found

    def load_without_statement(self, table: TableName) -> History | None:
        """See MetadataReader.load_without_statement. None if PyIceberg may be unable to access the catalog."""
        return self._without_statement(table, self._by_pyiceberg.load)

    def layout_without_statement(self, table: TableName) -> Layout | None:
        """See MetadataReader.layout_without_statement. None if PyIceberg may be unable to access the catalog."""
        return self._without_statement(table, self._by_pyiceberg.layout)

    def _without_statement(self, table: TableName, read: Callable[[TableName], _Read | None]) -> _Read | None:
        if self._by_spark_only(table) or not (self._beside_spark or table.catalog in self._read_once):
            return None
        try:
            found = read(table)
        except MetadataAccessError as error:
            self._give_up(table, _logger.debug, error)
            return None
        self._read_once.add(table.catalog)
        return found

    def older(self, history: History) -> Iterator[History]:
        """See MetadataReader.older."""
        reader = self._by_spark if self._by_spark_only(history.table) else self._by_pyiceberg
        return reader.older(history)

    def changed_files(self, history: History, start: int, end: int) -> ChangedFiles:
        """See MetadataReader.changed_files."""
        spark = f"Spark reads the columns of {history.table}, and all files are read"
        return self._of_metadata(history.table, spark, lambda reader: reader.changed_files(history, start, end))

    def data_files(self, history: History, asked: FilesAt) -> ChangedFiles | None:
        """See MetadataReader.data_files."""
        return self._of_metadata(
            history.table,
            f"The data files of {history.table} are not listed",
            lambda reader: reader.data_files(history, asked),
        )

    def live_specs(self, history: History, at: int) -> Sequence[LiveSpec]:
        """See MetadataReader.live_specs."""
        spark = f"Spark reads the partition specs of {history.table}"
        return self._of_metadata(history.table, spark, lambda reader: reader.live_specs(history, at))

    def live_files(self, history: History) -> LiveFiles | None:
        """See MetadataReader.live_files."""
        spark = f"Spark lists the files of {history.table}"
        return self._of_metadata(history.table, spark, lambda reader: reader.live_files(history))

    def _of_metadata(self, table: TableName, otherwise: str, what: Callable[[MetadataReader], _Read]) -> _Read:
        """Read manifests or a view. A failure of PyIceberg does not affect later reads.

        ``otherwise``: the consequence of a failure, for the log.
        """
        if self._by_spark_only(table):
            return what(self._by_spark)
        try:
            return what(self._by_pyiceberg)
        except MetadataAccessError as error:
            _logger.info(f"{otherwise}, since {_cause(error)}")
            return what(self._by_spark)

    def _give_up(self, table: TableName, log: Callable[[str], None], error: MetadataAccessError) -> None:
        given_up: str | TableName = table if table.catalog in self._read_once else table.catalog
        self._given_up.add(given_up)
        log(f"Spark reads the metadata of {given_up}, since {_cause(error)}")

    def _by_spark_only(self, table: TableName) -> bool:
        return table in self._given_up or table.catalog in self._given_up


def _cause(error: MetadataAccessError) -> str:
    """The reason for PyIceberg's failure. The fix is omitted, because Spark reads instead."""
    return str(error.msg).partition("\n")[0]


class _PropertiesSource:
    """Finds PyIceberg's properties of a catalog: in the profile, Spark's settings, or PyIceberg's configuration."""

    def __init__(self, spark_settings: Callable[[], Mapping[str, str]], block: Mapping[str, Mapping[str, Any]]) -> None:
        self._spark_settings = spark_settings
        self._block = block
        self._settings: Mapping[str, str] | None = None
        self._asking = threading.Lock()

    def __call__(self, catalog: str) -> Mapping[str, Any]:
        if catalog in self._block:
            return {key: _text(value) for key, value in self._block[catalog].items()}
        mapped = map_catalog(catalog, self._spark_once())
        if not isinstance(mapped, Unmapped):
            return mapped.properties
        from pyiceberg.utils.config import Config

        configured = Config().get_catalog_config(catalog)
        if configured is not None:
            return configured
        raise metadata_errors.no_configuration(catalog, mapped.reason)

    def _spark_once(self) -> Mapping[str, str]:
        with self._asking:
            if self._settings is None:
                self._settings = self._spark_settings()
            return self._settings


def _text(value: Any) -> Any:
    """A YAML value for PyIceberg: nested blocks unchanged, booleans in its notation, other values as text."""
    return value if isinstance(value, Mapping) else str(value).lower() if isinstance(value, bool) else str(value)
