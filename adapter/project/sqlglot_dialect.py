"""The dialect ``spark_iceberg`` of sqlglot, in which the package parses a model's SQL.

Tools that pass sqlglot the adapter's type, as Dagster does, find it by its entry point.
"""

from __future__ import annotations

from sqlglot.dialects.spark import Spark


class SparkIceberg(Spark):
    """Spark SQL."""
