"""The adapter: a subclass of dbt-spark's adapter for three-level names and Iceberg tables.

Its methods delegate to the folders of this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Any, ClassVar, cast

from dbt.adapters.base.impl import ConstraintSupport, FreshnessResponse
from dbt.adapters.base.meta import available_property
from dbt.adapters.base.relation import AdapterTrackingRelationInfo, BaseRelation
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.catalogs import CatalogIntegration, CatalogIntegrationConfig, CatalogV2
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.contracts.metadata import CatalogTable
from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.sql import sql_name

from . import as_dbt
from .__version__ import version
from .as_dbt import AsDbt
from .lineage.start import listen
from .profile.credentials import SparkIcebergCredentials, project_folder
from .relations.catalogs import IcebergCatalog, IcebergCatalogRelation, translated
from .relations.collaborators import Relations
from .relations.docs import DocsCatalog
from .relations.relation import SparkIcebergColumn, SparkIcebergRelation
from .relations.tables import SparkIcebergConfig
from .spark import access, interrupt
from .spark.access import SparkAccess
from .spark.connections import SparkIcebergConnectionManager
from .spark.in_process import early_start
from .spark.port import DbtSpark

if TYPE_CHECKING:
    import agate


ADAPTED = ("audit_helper", "dbt_artifacts", "dbt_utils")
"""The packages that have macros in `macros/packages/`."""


def search_adapter(config: Any) -> None:
    """Let dbt search the adapter after the project and before the package, as `dispatch` in dbt_project.yml would.

    The project's own search orders do not change. `dbt debug` has no project, so its config has no `dispatch`.
    """
    orders = getattr(config, "dispatch", None)
    if orders is None:
        return
    configured = {order["macro_namespace"] for order in orders}
    for package in ADAPTED:
        if package not in configured:
            # dbt stores the macros of all adapters under the name of its own package.
            orders.append({"macro_namespace": package, "search_order": [config.project_name, "dbt", package]})


logger = AdapterLogger("Spark")


class SparkIcebergAdapter(SparkAdapter):
    """The dbt adapter for Spark and Iceberg."""

    Relation = SparkIcebergRelation
    Column = SparkIcebergColumn
    ConnectionManager = SparkIcebergConnectionManager
    AdapterSpecificConfigs = SparkIcebergConfig
    CATALOG_INTEGRATIONS: ClassVar[list[type[CatalogIntegration]]] = [IcebergCatalog]  # type: ignore[misc]

    CONSTRAINT_SUPPORT: ClassVar[dict[ConstraintType, ConstraintSupport]] = {  # type: ignore[misc]
        **dict.fromkeys(SparkAdapter.CONSTRAINT_SUPPORT, ConstraintSupport.NOT_SUPPORTED),
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
    }

    _capabilities = CapabilityDict(
        {
            capability: CapabilitySupport(support=Support.Full)
            for capability in (
                Capability.SchemaMetadataByRelations,
                Capability.GetCatalogForSingleRelation,
                Capability.TableLastModifiedMetadata,
                Capability.TableLastModifiedMetadataBatch,
                Capability.CatalogsV2,
            )
        }
    )

    connections: SparkIcebergConnectionManager

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        search_adapter(config)
        connections, credentials = self.connections, self.credentials
        credentials.project_folder = project_folder(config)
        interrupt.collect_rarely()
        early_start.begin(credentials, getattr(getattr(config, "args", None), "which", None))
        from .ip import Hooks  # which takes a third of a second, while the JVM starts
        from .operations.documentation import documentation

        self.access = SparkAccess(connections, credentials)
        self._relations = Relations(
            connections, credentials.catalog, self.access.settings, self.get_catalog_integration, self.convert_type
        )
        self.lookup, self.tables = self._relations.lookup, self._relations.tables
        self._docs = DocsCatalog(self, self._relations.lookup, self.access.metadata_reader, documentation)
        self._hooks = Hooks(self)
        self._lineage = listen(self, self._hooks.invocations, self.access.settings, version)
        as_dbt.forward_engine_log()
        interrupt.listen()
        interrupt.skip_last_collection()

    @property
    def credentials(self) -> SparkIcebergCredentials:
        """The profile."""
        return cast(SparkIcebergCredentials, self.config.credentials)

    @available_property
    def relations(self) -> AsDbt:
        """The objects for macros about relations: ``relations.collaborators.Relations``."""
        return AsDbt(self._relations)

    @available_property
    def ip(self) -> AsDbt:
        """The objects for macros of incremental processing: ``hooks.Hooks``."""
        return AsDbt(self._hooks)

    # Methods that dbt calls

    def cleanup_connections(self) -> None:
        """Close all connections, at the end of a command."""
        interrupt.stop_listening()
        super().cleanup_connections()

    @classmethod
    def quote(cls, identifier: str) -> str:
        """A back-quoted name."""
        return sql_name(identifier)

    def list_schemas(self, database: str) -> list[str]:
        """The schemas of a catalog."""
        return self.lookup.schemas(database)

    def check_schema_exists(self, database: str, schema: str) -> bool:
        """Whether a catalog has a schema."""
        return self.lookup.has_schema(database, schema)

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """The current tables and views of a schema."""
        return self.lookup.relations_in(schema_relation)

    def _make_match(
        self, relations_list: list[BaseRelation], database: str, schema: str, identifier: str
    ) -> list[BaseRelation]:
        return self.lookup.matching(relations_list, database, schema, identifier)

    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkIcebergColumn]:  # type: ignore[override]
        """The columns of a table or view, including temporary views. Empty if it does not exist."""
        return self.lookup.columns(relation)

    def set_relations_cache(self, relation_configs: Iterable[RelationConfig], *args: Any, **kwargs: Any) -> None:
        """Warn about misspelled macros and configs without effect, and fill dbt's cache of relations."""
        nodes = list(relation_configs)
        macros = getattr(self.get_macro_resolver(), "macros", {}).values()
        own = {macro.name for macro in macros if macro.package_name == self.config.project_name}
        from .hooks import spelling

        for warning in spelling.warnings(nodes, {macro.name for macro in macros}, own):
            logger.warning(warning)
        super().set_relations_cache(nodes, *args, **kwargs)

    def calculate_freshness_from_metadata_batch(
        self, sources: Sequence[BaseRelation], macro_resolver: Any = None
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, FreshnessResponse]]:
        """The freshness of many sources, from metadata alone."""
        from .operations import freshness

        return [], freshness.of_many(self, sources)

    def calculate_freshness_from_metadata(
        self, source: BaseRelation, macro_resolver: Any = None
    ) -> tuple[AdapterResponse | None, FreshnessResponse]:
        """The freshness of one source, from metadata alone. Raises the errors of ``freshness.last_modified``."""
        from .operations import freshness

        return None, freshness.of_one(self, source)

    def add_catalog_integration(self, catalog_integration: CatalogIntegrationConfig) -> CatalogIntegration:
        """Add a catalog of catalogs.yml. Raises InvalidCatalogIntegrationConfigError."""
        self._relations.placement.note(catalog_integration)
        return super().add_catalog_integration(catalog_integration)

    def bridge_v2_catalog(self, catalog: CatalogV2) -> CatalogIntegrationConfig:
        """Convert a catalog of the second format of catalogs.yml to the first format."""
        return translated(catalog, self.type())

    def build_catalog_relation(self, config: RelationConfig) -> IcebergCatalogRelation | None:
        """How a model's table is created in the catalog of its ``catalog_name``. None without this config.

        dbt's own method also reads the config ``catalog``. In this adapter, ``catalog`` is an alias of ``database``.
        """
        return self._relations.placement.catalog_of(config.config)

    def create_schema(self, relation: BaseRelation) -> None:
        """Create a schema if it does not exist. Raises DbtDatabaseError.

        If another thread or process creates it at the same time, Iceberg's catalogs fail in spite of IF NOT EXISTS.
        """
        try:
            super().create_schema(relation)
        except DbtDatabaseError as error:
            logger.debug(f"The schema is created again, in case it exists by now: {error.msg}")
            super().create_schema(relation)

    def pre_model_hook(self, config: Any) -> Any:
        """Called before a node is built.

        Creates the node's schema if dbt has confused it with one whose name differs in case. Raises DbtRuntimeError for
        a schema with an empty level, if catalogs.yml has changed since the node was parsed, or if a history would lose
        its versions.
        """
        self._relations.placement.require_current(config.model)
        self._relations.placement.schema(config.model.schema, config.model.unique_id)
        schema = self.Relation.create(database=config.model.database, schema=config.model.schema)
        if self.lookup.is_overlooked(schema):
            self.create_schema(schema)
        self.ip.history.require_kept(config.model)
        super().pre_model_hook(config)
        return None if self._lineage is None else self._lineage.before(config.model)

    def post_model_hook(self, config: Any, context: Any) -> None:
        """Called after a node is built or has failed. ``context`` is the result of ``pre_model_hook``."""
        super().post_model_hook(config, context)
        if self._lineage is not None and context is not None:
            self._lineage.after(context)

    def get_catalog(
        self, relation_configs: Iterable[RelationConfig], used_schemas: Any
    ) -> tuple[agate.Table, list[Exception]]:
        """The catalog of `dbt docs generate` for the project's relations, in any catalog."""
        return self._docs.table(self._get_catalog_relations(relation_configs))

    def get_catalog_by_relations(self, used_schemas: Any, relations: Any) -> tuple[agate.Table, list[Exception]]:
        """The catalog of `dbt docs generate` for the given relations."""
        return self._docs.table(relations)

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """The catalog entry of one relation. None if it does not exist."""
        return self._docs.entry(relation)

    def valid_incremental_strategies(self) -> list[str]:
        """The built-in strategies of dbt's incremental models. dbt finds a project's own strategies by their macros."""
        return ["append", "merge", "insert_overwrite", "delete+insert", "microbatch"]

    def debug_query(self) -> None:
        """`dbt debug`: connect to Spark, Iceberg and the catalog, and report their versions."""
        logger.info(f"  {access.reached(self.connections, self.credentials, self.access.settings, self.list_schemas)}")

    @classmethod
    def get_adapter_run_info(cls, config: RelationConfig) -> AdapterTrackingRelationInfo:
        """The adapter's versions, which dbt records for each node. dbt's own method guesses a wrong module name."""
        return AdapterTrackingRelationInfo(  # type: ignore[abstract]
            adapter_name=SparkIcebergConnectionManager.TYPE,
            base_adapter_version=import_module("dbt.adapters.__about__").version,
            adapter_version=version,
            model_adapter_details=cls._get_adapter_specific_run_info(config),
        )

    # Methods that the hooks call

    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata for this profile."""
        return self.access.metadata_reader()

    @property
    def spark(self) -> Spark:
        """The interface to Spark over this thread's connection."""
        return DbtSpark(self, self.connections)
