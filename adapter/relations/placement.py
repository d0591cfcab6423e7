"""Which Spark catalog a model is built in: the one that its ``catalog_name`` names in catalogs.yml, or a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dbt.adapters.catalogs import (
    CATALOG_INTEGRATION_MODEL_CONFIG_NAME,
    CatalogIntegration,
    CatalogIntegrationConfig,
    DbtCatalogIntegrationNotFoundError,
)
from dbt_common.exceptions import DbtRuntimeError

from .catalogs import IcebergCatalog, IcebergCatalogRelation, require_supported


class Placement:
    """The catalogs of catalogs.yml as models name them."""

    def __init__(self, integration: Callable[[str], CatalogIntegration], default_catalog: str) -> None:
        """``integration``: dbt's own catalog integrations by name. ``default_catalog``: the profile's."""
        self._integration = integration
        self._default_catalog = default_catalog
        self._names: tuple[str, ...] = ()

    def note(self, config: CatalogIntegrationConfig) -> None:
        """Remember a catalog of catalogs.yml by name. Raises InvalidCatalogIntegrationConfigError for another type."""
        require_supported(config)
        self._names += (config.name,)

    def database(self, database: str | None, node: Any) -> str:
        """The Spark catalog that a node is built in; as in dbt's own macro, ``catalog_name`` comes first."""
        found = None if node is None else self.catalog_of(getattr(node, "config", None), node.unique_id)
        if found is not None:
            return found.catalog_database
        return database.strip() if database else self._default_catalog

    def catalog_of(self, config: Any, model: str = "A model") -> IcebergCatalogRelation | None:
        """How a table is made in the catalog that a config names by ``catalog_name``; None without one.

        Raises DbtRuntimeError for a name that catalogs.yml does not have.
        """
        name = _name(config)
        if not name:
            return None
        try:
            integration = self._integration(name)
        except DbtCatalogIntegrationNotFoundError as error:
            known = ", ".join(map(repr, self._names)) or "the file does not exist or has no catalogs"
            raise DbtRuntimeError(
                f"{model} has catalog_name {name!r}, which is not in catalogs.yml.\n"
                f"  Expected: a catalog of the file catalogs.yml next to dbt_project.yml: {known}.\n"
                "  To fix: correct the name, add the catalog to the file, or set `database` to a Spark catalog."
            ) from error
        assert isinstance(integration, IcebergCatalog)
        return integration.relation()

    def require_current(self, node: Any) -> None:
        """Raise where a model was parsed while catalogs.yml named another catalog: dbt does not parse it again."""
        relation = self.catalog_of(node.config)
        if relation is not None and node.database != relation.catalog_database:
            raise DbtRuntimeError(
                f"{node.unique_id} would be built in the wrong catalog.\n"
                f"  Expected: `{relation.catalog_database}`, the Spark catalog of `{_name(node.config)}` in "
                "catalogs.yml.\n"
                f"  Found: `{node.database}`, which dbt read when it parsed the model.\n"
                "  To fix: run once with --no-partial-parse. If the project has its own generate_database_name macro, "
                "it must return spark_iceberg__generate_database_name(custom_database_name, node)."
            )


def _name(config: Any) -> str | None:
    """The config ``catalog_name``; some configs of dbt, such as an export's, are no mappings."""
    get = getattr(config, "get", None)
    return get(CATALOG_INTEGRATION_MODEL_CONFIG_NAME) if callable(get) else None
