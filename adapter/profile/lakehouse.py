"""The embedded lakehouse: the Spark settings of a catalog in a local folder, as a pure function.

The catalog is Iceberg's ``jdbc`` catalog on a SQLite file. It needs no server, and supports concurrent sessions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from iceberg_incremental.jvm import jars

DEFAULT_CATALOG = "lakehouse"
CATALOG_FILE = "catalog.db"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
CATALOG_CLASS = "org.apache.iceberg.spark.SparkCatalog"

_SQLITE = "org.xerial:sqlite-jdbc:3.46.1.3"
_LOCAL_FILES = f"{jars.LOCAL_FILES}:0.1.0"
RUNTIMES = {"4.0": "1.11.0", "4.1": "1.12.0"}
"""The versions of Iceberg's runtime, by the minor version of Spark for which they are built."""

# If one of these is set, the user provides the jars.
_JAR_SETTINGS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")
_RUNTIME = re.compile(r"iceberg-spark-runtime-(\d+\.\d+)_")


def minor_version(spark_version: str) -> str:
    """The minor version of a version, such as ``4.1`` for ``4.1.4``."""
    return ".".join(spark_version.split(".")[:2])


def packages(spark_version: str, iceberg_version: str | None = None) -> str:
    """The Maven coordinates of the jars for a Spark version such as ``4.1.4``.

    They are Iceberg's runtime, the SQLite driver, and a local file system.

    Raises KeyError for a Spark without a known runtime, if no version of Iceberg is given.
    """
    minor = minor_version(spark_version)
    iceberg_version = iceberg_version or RUNTIMES[minor]
    return f"org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13:{iceberg_version},{_SQLITE},{_LOCAL_FILES}"


def names_jars(own: Mapping[str, str]) -> bool:
    """Whether the user's settings provide the jars."""
    return any(setting in own for setting in _JAR_SETTINGS)


def named_runtimes(own: Mapping[str, str]) -> list[str]:
    """The minor versions of Spark for which the Iceberg runtimes in the user's settings are built."""
    return [minor for setting in _JAR_SETTINGS for minor in _RUNTIME.findall(own.get(setting, ""))]


def spark_confs(warehouse: Path, catalog: str, spark_version: str, own: dict[str, str]) -> dict[str, str]:
    """All Spark settings of the embedded lakehouse. The user's settings, ``own``, override them.

    ``warehouse``: the absolute path of a folder. Raises KeyError for a Spark without a known runtime.
    """
    prefix = f"spark.sql.catalog.{catalog}"
    confs = {
        "spark.master": "local[*]",
        "spark.sql.extensions": EXTENSIONS,
        prefix: CATALOG_CLASS,
        f"{prefix}.type": "jdbc",
        f"{prefix}.uri": f"jdbc:sqlite:file:{quote(str(warehouse / CATALOG_FILE))}",
        f"{prefix}.warehouse": str(warehouse),
        f"{prefix}.jdbc.schema-version": "V1",
        f"{prefix}.cache-enabled": "false",
        "spark.sql.defaultCatalog": catalog,
        # Without this, Spark would create a Derby metastore in the current folder, for one process at a time.
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(warehouse / "spark_catalog"),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "8",
        # Each sort and aggregation starts with a page. By default, it has 64 MB in a heap of 4 GB. A few of them fill
        # the old generation, so that the JVM collects the whole heap again and again.
        "spark.buffer.pageSize": "4m",
    }
    if not names_jars(own):
        confs["spark.jars.packages"] = packages(spark_version)
    return confs | own
