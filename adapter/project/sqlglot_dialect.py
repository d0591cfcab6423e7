"""The sqlglot dialect ``spark_iceberg``, with which the package parses a model's SQL.

Tools that pass the adapter's type to sqlglot, such as Dagster, find the dialect by its entry point.
"""

from __future__ import annotations

from sqlglot.dialects.spark import Spark


class SparkIceberg(Spark):
    """Spark SQL."""
