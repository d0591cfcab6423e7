"""The embedded lakehouse: the Spark settings of a catalog in a local folder, a pure function of its location.

The catalog is Iceberg's ``jdbc`` catalog on a SQLite file, which needs no server and serves several sessions at once.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

DEFAULT_CATALOG = "lakehouse"
CATALOG_FILE = "catalog.db"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
CATALOG_CLASS = "org.apache.iceberg.spark.SparkCatalog"

_SQLITE = "org.xerial:sqlite-jdbc:3.46.1.3"
_ICEBERG = {"4.0": "1.11.0", "4.1": "1.12.0"}
_NEWEST = "4.1"
# With one of these, the user provides the jars.
_JAR_SETTINGS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")


def packages(spark_version: str) -> str:
    """The Maven coordinates of the Iceberg runtime and the SQLite driver for a Spark version such as ``4.1.4``."""
    minor = ".".join(spark_version.split(".")[:2])
    minor = minor if minor in _ICEBERG else _NEWEST
    return f"org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13:{_ICEBERG[minor]},{_SQLITE}"


def spark_confs(warehouse: Path, catalog: str, spark_version: str, own: dict[str, str]) -> dict[str, str]:
    """Every Spark setting of the embedded lakehouse; the user's settings, ``own``, override them.

    ``warehouse`` is an absolute path of a folder.
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
    }
    if not any(setting in own for setting in _JAR_SETTINGS):
        confs["spark.jars.packages"] = packages(spark_version)
    return confs | own
