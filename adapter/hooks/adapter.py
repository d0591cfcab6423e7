"""The interface of the adapter for the hooks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.table.history import TableName

from ..project import graph as project
from ..project.graph import Node
from ..relations.lookup import RelationLookup
from ..relations.tables import Tables
from ..spark.connections import SparkIcebergConnectionManager


class Adapter(Protocol):
    """The part of the adapter that the hooks need. Methods without a docstring are dbt's own."""

    Relation: Any
    config: Any
    lookup: RelationLookup
    tables: Tables
    connections: SparkIcebergConnectionManager

    @property
    def behavior(self) -> Any:
        """The behavior flags of dbt."""

    @property
    def spark(self) -> Spark:
        """The interface to Spark over this thread's connection."""

    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata for this profile."""

    def get_relation(self, database: str, schema: str, identifier: str) -> BaseRelation | None:  # noqa: D102
        ...

    def create_schema(self, relation: BaseRelation) -> None:
        """Create the schema of a relation if it does not exist."""

    def drop_relation(self, relation: BaseRelation) -> None:  # noqa: D102
        ...

    def get_columns_in_relation(self, relation: BaseRelation) -> Sequence[Column]:  # noqa: D102
        ...

    def execute(self, sql: str, auto_begin: bool = False, fetch: bool = False) -> tuple[AdapterResponse, Any]:  # noqa: D102
        ...

    def execute_macro(  # noqa: D102
        self,
        macro_name: str,
        *,
        project: str | None = None,
        context_override: dict[str, Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> Any: ...

    def get_macro_resolver(self) -> Any:  # noqa: D102
        ...


class TablesInUse:
    """Converts between dbt's nodes and relations and table names."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    @property
    def default_catalog(self) -> str:
        """The default catalog of relations."""
        return str(self._adapter.config.credentials.database)

    def named(self, graph: Mapping[str, Any]) -> project.ProjectTables:
        """The tables of the project's nodes."""
        return project.ProjectTables(graph, self.default_catalog)

    def in_use(self, node: Node, selected: Collection[str]) -> TableName:
        """The table of a node's ref() or source(). With --defer, it may be the table of another environment.

        ``selected``: the unique ids that this invocation builds. As in dbt, the node's own table is used if it exists,
        unless --favor-state prefers the other environment for nodes that are not selected.
        """
        own, deferred = project.table_of(node, self.default_catalog), node.get("defer_relation")
        if not deferred:
            return own
        favors = getattr(getattr(self._adapter.config, "args", None), "FAVOR_STATE", False)
        if favors and node["unique_id"] not in selected:
            return project.table_of(deferred, self.default_catalog)
        found = self._adapter.get_relation(own.catalog, own.namespace, own.name)
        return project.table_of(deferred, self.default_catalog) if found is None else own

    def column_types(self, relation: BaseRelation) -> Mapping[str, str]:
        """The Spark types of a relation's columns, by name."""
        return {column.name: str(column.dtype) for column in self._adapter.get_columns_in_relation(relation)}

    def relation(self, name: TableName) -> BaseRelation:
        """The dbt relation of a table."""
        found: BaseRelation = self._adapter.Relation.create(
            database=name.catalog, schema=name.namespace, identifier=name.name, type=RelationType.Table
        )
        return found
