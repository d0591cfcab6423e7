"""The lookup of schemas, tables and views for dbt, with statements that load no tables.

The names in the embedded lakehouse are read from its SQLite file, which takes no session and no statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.exceptions import ApproximateMatchError
from dbt.adapters.spark.impl import SCHEMA_NOT_FOUND_MESSAGES, TABLE_OR_VIEW_NOT_FOUND_MESSAGES
from dbt_common.exceptions import DbtDatabaseError

from iceberg_incremental.metadata.describe import Description, describe
from iceberg_incremental.sql import namespace_sql, namespaces_around, plain_name, sql_name, sql_string
from iceberg_incremental.table.history import TableName
from iceberg_incremental.table.layout import DescribedColumn

from ..as_dbt import dbt_error
from ..spark import checks
from ..spark.checks import SESSION_CATALOG
from ..spark.connections import SparkIcebergConnectionManager
from ..spark.in_process import catalog_file
from .relation import SparkIcebergColumn, SparkIcebergRelation

ICEBERG = "iceberg"


class RelationLookup:
    """The existing schemas, tables and views, and their descriptions."""

    def __init__(
        self,
        connections: SparkIcebergConnectionManager,
        default_catalog: str,
        settings: Callable[[], Mapping[str, str]],
    ) -> None:
        """``default_catalog``: the profile's catalog. ``settings``: returns Spark's settings of its catalogs."""
        self._rows = connections.rows
        self._catalog_file = connections.catalog_file
        self._default_catalog = default_catalog
        self._settings = settings
        self._listed: dict[str, frozenset[str]] = {}

    def table_name(self, relation: BaseRelation) -> TableName:
        """A relation's name in Spark. A relation without a catalog is in the profile's catalog."""
        return TableName(relation.database or self._default_catalog, str(relation.schema), str(relation.identifier))

    def schemas(self, catalog: str) -> list[str]:
        """The schemas of a catalog, whose name may be back-quoted. Empty before its warehouse has been created."""
        catalog = plain_name(catalog)
        file = self._catalog_file(catalog)
        if file is not None:
            found = catalog_file.schemas(file, catalog)
        else:
            try:
                rows = self._rows(f"show schemas in {sql_name(catalog)}")
            except DbtDatabaseError as error:
                if _says(error, SCHEMA_NOT_FOUND_MESSAGES):
                    self.require_catalog(catalog)
                    return []
                raise
            found = [plain_name(str(row[0])) for row in rows]
        self._listed[catalog] = frozenset(found)
        return found

    def has_schema(self, catalog: str, schema: str) -> bool:
        """Whether a catalog has a schema. A listing of the catalog contains only the first level of its namespaces."""
        if "." not in schema:
            return schema in self.schemas(catalog)
        try:
            self._rows(f"describe schema {namespace_sql(schema, catalog)}")
        except DbtDatabaseError as error:
            if _says(error, SCHEMA_NOT_FOUND_MESSAGES):
                return False
            raise
        return True

    def schemas_within(self, catalog: str, schema: str | None = None) -> Iterator[str]:
        """The schemas of a catalog or a schema, followed by those within them, and so on."""
        if schema is None:
            found = [each for each in self.schemas(catalog) if "." not in each]
        else:
            rows = self._rows(f"show schemas in {namespace_sql(schema, catalog)}")
            found = [".".join(map(plain_name, str(row[0]).split("."))) for row in rows]
        for each in found:
            yield each
            yield from self.schemas_within(catalog, each)

    def missing_levels(self, relation: BaseRelation) -> list[BaseRelation]:
        """The schemas to create for a schema of several levels: those around it, and itself. Empty if it exists.

        Some catalogs create a schema only in an existing one. Raises DbtRuntimeError if the catalog has only one level.
        """
        catalog, schema = relation.database or self._default_catalog, str(relation.schema)
        if "." not in schema:
            return [relation.without_identifier()]
        if self._folds_case(catalog):
            raise dbt_error(
                f"The schema `{schema}` has several levels.",
                expected=f"a schema of one level in the catalog `{catalog}`. Hive metastores and Glue have no others.",
                fix=f"set a `schema` without dots, such as `{schema.replace('.', '_')}`.",
            )
        if self.has_schema(catalog, schema):
            return []
        return [SparkIcebergRelation.create(relation.database, each) for each in namespaces_around(schema)]

    def is_overlooked(self, relation: BaseRelation) -> bool:
        """Whether dbt may not have created a relation's schema, because a schema has this name in another case.

        Sends no statement. In a catalog that stores names in lower case, such names refer to the same schema.
        """
        catalog, schema = relation.database or self._default_catalog, str(relation.schema)
        listed = self._listed.get(catalog, frozenset())
        if schema in listed or schema.lower() not in {each.lower() for each in listed}:
            return False
        return not self._folds_case(catalog)

    def _folds_case(self, catalog: str) -> bool:
        return folds_case(catalog, {} if catalog == SESSION_CATALOG else self._settings())

    def relations_in(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """The tables and views of a schema. Empty for a missing schema."""
        catalog = schema_relation.database or self._default_catalog
        file = self._catalog_file(catalog)
        if file is not None:
            are_views = catalog_file.relations(file, catalog, str(schema_relation.schema))
        else:
            are_views = self._shown(catalog, str(schema_relation.schema))
        iceberg = catalog != SESSION_CATALOG or None
        return [
            SparkIcebergRelation.create(
                database=catalog,
                schema=schema_relation.schema,
                identifier=name,
                type=RelationType.View if is_view else RelationType.Table,
                is_iceberg=None if is_view else iceberg,
            )
            for name, is_view in are_views.items()
        ]

    def _shown(self, catalog: str, schema: str) -> dict[str, bool]:
        """The tables and views that Spark lists in a schema, each with whether it is a view."""
        name = namespace_sql(schema, catalog)
        try:
            tables = self._rows(f"show tables in {name}")
            views = self._rows(f"show views in {name}")
        except DbtDatabaseError as error:
            if _says(error, SCHEMA_NOT_FOUND_MESSAGES):
                self.require_catalog(catalog)
                return {}
            raise
        # Temporary views are listed as temporary, and are skipped. spark_catalog also lists views among the tables.
        found = {str(row[1]): False for row in tables if not row[2]}
        return found | {str(row[1]): True for row in views if not row[2]}

    def require_catalog(self, catalog: str) -> None:
        """Raise DbtRuntimeError unless the catalog is configured in Spark."""
        if catalog != SESSION_CATALOG:
            checks.require_catalog(catalog, self._settings())

    def matching(
        self, relations: Sequence[BaseRelation], database: str, schema: str, identifier: str
    ) -> list[BaseRelation]:
        """The relations with a name. Raises ApproximateMatchError if the name differs only in case.

        In a catalog that stores names in lower case, such names refer to the same relation.
        """
        wanted = identifier.lower(), schema.lower()
        alike = [r for r in relations if (str(r.identifier).lower(), str(r.schema).lower()) == wanted]
        if self._folds_case(database or self._default_catalog):
            return alike
        exact = [r for r in alike if (r.schema, r.identifier) == (schema, identifier)]
        if alike and not exact:
            # If two names differ only in case, dbt's cache contains only one of them, so it is unknown which exist.
            raise ApproximateMatchError(  # type: ignore[no-untyped-call]
                SparkIcebergRelation.create(database, schema, identifier), alike[0]
            )
        return exact

    def provider(self, relation: BaseRelation) -> str | None:
        """A table's format, such as ``iceberg`` or ``parquet``. None for a view, or if the table does not exist."""
        if getattr(relation, "is_iceberg", None):
            return ICEBERG
        if relation.is_view:
            return None
        return self.description(relation).provider

    def columns(self, relation: BaseRelation) -> list[SparkIcebergColumn]:
        """The columns of a table or view, including temporary views. Empty if it does not exist."""
        return self.described(relation, self._described_columns(relation))

    def described(self, relation: BaseRelation, columns: Iterable[DescribedColumn]) -> list[SparkIcebergColumn]:
        """The columns of a relation whose names and types are known."""
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
            for index, column in enumerate(columns)
        ]

    def _described_columns(self, relation: BaseRelation) -> Sequence[DescribedColumn]:
        """The columns of a relation with complete types. DESCRIBE truncates the types of wide structs."""
        # With EXTENDED, Iceberg would plan the whole table to determine its size.
        columns = self.description(relation, extended=False).columns
        if not any(column.is_cut_off for column in columns):
            return columns
        types = ", ".join(f"typeof(r.{sql_name(column.name)})" for column in columns)
        rows = self._rows(
            f"select {types} from (select 1) left join (select * from {relation.render()} where false) as r on true"
        )
        return [replace(column, type=str(type_)) for column, type_ in zip(columns, rows[0], strict=True)]

    def description(self, relation: BaseRelation, *, extended: bool = True) -> Description:
        """The result of DESCRIBE TABLE [EXTENDED]. ``columns`` is empty if the relation does not exist."""
        try:
            # render() returns the plain name. With --empty, str() returns a subquery.
            rows = self._rows(f"describe table {'extended ' if extended else ''}{relation.render()}")
        except DbtDatabaseError as error:
            if _says(error, TABLE_OR_VIEW_NOT_FOUND_MESSAGES):
                return describe([])
            raise
        return describe(rows)


def folds_case(catalog: str, settings: Mapping[str, str]) -> bool:
    """Whether a catalog stores names in lower case, like a Hive metastore and Glue."""
    prefix = f"spark.sql.catalog.{catalog}"
    kind = settings.get(f"{prefix}.type") or settings.get(f"{prefix}.catalog-impl") or ""
    return catalog == SESSION_CATALOG or kind.rsplit(".", 1)[-1].removesuffix("Catalog").lower() in ("hive", "glue")


def _says(error: DbtDatabaseError, messages: Iterable[str]) -> bool:
    return any(message in str(error.msg) for message in messages)


class Listing:
    """Lists the tables and views of a catalog."""

    def __init__(self, lookup: RelationLookup, default_catalog: str) -> None:
        self._lookup = lookup
        self._default_catalog = default_catalog

    def query(self, database: str | None, schema_pattern: str, table_pattern: str, exclude: str) -> str:
        """A query of the matching tables, with `table_schema`, `table_name` and `table_type` (`table` or `view`).

        The patterns are those of ILIKE. Only matching schemas are listed. A pattern without a dot matches schemas of
        one level, because each schema takes a statement to find the schemas within it.
        """
        catalog = database or self._default_catalog
        nested = "." in schema_pattern
        schemas = self._lookup.schemas_within(catalog) if nested else self._lookup.schemas(catalog)
        is_schema, is_table, is_excluded = map(ilike, (schema_pattern, table_pattern, exclude))
        found = [
            f"({sql_string(schema)}, {sql_string(relation.identifier)}, {sql_string(relation.type)})"
            for schema in schemas
            if is_schema.fullmatch(schema) and nested == ("." in schema)
            for relation in self._lookup.relations_in(SparkIcebergRelation.create(database=catalog, schema=schema))
            if is_table.fullmatch(str(relation.identifier)) and not is_excluded.fullmatch(str(relation.identifier))
        ]
        # VALUES cannot be empty
        rows = ", ".join([*found, "(null, null, null)"])
        return (
            f"select * from values {rows} as listed(table_schema, table_name, table_type) where table_name is not null"
        )


def ilike(pattern: str) -> re.Pattern[str]:
    """An ILIKE pattern as a regular expression. `%` matches any text, `_` any character. A backslash escapes both."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wildcards = {"%": ".*", "_": "."}
    return re.compile("".join(wildcards.get(part) or re.escape(part[-1]) for part in parts), re.DOTALL | re.IGNORECASE)
