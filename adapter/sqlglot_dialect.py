"""The dialect ``spark_iceberg`` of sqlglot, for tools that pass it the adapter's type, as Dagster does.

sqlglot is no dependency: it loads this module by its entry point, and nothing else does.
"""

from __future__ import annotations

from sqlglot.dialects.spark import Spark


class SparkIceberg(Spark):
    """Spark SQL."""
