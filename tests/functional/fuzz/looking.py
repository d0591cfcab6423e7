"""A table's metadata, read with Iceberg's own library in the process of Spark."""

from __future__ import annotations

from typing import Any

from .tables import Metadata


def metadata(session: Any, name: str) -> Metadata:
    """The metadata of a table with this three-part name. Empty if the table does not exist."""
    jvm, gateway = session._jvm, session.sparkContext._gateway
    catalog, schema, table = name.split(".")
    namespace = gateway.new_array(jvm.java.lang.String, 1)
    namespace[0] = schema
    identifier = jvm.org.apache.spark.sql.connector.catalog.Identifier.of(namespace, table)
    tables = session._jsparkSession.sessionState().catalogManager().catalog(catalog)
    if not tables.tableExists(identifier):
        return Metadata(None, {})
    loaded = tables.loadTable(identifier).table()
    current = loaded.currentSnapshot()
    return Metadata(
        None if current is None else current.snapshotId(),
        {snapshot.snapshotId(): snapshot.parentId() for snapshot in loaded.snapshots()},
        loaded.properties().get("ip.checkpoint"),
    )
