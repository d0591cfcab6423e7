"""The definitions of views, for catalogs whose views only Spark can read."""

from __future__ import annotations

from iceberg_incremental.metadata.describe import describe
from iceberg_incremental.metadata.views import View, view_shown
from iceberg_incremental.query.text.refusal import Refusal
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.table.history import TableName


def view_by_spark(spark: Spark, name: TableName) -> View:
    """The current definition of a view. Raises Refusal if Spark does not show it, and the errors of Spark."""
    described = describe(spark.rows(f"describe table extended {name.sql}"))
    if "View Text" in described.details:
        instead = "create the view in an Iceberg catalog"
        raise Refusal(f"the view {name}, which Spark evaluates with the settings of its creation", None, instead)
    found = view_shown(described, str(spark.rows(f"show create table {name.sql}")[0][0]))
    if found is None:
        raise Refusal(f"the view {name}, which has a property with a line AS", None, "remove the property")
    return found
