"""The interface of the adapter for the hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.contracts.connection import AdapterResponse

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.spark.port import Spark

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
