"""dbt's catalogs.yml: Spark catalogs by name, and how tables are created in each.

Both formats of the file are converted to an IcebergCatalog. In the first format, dbt selects the active write
integration. dbt-core 1.12 reads the second format with the flag ``use_catalogs_v2``. In this case, ``translated``
creates the write integration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbt.adapters.catalogs import (
    CatalogIntegration,
    CatalogIntegrationConfig,
    CatalogV2,
    CatalogWriteIntegrationConfig,
    InvalidCatalogIntegrationConfigError,
)
from dbt.adapters.contracts.relation import RelationConfig

FORMAT_PROPERTY = "write.format.default"
_TYPE = "iceberg"
_FILE_FORMATS = ("parquet", "orc", "avro")
TBLPROPERTIES = "tblproperties"
_V2_FIELDS = ("catalog_database", "external_volume", "file_format", TBLPROPERTIES)


@dataclass
class IcebergCatalogRelation:
    """How a model's table is created in its catalog.

    ``catalog_database``: the Spark catalog. dbt's own macros require this name. ``external_volume``: the location of
    the folders of schemas; None if the catalog chooses it.
    """

    catalog_name: str | None
    catalog_database: str
    table_format: str | None
    file_format: str | None
    external_volume: str | None
    tblproperties: Mapping[str, Any]


class IcebergCatalog(CatalogIntegration):
    """A write integration of type ``iceberg``.

    The Spark catalog is its ``catalog_database`` or, in versions of dbt without this field, its ``catalog_name`` or
    ``name``.
    """

    catalog_type = _TYPE
    table_format = _TYPE
    allows_writes = True

    def __init__(self, config: CatalogIntegrationConfig) -> None:
        """Raise an InvalidCatalogIntegrationConfigError that lists all errors."""
        super().__init__(config)
        more = config.adapter_properties or {}
        self.tblproperties: Mapping[str, Any] = more.get(TBLPROPERTIES) or {}
        wrong = [f"adapter_properties has {key!r}: expected {TBLPROPERTIES}" for key in more if key != TBLPROPERTIES]
        if self.table_format != _TYPE:
            wrong.append(f"table_format is {self.table_format!r}: expected {_TYPE!r}")
        if self.file_format is not None and self.file_format.lower() not in _FILE_FORMATS:
            wrong.append(f"file_format is {self.file_format!r}: expected one of {', '.join(_FILE_FORMATS)}")
        if not isinstance(self.tblproperties, Mapping):
            wrong.append(f"{TBLPROPERTIES} is {self.tblproperties!r}: expected a mapping")
        if wrong:
            raise InvalidCatalogIntegrationConfigError(config.name, ". ".join(wrong))

    def build_relation(self, config: RelationConfig) -> IcebergCatalogRelation:
        """How a model's table is created in this catalog."""
        return self.relation()

    def relation(self) -> IcebergCatalogRelation:
        """How tables are created in this catalog, for all models."""
        # dbt-core before 1.12 and the oldest dbt-adapters lack this field.
        name = getattr(self, "catalog_database", None) or self.catalog_name or self.name
        file_format = None if self.file_format is None else self.file_format.lower()
        default = {} if file_format is None else {FORMAT_PROPERTY: file_format}
        volume = None if self.external_volume is None else self.external_volume.rstrip("/")
        return IcebergCatalogRelation(name, name, _TYPE, file_format, volume, {**default, **self.tblproperties})


def require_supported(config: CatalogIntegrationConfig) -> None:
    """Raise InvalidCatalogIntegrationConfigError for a catalog of another type."""
    if str(config.catalog_type).casefold() != _TYPE:
        raise InvalidCatalogIntegrationConfigError(
            config.name,
            f"catalog_type is {config.catalog_type!r}: expected {_TYPE!r}. Spark's setting "
            "spark.sql.catalog.<name>.type determines the type of the catalog",
        )


def translated(catalog: CatalogV2, adapter: str) -> CatalogWriteIntegrationConfig:
    """Convert a catalog of the second format of catalogs.yml, with its block for an adapter, to the first format.

    The type in the file, such as ``glue``, is ignored, because Spark's settings determine the type of the catalog.
    Raises InvalidCatalogIntegrationConfigError.
    """
    block = catalog.config.get(adapter, {})
    if wrong := [key for key in block if key not in _V2_FIELDS]:
        raise InvalidCatalogIntegrationConfigError(
            catalog.name,
            f"config.{adapter} has {', '.join(map(repr, wrong))}: expected only {', '.join(_V2_FIELDS)}",
        )
    return CatalogWriteIntegrationConfig(
        name=catalog.name,
        catalog_type=_TYPE,
        catalog_name=block.get("catalog_database") or catalog.name,
        external_volume=block.get("external_volume"),
        file_format=block.get("file_format"),
        adapter_properties={TBLPROPERTIES: block.get(TBLPROPERTIES)},
    )
