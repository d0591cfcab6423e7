"""One Spark, reached over Thrift, with a catalog of every type that the readers support."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyhive import hive

from dbt.adapters.spark_iceberg.profile.lakehouse import EXTENSIONS, packages
from iceberg_incremental.metadata.spark_reader import RunSql

from . import servers

PASSWORD = "p@ss/w:rd%?#&+ é"
POSTGRESQL_DRIVER = "org.postgresql:postgresql:42.7.7"
ICEBERG = "org.apache.iceberg.spark"


@dataclass(frozen=True)
class Spark:
    """Spark SQL, and the settings of its session."""

    run: RunSql
    settings: Mapping[str, str]


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    base = tmp_path_factory.mktemp("catalogs")
    warehouse = f"{base}/ware house"
    with ExitStack() as stack:
        rest = stack.enter_context(servers.rest_catalog(base / "rest"))
        metastore = f"thrift://{servers.HOST}:{stack.enter_context(servers.hive_metastore(base / 'hive'))}"
        catalogs: dict[str, dict[str, str]] = {
            "sqlite": {
                "type": "jdbc",
                "uri": f"jdbc:sqlite:file:{base}/catalog.db",
                "warehouse": warehouse,
                "jdbc.schema-version": "V1",
            },
            "hadoop": {"type": "hadoop", "warehouse": f"{base}/hadoop"},
            "rest": {"type": "rest", "uri": f"http://{servers.HOST}:{rest}"},
            "hive": {"type": "hive", "uri": metastore, "warehouse": f"{base}/hive/warehouse"},
            "spark_catalog": {"type": "hive"},
        }
        if servers.postgresql_programs() is not None:
            # not in pytest's folder: under root, PostgreSQL runs as another user, who has no access to that folder
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder.chmod(0o755)
            port = stack.enter_context(servers.postgresql(folder / "pg", PASSWORD))
            catalogs["postgres"] = {
                "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
                "uri": f"jdbc:postgresql://{servers.HOST}:{port}/postgres",
                "jdbc.user": "postgres",
                "jdbc.password": PASSWORD,
                "warehouse": warehouse,
                "jdbc.schema-version": "V1",
            }
        settings = {
            "spark.hadoop.hive.metastore.uris": metastore,
            # the metastore on Derby has no lock tables; without locks, commits use compare-and-swap
            "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
        }
        for name, options in catalogs.items():
            prefix = f"spark.sql.catalog.{name}"
            settings[prefix] = (
                f"{ICEBERG}.SparkSessionCatalog" if name == "spark_catalog" else f"{ICEBERG}.SparkCatalog"
            )
            settings[f"{prefix}.cache-enabled"] = "false"
            settings |= {f"{prefix}.{key}": value for key, value in options.items()}
        port = stack.enter_context(
            servers.thrift_server(
                base / "spark",
                {
                    **settings,
                    "spark.jars.packages": f"{packages(pyspark.__version__)},{POSTGRESQL_DRIVER}",
                    "spark.sql.extensions": EXTENSIONS,
                },
            )
        )
        connection = hive.connect(host=servers.HOST, port=port, auth="NOSASL")
        stack.callback(connection.close)

        def run(sql: str) -> list[tuple[Any, ...]]:
            cursor = connection.cursor()
            try:
                cursor.execute(sql)
                return cursor.fetchall() if cursor.description else []
            finally:
                cursor.close()

        yield Spark(run, settings)
