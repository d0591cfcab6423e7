"""SQL functions, as dbt builds them from models of the resource type ``function``."""

from __future__ import annotations

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt_common.exceptions import DbtDatabaseError

from ..spark import checks
from ..spark.connections import SparkIcebergConnectionManager


class Functions:
    """What a catalog and Iceberg's extension of Spark's SQL let a function be."""

    def __init__(self, connections: SparkIcebergConnectionManager) -> None:
        self._connections = connections

    def require_catalog(self, relation: BaseRelation, function: str) -> None:
        """Raise DbtRuntimeError for a function in a catalog that holds none."""
        checks.require_function_catalog(str(relation.database), function)

    def create(self, sql: str, function: str) -> AdapterResponse:
        """Create a function. Raises DbtRuntimeError where Iceberg's extension of Spark's SQL does not let it."""
        try:
            response, _ = self._connections.execute(sql)
        except DbtDatabaseError as error:
            if not error.msg.endswith("UnsupportedOperationException"):
                raise
            raise checks.no_function_parameters(function) from error
        return response
