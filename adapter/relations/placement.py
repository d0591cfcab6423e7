"""The Spark catalog in which a model is built: from its ``catalog_name`` in catalogs.yml, or its database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dbt.adapters.catalogs import (
    CATALOG_INTEGRATION_MODEL_CONFIG_NAME,
    CatalogIntegration,
    CatalogIntegrationConfig,
    DbtCatalogIntegrationNotFoundError,
)

from iceberg_incremental.sql import namespace_levels

from ..as_dbt import dbt_error
from .catalogs import IcebergCatalog, IcebergCatalogRelation, require_supported


class Placement:
    """The catalogs in catalogs.yml, by the names that models use."""

    def __init__(self, integration: Callable[[str], CatalogIntegration], default_catalog: str) -> None:
        """``integration``: returns a catalog integration of dbt by name. ``default_catalog``: the profile's catalog."""
        self._integration = integration
        self._default_catalog = default_catalog
        self._names: tuple[str, ...] = ()

    def note(self, config: CatalogIntegrationConfig) -> None:
        """Store the name of a catalog in catalogs.yml. Raises InvalidCatalogIntegrationConfigError for another type."""
        require_supported(config)
        self._names += (config.name,)

    def database(self, database: str | None, node: Any) -> str:
        """The Spark catalog of a node. As in dbt's own macro, ``catalog_name`` has precedence."""
        found = None if node is None else self.catalog_of(getattr(node, "config", None), node.unique_id)
        if found is not None:
            return found.catalog_database
        return database.strip() if database else self._default_catalog

    def schema(self, schema: str, model: str = "A model") -> str:
        """The schema of a node that dbt builds. ``model``: the node's name for the error.

        Raises DbtRuntimeError for a name whose dots do not separate the levels of a namespace.
        """
        if not all(namespace_levels(schema)):
            raise dbt_error(
                f"{model} has the schema `{schema}`, in which a level has no name.",
                expected="a schema, such as analytics, or the levels of a namespace, such as analytics.daily.",
                fix="remove the dot at the beginning or the end, or one of two dots. To build in another catalog, set "
                "`database`.",
            )
        return schema

    def catalog_of(self, config: Any, model: str = "A model") -> IcebergCatalogRelation | None:
        """How a table is created in the catalog of the config ``catalog_name``. None without this config.

        ``model``: the model's name for the error. Raises DbtRuntimeError for a name that is not in catalogs.yml.
        """
        name = _name(config)
        if not name:
            return None
        try:
            integration = self._integration(name)
        except DbtCatalogIntegrationNotFoundError as error:
            known = ", ".join(map(repr, self._names)) or "the file does not exist or has no catalogs"
            raise dbt_error(
                f"{model} has catalog_name {name!r}, which is not in catalogs.yml.",
                expected=f"a catalog in catalogs.yml, which is next to dbt_project.yml: {known}.",
                fix="correct the name, add the catalog to the file, or set `database` to a Spark catalog.",
            ) from error
        assert isinstance(integration, IcebergCatalog)
        return integration.relation()

    def require_current(self, node: Any) -> None:
        """Raise DbtRuntimeError if catalogs.yml has changed since a model was parsed. dbt does not parse it again."""
        relation = self.catalog_of(node.config)
        if relation is not None and node.database != relation.catalog_database:
            raise dbt_error(
                f"{node.unique_id} would be built in the wrong catalog.",
                expected=f"`{relation.catalog_database}`, the Spark catalog of `{_name(node.config)}` in catalogs.yml.",
                found=f"`{node.database}`, which dbt read when it parsed the model.",
                fix="run once with --no-partial-parse. If the project has its own generate_database_name macro, it "
                "must return spark_iceberg__generate_database_name(custom_database_name, node).",
            )


def _name(config: Any) -> str | None:
    """The config ``catalog_name``. Some of dbt's configs, such as the config of an export, are not mappings."""
    get = getattr(config, "get", None)
    return get(CATALOG_INTEGRATION_MODEL_CONFIG_NAME) if callable(get) else None
