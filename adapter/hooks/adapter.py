"""What the hooks ask of the adapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.contracts.connection import AdapterResponse

from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.describe import Description
from iceberg_incremental.spark.port import Spark
from iceberg_incremental.table.history import TableName

from ..spark.python_models import PythonModel


class Adapter(Protocol):
    """The adapter, as far as incremental processing needs it; methods without a text are dbt's own."""

    Relation: Any
    config: Any

    @property
    def spark(self) -> Spark:
        """Spark by this thread's connection."""
        ...

    def metadata_reader(self) -> MetadataReader:
        """The reader of table metadata for this profile."""
        ...

    def table_name(self, relation: BaseRelation) -> TableName:
        """The three parts of a relation's name."""
        ...

    def provider(self, relation: BaseRelation) -> str | None:
        """A table's format; None for a view or where there is no such table."""
        ...

    def description(self, relation: BaseRelation, *, extended: bool = True) -> Description:
        """What DESCRIBE TABLE [EXTENDED] says of a relation."""
        ...

    def table_properties(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The table properties that a model's config asks for, those of its catalog included."""
        ...

    def run_python(self, model: PythonModel, view: str, *, once: bool) -> None:
        """Run a model in Python, and make a temporary view of its result; ``once``: its rows are computed once."""
        ...

    def get_relation(self, database: str, schema: str, identifier: str) -> BaseRelation | None:  # noqa: D102
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
