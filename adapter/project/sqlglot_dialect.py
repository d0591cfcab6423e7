"""The sqlglot dialect ``spark_iceberg`` for tools that read models, such as Dagster.

They pass the adapter's type to sqlglot, which finds the dialect by its entry point. The package itself reads a model's
SQL with that of ``iceberg_incremental.query``.
"""

from __future__ import annotations

from sqlglot.dialects.spark import Spark


class SparkIceberg(Spark):
    """Spark SQL."""
