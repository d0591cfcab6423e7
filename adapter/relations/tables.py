"""How a model's table is created: its properties, location and partitions. Also dbt's functions and grants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.spark.impl import SparkConfig
from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.sql import property_value, sql_string

from ..as_dbt import dbt_error
from ..project import layout_config
from ..spark import checks
from ..spark.connections import SparkIcebergConnectionManager
from .catalogs import TBLPROPERTIES
from .lookup import ICEBERG
from .placement import Placement


@dataclass
class SparkIcebergConfig(SparkConfig):
    """The configs of a model. By default, tables are Iceberg tables."""

    file_format: str = ICEBERG
    tblproperties: dict[str, Any] | None = None
    sort_by: list[str] | str | None = None
    merge_update_columns: list[str] | str | None = None  # type: ignore[assignment]
    merge_exclude_columns: list[str] | str | None = None


class Tables:
    """The clauses of CREATE TABLE that depend on a model's configs and on its catalog in catalogs.yml."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement

    def properties(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The table properties of a model: those of its config, and those of its catalog as defaults.

        Raises DbtRuntimeError if the config is not a mapping.
        """
        catalog = self._placement.catalog_of(config)
        own = config.get(TBLPROPERTIES) or {}
        if not isinstance(own, Mapping):
            raise dbt_error(
                f"The config {TBLPROPERTIES} is not a mapping.",
                expected="names and values of table properties, such as {'format-version': '3'}.",
                found=f"{own!r}.",
                fix="write it as a mapping. In YAML, these are `name: value` lines without dashes.",
            )
        return {**({} if catalog is None else catalog.tblproperties), **own}

    def property_list(self, model: Mapping[str, Any], more: Mapping[str, Any]) -> list[str]:
        """The properties as ``'name' = 'value'``. ``more``: additional properties, which override others."""
        order = self.write_order(model)
        properties = {**({} if order is None else order.properties), **self.properties(model["config"]), **more}
        return [f"{sql_string(name)} = {property_value(value)}" for name, value in properties.items()]

    def location(self, model: Mapping[str, Any]) -> str | None:
        """The location of a model's table: in its ``location_root``, or in its catalog's ``external_volume``.

        None if the catalog chooses the location.
        """
        if root := model["config"].get("location_root"):
            return f"{root}/{model['alias']}"
        catalog = self._placement.catalog_of(model["config"])
        if catalog is None or catalog.external_volume is None:
            return None
        return f"{catalog.external_volume}/{model['schema']}/{model['alias']}"

    partition_fields = staticmethod(layout_config.partition_fields)

    def write_order(self, model: Mapping[str, Any]) -> layout_config.WriteOrder | None:
        """The order of rows in the files of a model's table. None if its config sets none, and for seeds.

        Raises ConfigError.
        """
        if model["resource_type"] == "seed":
            return None
        return layout_config.write_order(model["config"], self.properties(model["config"]), model["unique_id"])

    def in_order(self, model: Mapping[str, Any], query: str) -> str:
        """The query of a new table's rows, sorted as in ``write_order``."""
        order = self.write_order(model)
        return query if order is None else order.rows_sql(query, str(model["database"]))


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
