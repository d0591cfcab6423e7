"""dbt's catalogs.yml: the Spark catalog that a model with ``catalog_name`` builds in, and how tables are made there.

Both formats of the file end in an IcebergCatalog: dbt itself picks the active write integration of the first, and
``bridge_v2_catalog`` translates the second, which dbt-core 1.12 reads under the flag ``use_catalogs_v2``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dbt.adapters.catalogs import (
    CATALOG_INTEGRATION_MODEL_CONFIG_NAME,
    CatalogIntegration,
    CatalogIntegrationConfig,
    CatalogV2,
    CatalogWriteIntegrationConfig,
    DbtCatalogIntegrationNotFoundError,
    InvalidCatalogIntegrationConfigError,
)
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from ..spark.as_dbt import hook

FORMAT_PROPERTY = "write.format.default"
_TYPE = "iceberg"
_FILE_FORMATS = ("parquet", "orc", "avro")
_TBLPROPERTIES = "tblproperties"
_V2_FIELDS = ("catalog_database", "external_volume", "file_format", _TBLPROPERTIES)


@dataclass
class IcebergCatalogRelation:
    """How a model's table is made in its catalog.

    ``catalog_database``: the Spark catalog, under the name by which dbt's own macros ask for it. ``external_volume``:
    the location of its tables' folders by schema, None for the catalog's own choice.
    """

    catalog_name: str | None
    catalog_database: str
    table_format: str | None
    file_format: str | None
    external_volume: str | None
    tblproperties: Mapping[str, Any]


class IcebergCatalog(CatalogIntegration):
    """A write integration of type ``iceberg``.

    Its name, or ``catalog_database`` where dbt has that field, is that of a catalog in Spark's settings.
    """

    catalog_type = _TYPE
    table_format = _TYPE
    allows_writes = True

    def __init__(self, config: CatalogIntegrationConfig) -> None:
        """Raise InvalidCatalogIntegrationConfigError, which names all that is wrong at once."""
        super().__init__(config)
        more = config.adapter_properties or {}
        self.tblproperties: Mapping[str, Any] = more.get(_TBLPROPERTIES) or {}
        wrong = [f"adapter_properties has {key!r}: expected {_TBLPROPERTIES}" for key in more if key != _TBLPROPERTIES]
        if self.table_format != _TYPE:
            wrong.append(f"table_format is {self.table_format!r}: expected {_TYPE!r}")
        if self.file_format is not None and self.file_format.lower() not in _FILE_FORMATS:
            wrong.append(f"file_format is {self.file_format!r}: expected one of {', '.join(_FILE_FORMATS)}")
        if not isinstance(self.tblproperties, Mapping):
            wrong.append(f"{_TBLPROPERTIES} is {self.tblproperties!r}: expected a mapping")
        if wrong:
            raise InvalidCatalogIntegrationConfigError(config.name, ". ".join(wrong))

    def build_relation(self, config: RelationConfig) -> IcebergCatalogRelation:
        """How a model's table is made in this catalog."""
        return self.relation()

    def relation(self) -> IcebergCatalogRelation:
        """The same for every model."""
        # dbt-core before 1.12 and the oldest dbt-adapters have no such field.
        name = getattr(self, "catalog_database", None) or self.catalog_name or self.name
        file_format = None if self.file_format is None else self.file_format.lower()
        default = {} if file_format is None else {FORMAT_PROPERTY: file_format}
        volume = None if self.external_volume is None else self.external_volume.rstrip("/")
        return IcebergCatalogRelation(name, name, _TYPE, file_format, volume, {**default, **self.tblproperties})


class CatalogIntegrations(SparkAdapter):
    """What dbt, and the macros that make tables, ask of catalogs.yml."""

    CATALOG_INTEGRATIONS: ClassVar[list[type[CatalogIntegration]]] = [IcebergCatalog]  # type: ignore[misc]
    _catalog_names: tuple[str, ...] = ()

    def add_catalog_integration(self, catalog_integration: CatalogIntegrationConfig) -> CatalogIntegration:
        """Take up a catalog of catalogs.yml. Raises InvalidCatalogIntegrationConfigError."""
        if str(catalog_integration.catalog_type).casefold() != _TYPE:
            raise InvalidCatalogIntegrationConfigError(
                catalog_integration.name,
                f"catalog_type is {catalog_integration.catalog_type!r}: expected {_TYPE!r}, for a catalog of Spark's "
                "settings. Of which type the catalog is, spark.sql.catalog.<name>.type says",
            )
        self._catalog_names += (catalog_integration.name,)
        return super().add_catalog_integration(catalog_integration)

    def bridge_v2_catalog(self, catalog: CatalogV2) -> CatalogIntegrationConfig:
        """Translate a catalog of the second format of catalogs.yml, from its block for this adapter.

        Its type, such as ``glue``, is for other platforms: Spark's settings have it already. Raises
        InvalidCatalogIntegrationConfigError.
        """
        block = catalog.config.get(self.type(), {})
        if wrong := [key for key in block if key not in _V2_FIELDS]:
            raise InvalidCatalogIntegrationConfigError(
                catalog.name,
                f"config.{self.type()} has {', '.join(map(repr, wrong))}: expected only {', '.join(_V2_FIELDS)}",
            )
        return CatalogWriteIntegrationConfig(
            name=catalog.name,
            catalog_type=_TYPE,
            catalog_name=block.get("catalog_database") or catalog.name,
            external_volume=block.get("external_volume"),
            file_format=block.get("file_format"),
            adapter_properties={_TBLPROPERTIES: block.get(_TBLPROPERTIES)},
        )

    @hook
    def build_catalog_relation(self, config: RelationConfig) -> IcebergCatalogRelation | None:
        """How a model's table is made in the catalog that its ``catalog_name`` asks for; None without one.

        dbt's own also takes the config ``catalog`` for that, which here is another name for ``database``.
        """
        return self._catalog_relation(config.config)

    @hook
    def model_database(self, database: str | None, node: Any) -> str:
        """The Spark catalog that a node is built in; as in dbt's own macro, ``catalog_name`` comes first."""
        relation = None if node is None else self._catalog_relation(getattr(node, "config", None), node.unique_id)
        if relation is not None:
            return relation.catalog_database
        return database.strip() if database else str(self.config.credentials.database)

    @hook.parse(lambda *args: {})
    def table_properties(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The table properties that a model's config asks for: those of its catalog, and over them its own.

        Raises DbtRuntimeError where its own are no mapping.
        """
        relation = self._catalog_relation(config)
        of_catalog = {} if relation is None else relation.tblproperties
        own = config.get(_TBLPROPERTIES) or {}
        if not isinstance(own, Mapping):
            raise DbtRuntimeError(
                f"The config {_TBLPROPERTIES} is not a mapping.\n"
                f"  Expected: names of table properties with their values, such as {{'format-version': '3'}}.\n"
                f"  Found: {own!r}.\n"
                f"  To fix: write it as a mapping; in YAML, `name: value` lines without dashes."
            )
        return {**of_catalog, **own}

    @hook.parse_none
    def table_location(self, model: Mapping[str, Any]) -> str | None:
        """Where a model's table is to lie: below its own ``location_root``, or its catalog's ``external_volume``."""
        if root := model["config"].get("location_root"):
            return f"{root}/{model['alias']}"
        relation = self._catalog_relation(model["config"])
        if relation is None or relation.external_volume is None:
            return None
        return f"{relation.external_volume}/{model['schema']}/{model['alias']}"

    def pre_model_hook(self, config: Any) -> Any:
        """Raise where a model was parsed while catalogs.yml named another catalog: dbt does not parse it again."""
        node = config.model
        relation = self._catalog_relation(node.config)
        if relation is not None and node.database != relation.catalog_database:
            raise DbtRuntimeError(
                f"{node.unique_id} would be built in the wrong catalog.\n"
                f"  Expected: `{relation.catalog_database}`, the Spark catalog of `{_name(node.config)}` in "
                "catalogs.yml.\n"
                f"  Found: `{node.database}`, from when dbt parsed the model.\n"
                "  What to do: run with --no-partial-parse once; or, if the project has a generate_database_name macro "
                "of its own, have it return adapter.model_database(custom_database_name, node)."
            )
        return super().pre_model_hook(config)

    def _catalog_relation(self, config: Any, model: str = "A model") -> IcebergCatalogRelation | None:
        name = _name(config)
        if not name:
            return None
        try:
            integration = self.get_catalog_integration(name)
        except DbtCatalogIntegrationNotFoundError as error:
            known = ", ".join(map(repr, self._catalog_names)) or "none, or there is no such file"
            raise DbtRuntimeError(
                f"{model} has catalog_name {name!r}, which is no catalog of catalogs.yml.\n"
                f"  Expected: a catalog that the file names beside dbt_project.yml; it names {known}.\n"
                "  What to do: correct the name, add the catalog there, or name a Spark catalog by `database`."
            ) from error
        assert isinstance(integration, IcebergCatalog)
        return integration.relation()


def _name(config: Any) -> str | None:
    """The config ``catalog_name``; some configs of dbt, such as an export's, are no mappings."""
    get = getattr(config, "get", None)
    return get(CATALOG_INTEGRATION_MODEL_CONFIG_NAME) if callable(get) else None
