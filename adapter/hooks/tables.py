"""The tables that dbt's nodes and relations stand for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.relation import RelationType

from iceberg_incremental.table.history import TableName

from ..project import graph as project
from ..project.graph import Node
from .adapter import Adapter


class TablesInUse:
    """Names of tables, and their relations."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    @property
    def default_catalog(self) -> str:
        """The catalog of a relation that names none."""
        return str(self._adapter.config.credentials.database)

    def named(self, graph: Mapping[str, Any]) -> project.ProjectTables:
        """The own tables of the project's nodes."""
        return project.ProjectTables(graph, self.default_catalog)

    def in_use(self, node: Node, selected: Collection[str]) -> TableName:
        """The table that dbt's ref() or source() gives for a node: under --defer that of another environment.

        ``selected``: the unique ids that this invocation builds. The rule is dbt's: the own table, where there is one,
        unless --favor-state prefers the other for what is not selected.
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
        """The types of a relation's columns by their names, both as Spark has them."""
        return {column.name: str(column.dtype) for column in self._adapter.get_columns_in_relation(relation)}

    def relation(self, name: TableName) -> BaseRelation:
        """A table as a relation of dbt."""
        found: BaseRelation = self._adapter.Relation.create(
            database=name.catalog, schema=name.namespace, identifier=name.name, type=RelationType.Table
        )
        return found
