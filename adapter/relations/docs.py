"""The catalog of `dbt docs generate`, from Spark's descriptions and table metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.types import CatalogGenerationError
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata
from dbt_common.events.functions import warn_or_error
from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.describe import Description, Stats
from iceberg_incremental.table.history import TableName

from .lookup import RelationLookup
from .many import over_many
from .relation import SparkIcebergRelation

if TYPE_CHECKING:
    import agate

Row = dict[str, Any]
FromMetadata = Callable[[MetadataReader, TableName], tuple[Description | None, Stats]]
"""Reads a table's description and statistics from its metadata. The description is None if the metadata lacks it."""


class DocsCatalog:
    """Descriptions of relations from Spark and table metadata, in dbt's format."""

    def __init__(
        self,
        adapter: SparkAdapter,
        lookup: RelationLookup,
        reader: Callable[[], MetadataReader],
        from_metadata: FromMetadata,
    ) -> None:
        self._adapter = adapter
        self._lookup = lookup
        self._reader = reader
        self._from_metadata = from_metadata

    def table(self, wanted: Iterable[BaseRelation]) -> tuple[agate.Table, list[Exception]]:
        """The catalog of the existing relations, and the errors of schemas and relations that are omitted.

        Relations of schemas that are not in dbt's cache are listed. The cache contains the schemas of compiled models.
        """
        keys = {_key(relation) for relation in wanted}
        schemas = [SparkIcebergRelation.create(*schema) for schema in sorted({key[:2] for key in keys})]
        found: dict[BaseRelation, None] = {}
        errors: list[Exception] = []
        for schema, listed in over_many(self._adapter, "catalog", schemas, self._relations):
            if isinstance(listed, DbtRuntimeError):
                errors.append(_left_out(schema, listed))
            else:
                found |= dict.fromkeys(relation for relation in listed if _key(relation) in keys)
        entries: dict[BaseRelation, list[Row]] = {}
        for relation, result in over_many(self._adapter, "catalog", found, self._documentation):
            if isinstance(result, DbtRuntimeError):
                errors.append(_left_out(relation, result))
            else:
                entries[relation] = rows(relation, *result)
        return table(entries[relation] for relation in found if relation in entries), errors

    def entry(self, relation: BaseRelation) -> CatalogTable | None:
        """The catalog entry of a relation. None if it does not exist."""
        described, stats = self._documentation(relation)
        return catalog_table(relation, described, stats) if described.columns else None

    def _relations(self, schema: BaseRelation) -> list[BaseRelation]:
        found: list[BaseRelation] = self._adapter.list_relations(schema.database, str(schema.schema))
        return found

    def _documentation(self, relation: BaseRelation) -> tuple[Description, Stats]:
        """A relation's columns, comments and statistics, from its metadata or, if this fails, from Spark."""
        if relation.is_view:
            return self._lookup.description(relation), {}
        described, stats = self._from_metadata(self._reader(), self._lookup.table_name(relation))
        return described or self._lookup.description(relation), stats


def _key(relation: BaseRelation) -> tuple[str, str, str]:
    return str(relation.database), str(relation.schema), str(relation.identifier).lower()


def _left_out(relation: BaseRelation, error: DbtRuntimeError) -> DbtRuntimeError:
    """The error for a relation without a catalog entry. It is also logged."""
    named = DbtRuntimeError(f"The catalog has no entry for {relation.render()}: {error.msg}")
    warn_or_error(CatalogGenerationError(exc=str(named)))
    return named


def rows(relation: BaseRelation, described: Description, stats: Stats) -> list[Row]:
    """The catalog rows of a relation: one per column, with the statistics in each row."""
    entry = catalog_table(relation, described, stats)
    table: Row = {f"table_{key}": value for key, value in vars(entry.metadata).items()}
    for key, item in entry.stats.items():
        table |= {f"stats:{key}:{name}": getattr(item, name) for name in ("label", "value", "description", "include")}
    return [
        {**table, **{f"column_{key}": value for key, value in vars(column).items()}}
        for column in entry.columns.values()
    ]


def table(relations: Iterable[list[Row]]) -> agate.Table:
    """The catalog rows as one table. A statistic that a relation lacks is null, which dbt omits."""
    from dbt_common.clients.agate_helper import table_from_data_flat

    all_rows = [row for relation in relations for row in relation]
    names = dict.fromkeys(name for row in all_rows for name in row)
    return table_from_data_flat([{**names, **row} for row in all_rows], list(names))


def catalog_table(relation: BaseRelation, described: Description, stats: Stats) -> CatalogTable:
    """The catalog entry of a relation."""
    return CatalogTable(
        metadata=TableMetadata(
            type=str(relation.type),
            schema=str(relation.schema),
            name=str(relation.identifier),
            database=relation.database,
            comment=described.details.get("Comment") or None,
            owner=described.details.get("Owner") or None,
        ),
        columns={
            c.name: ColumnMetadata(type=c.type, index=i, name=c.name, comment=c.comment)
            for i, c in enumerate(described.columns, start=1)
        },
        stats={
            key: StatsItem(id=key, label=label, value=value, description=text, include=True)
            for key, (label, value, text) in {**described.stats, **stats}.items()
        },
    )
