"""The method `thrift`, with a real Spark Thrift Server whose catalogs have Iceberg's cache on, as by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dbt.adapters.contracts.connection import Connection, Identifier
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.connections import SparkIcebergConnectionManager
from tests.functional.metadata import servers

from . import any_server
from .any_server import AnyServer

pytestmark = pytest.mark.thrift


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, embedded_target: dict[str, Any]) -> Iterator[int]:
    """The port of a server with two catalogs, `lake` and `archive`."""
    folder = tmp_path_factory.mktemp("thrift")
    with servers.thrift_server(folder / "server", any_server.settings(folder, embedded_target)) as port:
        yield port


def target_on(port: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "spark_iceberg",
        "method": "thrift",
        "host": servers.HOST,
        "port": port,
        "user": "me",
        "auth": "NOSASL",
        "catalog": "lake",
        "threads": 4,
        **more,
    }


@pytest.mark.core
class TestThrift(AnyServer):
    @pytest.fixture(scope="class")
    @classmethod
    def dbt_profile_target(cls, server: int) -> dict[str, Any]:
        return target_on(server)


class TestOneSessionForAll:
    @pytest.fixture(scope="class")
    @classmethod
    def shared(cls, tmp_path_factory: pytest.TempPathFactory, embedded_target: dict[str, Any]) -> Iterator[int]:
        """The port of a server whose connections share one session."""
        folder = tmp_path_factory.mktemp("shared")
        settings = servers.lake_settings(folder / "lake", "lake", embedded_target)
        settings["spark.sql.hive.thriftServer.singleSession"] = "true"
        with servers.thrift_server(folder / "server", settings) as port:
            yield port

    def test_a_shared_session_is_refused_on_connecting(self, shared):
        """The checkpoint that a dbt thread sets for its commit would also be written with commits of other threads."""
        credentials = SparkIcebergCredentials.from_dict(
            {"method": "thrift", "host": servers.HOST, "port": shared, "user": "me", "auth": "NOSASL",
             "catalog": "lake", "schema": "s"}
        )  # fmt: skip
        for name in ("one", "two"):
            with pytest.raises(DbtRuntimeError, match=r"thriftServer\.singleSession=true"):
                SparkIcebergConnectionManager.open(Connection(Identifier("spark_iceberg"), name, credentials))


class TestSettingsOfTheProfile:
    """Hooks run with the profile's settings, although a run needs other values for its own statements."""

    @pytest.fixture(scope="class")
    @classmethod
    def dbt_profile_target(cls, server: int) -> dict[str, Any]:
        return target_on(server, server_side_parameters={"spark.sql.sources.partitionOverwriteMode": "dynamic"})

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls):
        return {
            "copies.sql": "{{ config(materialized='table', partition_by='id') }} select id from range(3)",
            "kept.sql": """
                {{ config(materialized='iceberg_incremental_snapshot', incremental_strategy='auto',
                    post_hook="insert overwrite {{ ref('copies') }} select 1L") }}
                select id, count(*) as n from {{ ref('given') }} group by id
            """,
        }

    @pytest.fixture(scope="class")
    @classmethod
    def seeds(cls):
        return {"given.csv": "id\n1\n"}

    def test_a_hook_that_overwrites_one_partition_keeps_the_others(self, project):
        run_dbt(["build"])
        schema = f"lake.{project.test_schema}"
        project.run_sql(f"insert into {schema}.given values (2)")
        run_dbt(["run"])
        assert len(project.run_sql(f"select id from {schema}.copies", fetch="all")) == 3
