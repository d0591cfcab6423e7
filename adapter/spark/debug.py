"""`dbt debug`: tests the connection to Spark, Iceberg and the catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from iceberg_incremental.sql import sql_name

from ..profile.credentials import SparkIcebergCredentials
from . import checks
from .connections import SparkIcebergConnectionManager


def reached(
    connections: SparkIcebergConnectionManager,
    credentials: SparkIcebergCredentials,
    settings: Callable[[], Mapping[str, str]],
    schemas: Callable[[str], Sequence[str]],
) -> str:
    """The versions of Spark and Iceberg, and the catalog. Raises DbtRuntimeError, with the fix, if one is unreachable.

    ``settings``: returns Spark's settings of its catalogs. ``schemas``: returns the schemas of a catalog.
    """
    catalog = credentials.catalog
    spark = str(connections.rows("select version()")[0][0]).split(" ")[0]
    checks.require_spark(spark)
    if catalog != checks.SESSION_CATALOG:
        checks.require_catalog(catalog, settings())
    iceberg = _iceberg_version(connections, catalog, settings)
    kind = settings().get(f"spark.sql.catalog.{catalog}.type") or "type unknown"
    folder = "" if credentials.folder is None else f", lakehouse in {credentials.folder}"
    return f"Spark {spark}, Iceberg {iceberg}, catalog {catalog} ({kind}), {len(schemas(catalog))} schemas{folder}"


def _iceberg_version(
    connections: SparkIcebergConnectionManager, catalog: str, settings: Callable[[], Mapping[str, str]]
) -> str:
    try:
        return str(connections.rows(f"select {sql_name(catalog)}.system.iceberg_version()")[0][0])
    except DbtDatabaseError as error:
        if str(settings().get(f"spark.sql.catalog.{catalog}")).startswith(checks.ICEBERG_CLASSES):
            raise checks.unreachable(catalog, error.msg) from error
        raise DbtRuntimeError(
            f"The catalog `{catalog}` is reachable, but it is not an Iceberg catalog: {error.msg}\n"
            f"Set spark.sql.catalog.{catalog} to org.apache.iceberg.spark.SparkCatalog, or set `catalog` to another "
            "catalog."
        ) from error
