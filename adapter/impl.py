"""The adapter: dbt-spark's, with three-level names and Iceberg tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dbt.adapters.base import available
from dbt.adapters.base.impl import ConstraintSupport, FreshnessResponse
from dbt.adapters.base.meta import available_property
from dbt.adapters.base.relation import AdapterTrackingRelationInfo, BaseRelation
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.impl import SparkAdapter, SparkConfig
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.contracts.metadata import CatalogTable
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from iceberg_incremental.metadata.describe import Description, Stats
from iceberg_incremental.sql import property_value, sql_name, sql_string, statements

from .__version__ import version
from .hooks import Hooks, freshness, spelling
from .hooks.documentation import documentation
from .project import partition_config
from .relations import comments, contract, docs, seeds
from .relations.catalogs import CatalogIntegrations
from .relations.column import SparkIcebergColumn
from .relations.lookup import ICEBERG, RelationLookup
from .relations.relation import SparkIcebergRelation
from .spark import checks, early_start, interrupt
from .spark.as_dbt import hook
from .spark.connections import SparkIcebergConnectionManager

if TYPE_CHECKING:
    import agate

logger = AdapterLogger("Spark")


@dataclass
class SparkIcebergConfig(SparkConfig):
    """The configs of a model; tables are Iceberg's unless the model says otherwise."""

    file_format: str = ICEBERG
    tblproperties: dict[str, Any] | None = None
    merge_update_columns: list[str] | str | None = None  # type: ignore[assignment]
    merge_exclude_columns: list[str] | str | None = None


class SparkIcebergAdapter(RelationLookup, CatalogIntegrations):
    """dbt on Spark and Iceberg."""

    Relation = SparkIcebergRelation
    Column = SparkIcebergColumn
    ConnectionManager = SparkIcebergConnectionManager
    AdapterSpecificConfigs = SparkIcebergConfig

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

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._hooks = Hooks(self)
        self.credentials.project_folder = _project_folder(config)
        interrupt.listen()
        early_start.begin(self.credentials, getattr(getattr(config, "args", None), "which", None))

    def cleanup_connections(self) -> None:
        """Close all connections, at the end of a command."""
        interrupt.stop_listening()
        super().cleanup_connections()

    @available_property
    def ip(self) -> Hooks:
        """What the macros of incremental processing call."""
        return self._hooks

    def set_relations_cache(self, relation_configs: Iterable[RelationConfig], *args: Any, **kwargs: Any) -> None:
        """Warn of misspelt macros and of configs without effect, and fill dbt's cache of relations."""
        nodes = list(relation_configs)
        macros = getattr(self.get_macro_resolver(), "macros", {}).values()
        for warning in spelling.warnings(nodes, {macro.name for macro in macros}):
            logger.warning(warning)
        super().set_relations_cache(nodes, *args, **kwargs)

    def calculate_freshness_from_metadata_batch(
        self, sources: Sequence[BaseRelation], macro_resolver: Any = None
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, FreshnessResponse]]:
        """The freshness of many sources, by their metadata alone."""
        return [], freshness.of_many(self, sources)

    def calculate_freshness_from_metadata(
        self, source: BaseRelation, macro_resolver: Any = None
    ) -> tuple[AdapterResponse | None, FreshnessResponse]:
        """The freshness of one source, by its metadata alone. Raises as ``freshness.last_modified`` does."""
        return None, freshness.of_one(self, source)

    # Names and literals

    @hook
    def sql_string(self, value: Any) -> str:
        """A value as a Spark SQL string literal."""
        return sql_string(value)

    @available
    @classmethod
    def quote(cls, identifier: str) -> str:
        """A name, back-quoted."""
        return sql_name(identifier)

    @hook
    def sql_property(self, value: Any) -> str:
        """A table property's value as a literal."""
        return property_value(value)

    @hook
    def sql_statements(self, text: str) -> list[str]:
        """The statements of a text, one by one as Spark takes them."""
        return statements(text)

    @hook
    def contract_columns(self, model: Mapping[str, Any]) -> list[str]:
        """The select expressions of a model's contract, which stop NULLs where they must not be."""
        return contract.select_list(model)

    @hook.parse_none
    def note_constraints(self, model: Mapping[str, Any]) -> None:
        """Warn of the constraints of a model's contract that Iceberg does not have, as dbt does."""
        self.render_raw_columns_constraints(raw_columns=model["columns"])
        self.render_raw_model_constraints(raw_constraints=model["constraints"])

    @hook.parse_none
    def require_not_null(self, model: Mapping[str, Any], relation: BaseRelation) -> None:
        """Make the columns NOT NULL that a model's contract declares so, in its table that was just made.

        On a connection to a server the query alone stops NULLs, there and in each later run.
        """
        columns = contract.not_null_columns(model["columns"], model["constraints"])
        handle = self.connections.get_thread_connection().handle
        if not columns or not hasattr(handle, "require_columns") or self.provider(relation) != ICEBERG:
            return
        try:
            handle.require_columns(self.table_name(relation), columns)
        except DbtDatabaseError as error:
            logger.warning(
                f"{model['unique_id']} is built, but its columns {', '.join(sorted(columns))} are not NOT NULL in the "
                f"table: {error.msg}\nNo run of the model writes a NULL into them. Rebuild it to try again."
            )

    @hook.parse_list
    def partition_fields(self, partition_by: object, model: str) -> list[str]:
        """The config ``partition_by``, field by field. Raises ConfigError for what is no partition field."""
        return partition_config.fields(partition_by, model)

    @hook.parse_none
    def require_function_catalog(self, relation: BaseRelation, function: str) -> None:
        """Raise for a function in a catalog that holds none."""
        checks.require_function_catalog(str(relation.database), function)

    @hook.parse_none
    def create_function(self, sql: str, function: str) -> AdapterResponse:
        """Create a function. Raises DbtRuntimeError where Iceberg's extension of Spark's SQL does not let it."""
        try:
            response: AdapterResponse = self.execute(sql)[0]
        except DbtDatabaseError as error:
            if not error.msg.endswith("UnsupportedOperationException"):
                raise
            raise checks.no_function_parameters(function) from error
        return response

    @hook.parse_none
    def require_grants(self, relation: BaseRelation, show_grants: str) -> None:
        """Raise DbtRuntimeError where Spark's parser does not know the statement that shows a relation's grants."""
        try:
            self.execute(show_grants)
        except DbtDatabaseError as error:
            if "PARSE_SYNTAX_ERROR" not in error.msg:
                raise
            raise checks.no_grants(relation.render()) from error

    @hook.parse(lambda *args: False)
    def clones_as_table(self, clone_as: str | None, node: str) -> bool:
        """Whether `dbt clone` copies tables, by the config ``clone_as``."""
        return checks.clones_as_table(clone_as, node)

    # Seeds

    @hook
    def seed_columns(self, agate_table: agate.Table, config: Mapping[str, Any]) -> list[str]:
        """The column definitions of a seed. Raises DbtRuntimeError where its delimiter is wrong."""
        seeds.require_delimiter(agate_table.column_names, quoted=bool(config.get("quote_columns")))
        inferred = self._seed_types(agate_table)
        return [
            f"{sql_name(n)} {t}"
            for n, t in zip(inferred, seeds.types_of(inferred, config.get("column_types")), strict=False)
        ]

    @hook
    def seed_queries(
        self, agate_table: agate.Table, column_types: Mapping[str, str] | None, batch_size: int
    ) -> list[str]:
        """The rows of a seed as queries of at most a batch of rows."""
        inferred = self._seed_types(agate_table)
        return list(seeds.queries(list(inferred), seeds.types_of(inferred, column_types), agate_table.rows, batch_size))

    def _seed_types(self, agate_table: agate.Table) -> dict[str, str]:
        return {name: str(self.convert_type(agate_table, i)) for i, name in enumerate(agate_table.column_names)}

    @hook
    def view_columns(self, names: list[str], columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """A view's column list, with the comments that the model gives."""
        return comments.view_columns(names, columns)

    # Docs

    def get_catalog(
        self, relation_configs: Iterable[RelationConfig], used_schemas: Any
    ) -> tuple[agate.Table, list[Exception]]:
        """What `dbt docs generate` shows of the project's relations, in any catalog."""
        return docs.catalog(self, self._get_catalog_relations(relation_configs), self._documentation)

    def get_catalog_by_relations(self, used_schemas: Any, relations: Any) -> tuple[agate.Table, list[Exception]]:
        """The same for the relations that are given."""
        return docs.catalog(self, relations, self._documentation)

    def _documentation(self, relation: BaseRelation) -> tuple[Description, Stats]:
        """A relation's columns, comments and statistics: by its metadata alone, or else as Spark describes it."""
        described, stats = (
            (None, {}) if relation.is_view else documentation(self.metadata_reader(), self.table_name(relation))
        )
        return described or self.description(relation), stats

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """What the catalog knows of one relation; None where there is none."""
        described, stats = self._documentation(relation)
        return docs.catalog_table(relation, described, stats) if described.columns else None

    # What dbt asks of an adapter

    def valid_incremental_strategies(self) -> list[str]:
        """The built-in strategies of dbt's incremental models; a project's own are found by their macros."""
        return ["append", "merge", "insert_overwrite", "delete+insert", "microbatch"]

    def debug_query(self) -> None:
        """`dbt debug`: reach Spark, Iceberg and the catalog, and say which they are."""
        catalog = self.credentials.catalog
        spark = str(self.connections.rows("select version()")[0][0]).split(" ")[0]
        checks.require_spark(spark)
        self._require_catalog(catalog)
        iceberg = self._iceberg_version(catalog)
        schemas = len(self.list_schemas(catalog))
        kind = self.spark_settings().get(f"spark.sql.catalog.{catalog}.type") or "type unknown"
        folder = "" if self.credentials.folder is None else f", lakehouse in {self.credentials.folder}"
        logger.info(f"  Spark {spark}, Iceberg {iceberg}, catalog {catalog} ({kind}), {schemas} schemas{folder}")

    def _iceberg_version(self, catalog: str) -> str:
        try:
            return str(self.connections.rows(f"select {sql_name(catalog)}.system.iceberg_version()")[0][0])
        except DbtDatabaseError as error:
            if str(self.spark_settings().get(f"spark.sql.catalog.{catalog}")).startswith(checks.ICEBERG_CLASSES):
                raise checks.unreachable(catalog, error.msg) from error
            raise DbtRuntimeError(
                f"The catalog `{catalog}` is reached, but it is not an Iceberg catalog: {error.msg}\n"
                f"Set spark.sql.catalog.{catalog} to org.apache.iceberg.spark.SparkCatalog, or name another `catalog`."
            ) from error

    @classmethod
    def get_adapter_run_info(cls, config: RelationConfig) -> AdapterTrackingRelationInfo:
        """What dbt notes of the adapter for each node; the base class would guess a wrong module name."""
        return AdapterTrackingRelationInfo(  # type: ignore[abstract]
            adapter_name=SparkIcebergConnectionManager.TYPE,
            base_adapter_version=import_module("dbt.adapters.__about__").version,
            adapter_version=version,
            model_adapter_details=cls._get_adapter_specific_run_info(config),
        )


def _project_folder(config: Any) -> Path:
    """The absolute path of the dbt project's folder. `dbt debug` passes a profile, which does not know it."""
    from dbt.flags import get_flags

    root = getattr(config, "project_root", None) or getattr(get_flags(), "PROJECT_DIR", None)
    # As the working directory has it when dbt is started in the project: without links, and without `..`.
    return Path(root or ".").resolve()
