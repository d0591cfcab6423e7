"""The config ``grants``, where Spark has statements for it."""

from __future__ import annotations

from dbt.adapters.base.relation import BaseRelation
from dbt_common.exceptions import DbtDatabaseError

from ..spark import checks
from ..spark.connections import SparkIcebergConnectionManager


class Grants:
    """Whether Spark has grants at all."""

    def __init__(self, connections: SparkIcebergConnectionManager) -> None:
        self._connections = connections

    def require(self, relation: BaseRelation, show_grants: str) -> None:
        """Raise DbtRuntimeError where Spark's parser does not know the statement that shows a relation's grants."""
        try:
            self._connections.execute(show_grants)
        except DbtDatabaseError as error:
            if "PARSE_SYNTAX_ERROR" not in error.msg:
                raise
            raise checks.no_grants(relation.render()) from error
