"""The dbt adapter for Spark and Iceberg."""

from dbt.adapters.base import AdapterPlugin

from dbt.include import spark_iceberg

from .impl import SparkIcebergAdapter
from .profile.credentials import SparkIcebergCredentials
from .spark.connections import SparkIcebergConnectionManager

__all__ = ["Plugin", "SparkIcebergAdapter", "SparkIcebergConnectionManager", "SparkIcebergCredentials"]

Plugin = AdapterPlugin(
    adapter=SparkIcebergAdapter,  # type: ignore[arg-type]
    credentials=SparkIcebergCredentials,
    include_path=spark_iceberg.PACKAGE_PATH,
    dependencies=["spark"],
)
