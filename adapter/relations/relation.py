"""Names with three levels: catalog, schema and identifier."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.base.relation import Policy
from dbt.adapters.contracts.relation import ComponentName
from dbt.adapters.spark.relation import SparkRelation

from iceberg_incremental.sql import sql_name


@dataclass(frozen=True, eq=False, repr=False)
class SparkIcebergRelation(SparkRelation):
    """A table or view with its catalog (dbt's database), schema and identifier, each back-quoted."""

    quote_policy: Policy = field(default_factory=Policy)
    include_policy: Policy = field(default_factory=Policy)
    is_iceberg: bool | None = None
    branch: str | None = None
    snapshot_id: int | None = None

    def __post_init__(self) -> None:
        """Accept any catalog. dbt-spark's check supports only two levels."""

    def render(self) -> str:
        """The name in Spark SQL, with the branch or snapshot of an Iceberg table, if there is one.

        A name without a schema is a temporary view, which has no catalog.
        """
        parts = {component: part for component, part in self._render_iterator() if part is not None}
        if ComponentName.Identifier in parts and ComponentName.Schema not in parts:
            parts.pop(ComponentName.Database, None)
        at = [] if self.branch is None else [sql_name(f"branch_{self.branch}")]
        at += [] if self.snapshot_id is None else [sql_name(f"snapshot_id_{self.snapshot_id}")]
        return ".".join([*parts.values(), *at])

    def quoted(self, identifier: str) -> str:
        """A part of the name, back-quoted."""
        return sql_name(identifier)
