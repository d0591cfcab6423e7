"""The adapter: dbt-spark's, with three-level names and Iceberg tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Any, ClassVar, cast

from dbt.adapters.base import available
from dbt.adapters.base.impl import ConstraintSupport, catch_as_completed
from dbt.adapters.base.relation import AdapterTrackingRelationInfo, BaseRelation
from dbt.adapters.contracts.relation import RelationConfig, RelationType
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import ApproximateMatchError
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt.adapters.spark.impl import (
    SCHEMA_NOT_FOUND_MESSAGES,
    TABLE_OR_VIEW_NOT_FOUND_MESSAGES,
    SparkAdapter,
    SparkConfig,
)
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.contracts.metadata import CatalogTable
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from dbt_common.utils import executor

from . import checks, contract, docs, interrupt, seeds
from .__version__ import version
from .column import SparkIcebergColumn
from .connections import SparkIcebergConnectionManager
from .credentials import SparkIcebergCredentials
from .incremental.hooks import IncrementalHooks
from .incremental.metadata import MetadataReader
from .incremental.project import partition_config
from .incremental.table.history import TableName
from .relation import SparkIcebergRelation
from .sql import plain_name, property_value, sql_name, sql_string, statements

if TYPE_CHECKING:
    import agate

logger = AdapterLogger("Spark")

ICEBERG = "iceberg"
SESSION_CATALOG = "spark_catalog"
_SETTINGS_PREFIXES = ("spark.sql.catalog.", "spark.hadoop.", "spark.hive.")


@dataclass
class SparkIcebergConfig(SparkConfig):
    """The configs of a model; tables are Iceberg's unless the model says otherwise."""

    file_format: str = ICEBERG
    tblproperties: dict[str, Any] | None = None
    merge_update_columns: list[str] | str | None = None  # type: ignore[assignment]
    merge_exclude_columns: list[str] | str | None = None


class SparkIcebergAdapter(IncrementalHooks, SparkAdapter):
    """dbt on Spark and Iceberg."""

    Relation = SparkIcebergRelation
    Column = SparkIcebergColumn
    ConnectionManager = SparkIcebergConnectionManager
    AdapterSpecificConfigs = SparkIcebergConfig
    connections: SparkIcebergConnectionManager

    CONSTRAINT_SUPPORT: ClassVar[dict[ConstraintType, ConstraintSupport]] = {  # type: ignore[misc]
        **SparkAdapter.CONSTRAINT_SUPPORT,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.check: ConstraintSupport.NOT_SUPPORTED,
    }

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._lock = threading.RLock()
        self._settings: Mapping[str, str] | None = None
        self._reader: MetadataReader | None = None
        interrupt.listen()

    def cleanup_connections(self) -> None:
        """Close all connections, at the end of a command."""
        interrupt.stop_listening()
        super().cleanup_connections()

    # What incremental processing builds on

    @property
    def credentials(self) -> SparkIcebergCredentials:
        """The profile."""
        return cast(SparkIcebergCredentials, self.config.credentials)

    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata, one per adapter; made on the first call."""
        with self._lock:
            if self._reader is None:
                from .incremental.metadata.open import open_reader

                credentials = self.credentials
                self._reader = open_reader(
                    str(credentials.metadata_reader),
                    self.spark_settings,
                    credentials.pyiceberg,
                    self.connections.rows,
                    beside_spark=credentials.method == SparkConnectionMethod.SESSION,
                )
            return self._reader

    def spark_settings(self) -> Mapping[str, str]:
        """The Spark settings of catalogs and file systems, as a connection of this profile has them; read once."""
        with self._lock:
            if self._settings is None:
                handle = self.connections.get_thread_connection().handle
                # A session of this process tells them as they are; SET hides what looks like a secret.
                session = self.credentials.method == SparkConnectionMethod.SESSION
                rows = handle.settings().items() if session else self.connections.rows("set")
                self._settings = {str(k): str(v) for k, v, *_ in rows if str(k).startswith(_SETTINGS_PREFIXES)}
            return self._settings

    def session_settings(self, keys: Collection[str]) -> Mapping[str, str]:
        """Which of some settings this thread's session has now, with their values; of a server, by one statement."""
        if self.credentials.method == SparkConnectionMethod.SESSION:
            found = {key: self.connections.get_thread_connection().handle.setting(key) for key in keys}
            return {key: value for key, value in found.items() if value is not None}
        return {str(key): str(value) for key, value, *_ in self.connections.rows("set") if key in keys}

    def session_configure(self) -> Callable[[str, str | None], object] | None:
        """What sets this thread's session without a statement; None where the session is a server's."""
        handle = self.connections.get_thread_connection().handle
        session = self.credentials.method == SparkConnectionMethod.SESSION
        return handle.configure if session else None

    def table_name(self, relation: BaseRelation) -> TableName:
        """A relation's name in Spark, in the profile's catalog where it names none."""
        return TableName(relation.database or self.credentials.catalog, str(relation.schema), str(relation.identifier))

    # Names and literals

    @available
    def sql_string(self, value: Any) -> str:
        """A value as a Spark SQL string literal."""
        return sql_string(value)

    @available
    @classmethod
    def quote(cls, identifier: str) -> str:
        """A name, back-quoted."""
        return sql_name(identifier)

    @available
    def sql_property(self, value: Any) -> str:
        """A table property's value as a literal."""
        return property_value(value)

    @available
    def sql_statements(self, text: str) -> list[str]:
        """The statements of a text, one by one as Spark takes them."""
        return statements(text)

    @available
    def contract_columns(self, model: Mapping[str, Any]) -> list[str]:
        """The select expressions of a model's contract, which stop NULLs where they must not be."""
        return contract.select_list(model)

    @available.parse_list
    def partition_fields(self, partition_by: object, model: str) -> list[str]:
        """The config ``partition_by``, field by field. Raises ConfigError for what is no partition field."""
        return partition_config.fields(partition_by, model)

    @available.parse_none
    def require_sql(self, model: Mapping[str, Any]) -> None:
        """Raise for a model in Python."""
        checks.require_sql(str(model["unique_id"]), str(model["language"]))

    # Seeds

    @available
    def seed_columns(self, agate_table: agate.Table, column_types: Mapping[str, str] | None) -> list[str]:
        """The column definitions of a seed."""
        inferred = self._seed_types(agate_table)
        return [f"{sql_name(n)} {t}" for n, t in zip(inferred, seeds.types_of(inferred, column_types), strict=False)]

    @available
    def seed_queries(
        self, agate_table: agate.Table, column_types: Mapping[str, str] | None, batch_size: int
    ) -> list[str]:
        """The rows of a seed as queries of at most a batch of rows."""
        inferred = self._seed_types(agate_table)
        return list(seeds.queries(list(inferred), seeds.types_of(inferred, column_types), agate_table.rows, batch_size))

    def _seed_types(self, agate_table: agate.Table) -> dict[str, str]:
        return {name: str(self.convert_type(agate_table, i)) for i, name in enumerate(agate_table.column_names)}

    # Comments

    @available
    def view_columns(self, names: list[str], columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """A view's column list, with the comments that the model gives."""
        comments = {str(name).lower(): column.get("description") for name, column in columns.items()}
        return [
            sql_name(name) + (f" comment {sql_string(comment)}" if (comment := comments.get(name.lower())) else "")
            for name in names
        ]

    @available.parse_list
    def comment_statements(
        self, relation: BaseRelation, description: str | None, columns: Mapping[str, Mapping[str, Any]]
    ) -> list[str]:
        """The statements that bring a table's comments up to the model's; none where they are."""
        if relation.is_view or not (description or columns):
            return []
        described = docs.describe(self._describe(relation))
        now = {column.name.lower(): column for column in described.columns}
        found = []
        if description and description != described.details.get("Comment"):
            found.append(f"comment on table {relation.render()} is {sql_string(description)}")
        changed = [
            f"{sql_name(now[name.lower()].name)} comment {sql_string(column['description'])}"
            for name, column in columns.items()
            if column.get("description") and column["description"] != now[name.lower()].comment
        ]
        return found + [f"alter table {relation.render()} alter column {change}" for change in changed]

    # Schemas and relations

    def list_schemas(self, database: str) -> list[str]:
        """The schemas of a catalog, whose name may come back-quoted; none while its warehouse is still to be made."""
        try:
            rows = self.connections.rows(f"show schemas in {sql_name(plain_name(database))}")
        except DbtDatabaseError as error:
            if _says(error, SCHEMA_NOT_FOUND_MESSAGES):
                self._require_catalog(plain_name(database))
                return []
            raise
        return [plain_name(str(row[0])) for row in rows]

    def check_schema_exists(self, database: str, schema: str) -> bool:
        """Whether a catalog has a schema."""
        return schema in self.list_schemas(database)

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """The tables and views of a schema, by two statements that load none of them; empty for a missing schema."""
        database = schema_relation.database or self.credentials.catalog
        schema = f"{sql_name(database)}.{sql_name(str(schema_relation.schema))}"
        try:
            tables = self.connections.rows(f"show tables in {schema}")
            views = self.connections.rows(f"show views in {schema}")
        except DbtDatabaseError as error:
            if _says(error, SCHEMA_NOT_FOUND_MESSAGES):
                self._require_catalog(database)
                return []
            raise
        # A temporary view is listed too, without a schema; spark_catalog lists a view among the tables as well.
        names = {str(row[1]): RelationType.Table for row in tables if not row[2]}
        names |= {str(row[1]): RelationType.View for row in views if not row[2]}
        iceberg = database != SESSION_CATALOG or None
        return [
            self.Relation.create(
                database=database,
                schema=schema_relation.schema,
                identifier=name,
                type=kind,
                is_iceberg=iceberg if kind == RelationType.Table else None,
            )
            for name, kind in names.items()
        ]

    @available.parse_list
    def relations_in(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """The tables and views of a schema as they are now."""
        return self.list_relations_without_caching(schema_relation)

    def _require_catalog(self, database: str) -> None:
        if database != SESSION_CATALOG:
            checks.require_catalog(database, self.spark_settings())

    def _make_match(
        self, relations_list: list[BaseRelation], database: str, schema: str, identifier: str
    ) -> list[BaseRelation]:
        def key(name: Any) -> str:
            return str(name).lower()

        alike = [r for r in relations_list if key(r.schema) == key(schema) and key(r.identifier) == key(identifier)]
        if self._folds_case(database):
            return alike
        exact = [r for r in alike if (r.schema, r.identifier) == (schema, identifier)]
        if alike and not exact:
            # dbt's cache holds one of two names that differ only in case, so it cannot tell which one there is.
            raise ApproximateMatchError(  # type: ignore[no-untyped-call]
                self.Relation.create(database, schema, identifier), alike[0]
            )
        return exact

    def _folds_case(self, database: str | None) -> bool:
        """Whether a catalog keeps names in lower case: a Hive metastore and Glue do, the others tell A from a."""
        if database == SESSION_CATALOG:
            return True
        settings = self.spark_settings()
        prefix = f"spark.sql.catalog.{database or self.credentials.catalog}"
        kind = settings.get(f"{prefix}.type") or settings.get(f"{prefix}.catalog-impl") or ""
        return kind.rsplit(".", 1)[-1].removesuffix("Catalog").lower() in ("hive", "glue")

    @available.parse_none
    def provider(self, relation: BaseRelation) -> str | None:
        """A table's format, such as ``iceberg`` or ``parquet``; None for a view or where there is no such table."""
        if getattr(relation, "is_iceberg", None):
            return ICEBERG
        if relation.is_view:
            return None
        return docs.describe(self._describe(relation)).provider

    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkIcebergColumn]:  # type: ignore[override]
        """The columns of a table or view, temporary ones too; empty where there is none."""
        return [
            SparkIcebergColumn(
                table_database=relation.database,
                table_schema=relation.schema,
                table_name=relation.identifier,
                table_type=relation.type,
                column=column.name,
                column_index=index,
                dtype=column.type,
            )
            for index, column in enumerate(self._columns(relation))
        ]

    def _columns(self, relation: BaseRelation) -> Sequence[docs.DescribedColumn]:
        """The columns of a relation, with their types in full: DESCRIBE cuts off the types of wide structs."""
        # Not EXTENDED: that has Iceberg plan the whole table, for its size.
        columns = docs.describe(self._describe(relation, extended="")).columns
        if not any(column.is_cut_off for column in columns):
            return columns
        types = ", ".join(f"typeof(r.{sql_name(column.name)})" for column in columns)
        rows = self.connections.rows(
            f"select {types} from (select 1) left join (select * from {relation.render()} where false) as r on true"
        )
        return [replace(column, type=str(type_)) for column, type_ in zip(columns, rows[0], strict=True)]

    def _describe(self, relation: BaseRelation, extended: str = "extended ") -> list[tuple[Any, ...]]:
        """The rows of DESCRIBE TABLE, by default EXTENDED; empty where there is no such table or view."""
        try:
            # The plain name: under --empty a relation writes itself as a sub-query.
            return self.connections.rows(f"describe table {extended}{relation.render()}")
        except DbtDatabaseError as error:
            if _says(error, TABLE_OR_VIEW_NOT_FOUND_MESSAGES):
                return []
            raise

    # Docs

    def get_catalog(
        self, relation_configs: Iterable[RelationConfig], used_schemas: Any
    ) -> tuple[agate.Table, list[Exception]]:
        """What `dbt docs generate` shows of every relation in the schemas that the project uses, in any catalog."""
        schemas = {(r.database, r.schema) for r in self._get_catalog_relations(relation_configs)}
        return self._catalog_of(
            [self.Relation.create(database=database, schema=schema) for database, schema in sorted(schemas)], None
        )

    def get_catalog_by_relations(self, used_schemas: Any, relations: Any) -> tuple[agate.Table, list[Exception]]:
        """The same for the relations that are given."""
        schemas = {(r.database, r.schema) for r in relations}
        names = {(r.database, r.schema, str(r.identifier).lower()) for r in relations}
        return self._catalog_of(
            [self.Relation.create(database=database, schema=schema) for database, schema in sorted(schemas)], names
        )

    def _catalog_of(
        self, schemas: list[SparkIcebergRelation], names: set[tuple[Any, Any, str]] | None
    ) -> tuple[agate.Table, list[Exception]]:
        with executor(self.config) as pool:
            futures = [
                pool.submit_connected(self, f"catalog_{schema.schema}", self._catalog_rows, schema, names)
                for schema in schemas
            ]
            tables, exceptions = catch_as_completed(futures)
        return tables, exceptions

    def _catalog_rows(self, schema: BaseRelation, names: set[tuple[Any, Any, str]] | None) -> agate.Table:
        relations = self.list_relations_without_caching(schema)
        if names is not None:
            relations = [r for r in relations if (r.database, r.schema, str(r.identifier).lower()) in names]
        return docs.table([docs.rows(r, docs.describe(self._describe(r)), self._stats(r)) for r in relations])

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """What the catalog knows of one relation; None where there is none."""
        described = docs.describe(self._describe(relation))
        return docs.catalog_table(relation, described, self._stats(relation)) if described.columns else None

    def _stats(self, relation: BaseRelation) -> docs.Stats:
        """Statistics that incremental processing adds, by id: label, value, description."""
        return {} if relation.is_view else self.ip_stats(relation)

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
        logger.info(f"  Spark {spark}, Iceberg {iceberg}, catalog {catalog} ({kind}), {schemas} schemas")

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


def _says(error: DbtDatabaseError, messages: Iterable[str]) -> bool:
    return any(message in str(error.msg) for message in messages)
