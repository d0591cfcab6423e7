"""Statements that not every version of Spark or Iceberg supports. The errors contain the alternative."""

from __future__ import annotations

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt_common.exceptions import DbtDatabaseError

from ..spark import checks
from ..spark.connections import SparkIcebergConnectionManager


class Statements:
    """The statements for dbt's ``function`` nodes and for the config ``grants``."""

    def __init__(self, connections: SparkIcebergConnectionManager) -> None:
        self._connections = connections

    def require_function_catalog(self, relation: BaseRelation, function: str) -> None:
        """Raise DbtRuntimeError for a function in a catalog without functions."""
        checks.require_function_catalog(str(relation.database), function)

    def create_function(self, sql: str, function: str) -> AdapterResponse:
        """Create a function. Raises DbtRuntimeError if Iceberg's SQL extension does not support it."""
        try:
            response, _ = self._connections.execute(sql)
        except DbtDatabaseError as error:
            if not error.msg.endswith("UnsupportedOperationException"):
                raise
            raise checks.no_function_parameters(function) from error
        return response

    def require_grants(self, relation: BaseRelation, show_grants: str) -> None:
        """Raise DbtRuntimeError if Spark's parser does not support the statement that shows a relation's grants."""
        try:
            self._connections.execute(show_grants)
        except DbtDatabaseError as error:
            if "PARSE_SYNTAX_ERROR" not in error.msg:
                raise
            raise checks.no_grants(relation.render()) from error
