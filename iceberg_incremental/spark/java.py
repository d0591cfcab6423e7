"""Classes of the JVM, if Spark's driver is in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..table.history import TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def java_class(session: SparkSession, name: str) -> Any:
    """A Java class by its full name, for its static methods and constructors. A Py4J package if there is none.

    For ``session._jvm.org.apache``, Py4J first looks for a class ``org`` and a class ``org.apache``, for which the JVM
    opens each jar of its classpath. This takes 1 ms of CPU for each part of the name, each time.
    """
    return getattr(session._jvm, name)


@contextmanager
def active_in_thread(session: SparkSession) -> Iterator[None]:
    """Make this session the active one of the thread in the JVM, as Spark does for each SQL statement."""
    sessions = java_class(session, "org.apache.spark.sql.classic.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def load_catalog(session: SparkSession, catalog: str) -> Any:
    """The session's object for a catalog, which it loads if necessary. Raises Py4JJavaError."""
    # Spark loads a catalog with the settings of the active session, even for another session.
    with active_in_thread(session):
        return session._jsparkSession.sessionState().catalogManager().catalog(catalog)


def iceberg_table(session: SparkSession, table: TableName) -> Any:
    """Iceberg's own object for a table, as the session's catalog loads it. Raises Py4JJavaError."""
    util = java_class(session, "org.apache.iceberg.spark.Spark3Util")
    with active_in_thread(session):  # see `load_catalog`
        return util.loadIcebergTable(session._jsparkSession, table.sql)


def exists(found: Any) -> bool:
    """Whether the result of ``java_class`` is a class."""
    from py4j.java_gateway import JavaPackage

    return not isinstance(found, JavaPackage)


def items_of(collection: Any) -> list[Any]:
    """The items of a Java list. Not for the ``values()`` of a map, which Py4J converts to a Python view.

    Iterating over the collection itself ends with an exception in the JVM. PySpark then asks the JVM for each of its
    own exceptions whether this is one, which takes 30 ms of CPU.
    """
    array = collection.toArray()
    return [array[index] for index in range(len(array))]


def known_as_one(held: DataFrame) -> DataFrame:
    """Held rows that Spark knows to be in one partition, so that it does not shuffle them.

    Spark loses this information for plans that it adapts during execution.
    """
    alone = held._jdf.queryExecution().logical().rdd().getNumPartitions() == 1
    return held.coalesce(1) if alone else held
