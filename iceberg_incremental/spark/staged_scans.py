"""Reading individual data files of a table, if Spark's driver is in this process.

For its own compaction, Iceberg keeps sets of scan tasks in the driver. ``ScanTaskSetManager`` stores the tasks, and a
catalog provides each set as a table by SQL name: a catalog of the class ``SparkRewriteTableCatalog`` or, if the runtime
has no such class, of ``SparkCachedTableCatalog``, which takes the id of the set as an option of the read. A SELECT
therefore reads exactly the files of a range, with their delete files applied, regardless of their bounds. Nothing is
written, and the table's own catalog does not change.
"""

from __future__ import annotations

import itertools
import logging
import re
import threading
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..sql import sql_name, sql_string
from ..table.history import TableName
from .java import exists, iceberg_table, items_of, java_class
from .port import Rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

CATALOG = "ip_files"
"""The name of the session's catalog for its sets of files."""

_SETTING = f"spark.sql.catalog.{CATALOG}"
_CATALOG_CLASS = "org.apache.iceberg.spark.SparkRewriteTableCatalog"
_OLDER_CATALOG_CLASS = "org.apache.iceberg.spark.SparkCachedTableCatalog"
_TABLE_CACHE = "org.apache.iceberg.spark.SparkTableCache"
_FILE = re.compile(r"BaseFileScanTask\{file=(.*?), partition_data=")
_SPLIT_SIZE = "read.split.target-size"
_LEAST_SPLIT, _MOST_SPLIT = 16 << 20, 128 << 20
"""Bytes: Iceberg's own limits for the size of a task, if the table sets none."""

_numbers = itertools.count(1)


class StagedScans:
    """The sets of files of one session. See ``scans.ExactScans``."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._tables: dict[TableName, Any] = {}
        self._planned: dict[tuple[TableName, int], tuple[Any, list[str]] | None] = {}
        self._staged: dict[tuple[TableName, int, frozenset[str], int, bool], Rows | None] = {}
        self._sets: dict[str, Any] = {}
        self.files: dict[str, int] = {}
        """The number of files that each relation reads."""
        self._works = True

    def rows(
        self, table: TableName, snapshot_id: int, paths: Collection[str], *, columns_of: int, deleted: bool
    ) -> Rows | None:
        """See ExactScans."""
        key = (table, snapshot_id, frozenset(paths), columns_of, deleted)
        with self._lock:
            if key not in self._staged:
                self._staged[key] = self._attempt(lambda: self._stage(*key))
            return self._staged[key]

    def close(self) -> None:
        """Release all sets. Their relations can no longer be read."""
        with self._lock:
            sets, self._sets = self._sets, {}
            self._tables, self._planned, self._staged = {}, {}, {}
            self._attempt(lambda: self._drop(sets))

    def _attempt(self, what: Any) -> Any:
        """The result of a call to internals of Spark or Iceberg. None if they do not exist in this version."""
        if not self._works:
            return None
        try:
            return what()
        except Exception as error:  # noqa: BLE001 (after any error, plain SQL reads the same rows)
            self._works = False
            logger.debug(f"This session cannot read single data files: {error}")
            return None

    def _java(self, name: str) -> Any:
        return java_class(self._session, name)

    def _iceberg(self, name: str) -> Any:
        return self._java(f"org.apache.iceberg.{name}")

    @cached_property
    def _has_older_catalog(self) -> bool:
        return not exists(self._java(_CATALOG_CLASS))

    @cached_property
    def _table_cache(self) -> Any:
        """The cache from which the catalog loads its tables.

        Its class has a static and a non-static ``get``, and Py4J finds the one that the JVM lists first.
        """
        cache = self._java("py4j.reflection.ReflectionUtil").classForName(_TABLE_CACHE)
        gateway: Any = self._session.sparkContext._gateway
        no_types, no_values = (
            gateway.new_array(self._java(each), 0) for each in ("java.lang.Class", "java.lang.Object")
        )
        return cache.getMethod("get", no_types).invoke(None, no_values)

    def _stage(
        self, table: TableName, snapshot_id: int, paths: frozenset[str], columns_of: int, deleted: bool
    ) -> Rows | None:
        planned = self._tasks(table, snapshot_id)
        if planned is None or paths.isdisjoint(planned[1]):
            return None
        tasks, locations = planned
        chosen = self._java("java.util.ArrayList")()
        for index, location in enumerate(locations):
            if location in paths:
                chosen.add(tasks.get(index))
        schema = self._iceberg("util.SnapshotUtil").schemaFor(self._table(table), columns_of)
        if self._compares_others(table, snapshot_id, chosen, schema):
            return None
        # A # in the name would start an option of the older catalog.
        name = re.sub(r"\W", "_", f"{table.name}_{next(_numbers)}")
        given = self._static(self._table(table), schema, name, _split(chosen, self._slots), deleted)
        self._table_cache.add(name, given)
        self._iceberg("spark.ScanTaskSetManager").get().stageTasks(given, name, chosen)
        self._sets[name] = given
        relation = self._relation(name)
        self.files[relation] = chosen.size()
        return Rows(relation)

    def _relation(self, name: str) -> str:
        """The relation of a set of tasks for a SELECT, with the columns of row lineage as normal columns."""
        is_old = self._has_older_catalog
        if self._session.conf.get(_SETTING, None) is None:
            self._session.conf.set(_SETTING, _OLDER_CATALOG_CLASS if is_old else _CATALOG_CLASS)
        if is_old:
            return f"{CATALOG}.{sql_name(f'{name}#rewrite')} WITH (`scan-task-set-id` = {sql_string(name)})"
        return f"{CATALOG}.{sql_name(name)}"

    def _compares_others(self, table: TableName, snapshot_id: int, tasks: Any, schema: Any) -> bool:
        """Whether an equality delete of these tasks compares a column that was dropped from the schema.

        Iceberg finds such a column in the older schemas of a table, which these in-memory tables do not have. The
        totals in summaries do not show whether there are equality deletes: the first write to a branch starts them at
        zero, and some writers omit them.
        """
        known = self._table(table)
        if known.snapshot(snapshot_id).deleteManifests(known.io()).isEmpty() or self._has_all_fields(known, schema):
            return False
        deletes = [file for task in items_of(tasks) for file in items_of(task.deletes())]
        compared = (ids for file in deletes if (ids := file.equalityFieldIds()) is not None)
        return any(schema.findField(field) is None for ids in compared for field in items_of(ids))

    def _has_all_fields(self, table: Any, schema: Any) -> bool:
        """Whether a schema has every field that any schema of a table has had."""
        projected = self._iceberg("types.TypeUtil").getProjectedIds
        ids, schemas = projected(schema), items_of(table.operations().current().schemas())
        return all(ids.containsAll(projected(each)) for each in schemas)

    def _drop(self, sets: Mapping[str, Any]) -> None:
        for name, table in sets.items():
            self._iceberg("spark.ScanTaskSetManager").get().removeTasks(table, name)
            self._table_cache.remove(name)

    def _table(self, table: TableName) -> Any:
        if table not in self._tables:
            self._tables[table] = iceberg_table(self._session, table)
        return self._tables[table]

    def _tasks(self, table: TableName, snapshot_id: int) -> tuple[Any, list[str]] | None:
        """The scan tasks of a whole table, one per file, and the locations of the files in the same order."""
        key = (table, snapshot_id)
        if key not in self._planned:
            self._planned[key] = self._attempt(lambda: self._plan(*key))
        return self._planned[key]

    def _plan(self, table: TableName, snapshot_id: int) -> tuple[Any, list[str]]:
        tasks = self._java("java.util.ArrayList")()
        found = self._table(table).newBatchScan().useSnapshot(snapshot_id).planFiles()
        try:
            self._iceberg("relocated.com.google.common.collect.Iterables").addAll(tasks, found)
        finally:
            found.close()
        # One call for all, because each call takes a quarter of a millisecond.
        locations = _FILE.findall(str(tasks.toString()))
        if len(locations) != tasks.size():
            raise ValueError(f"{tasks.size()} scan tasks show {len(locations)} files")
        return tasks, locations

    def _static(self, table: Any, schema: Any, name: str, split: int, deleted: bool) -> Any:
        """An in-memory table, of which only this schema and these properties are read.

        To find deleted rows, its format is v2. From v3 on, this catalog adds the columns of row lineage, and Spark then
        finds none of the other metadata columns.
        """
        known = table.operations().current()
        version = 2 if deleted else known.formatVersion()
        metadata = self._iceberg("TableMetadata").buildFromEmpty(version)
        metadata.assignUUID()
        metadata.setLocation(known.location())
        metadata.setCurrentSchema(schema, max(schema.highestFieldId(), known.lastColumnId()))
        metadata.setDefaultPartitionSpec(self._iceberg("PartitionSpec").unpartitioned())
        metadata.setDefaultSortOrder(self._iceberg("SortOrder").unsorted())
        properties = self._java("java.util.HashMap")(known.properties())
        properties.put(_SPLIT_SIZE, str(split))
        metadata.setProperties(properties)
        metadata.discardChanges()
        operations = self._iceberg("StaticTableOperations")(metadata.build(), table.io())
        return self._iceberg("BaseTable")(operations, name)

    @property
    def _slots(self) -> int:
        return int(self._session.sparkContext.defaultParallelism)


def _split(tasks: Any, slots: int) -> int:
    """The number of bytes per Spark task, so that all slots have work."""
    size = sum(tasks.get(index).length() for index in range(tasks.size()))
    return int(min(max(size // slots, _LEAST_SPLIT), _MOST_SPLIT))
