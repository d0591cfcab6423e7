"""Names with three levels: catalog, schema and identifier."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dbt.adapters.base.column import Column
from dbt.adapters.base.relation import Policy
from dbt.adapters.contracts.relation import ComponentName
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.relation import SparkRelation

from iceberg_incremental.sql import namespace_sql, sql_name
from iceberg_incremental.table.types import INTEGERS, parsed


@dataclass(frozen=True, eq=False, repr=False)
class SparkIcebergRelation(SparkRelation):
    """A table or view with its catalog (dbt's database), schema and identifier, each back-quoted.

    Dots in the schema separate the levels of a namespace, and each level is back-quoted.
    """

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
        if ComponentName.Schema in parts and self.quote_policy.schema:
            parts[ComponentName.Schema] = namespace_sql(str(self.schema))
        if ComponentName.Identifier in parts and ComponentName.Schema not in parts:
            parts.pop(ComponentName.Database, None)
        at = [] if self.branch is None else [sql_name(f"branch_{self.branch}")]
        at += [] if self.snapshot_id is None else [sql_name(f"snapshot_id_{self.snapshot_id}")]
        return ".".join([*parts.values(), *at])

    def quoted(self, identifier: str) -> str:
        """A part of the name, back-quoted."""
        return sql_name(identifier)


_UNBOUNDED = 2**31 - 1


@dataclass
class SparkIcebergColumn(SparkColumn):
    """A column. ``dtype`` is a Spark SQL type, such as ``bigint`` or ``decimal(10,2)``."""

    @property
    def quoted(self) -> str:
        """The name, back-quoted."""
        return sql_name(self.column)

    @property
    def _base(self) -> str:
        """The normalized name of the type, without its parameters."""
        return parsed(re.split(r"[(<\s]", self.dtype.strip(), maxsplit=1)[0]).name

    def is_integer(self) -> bool:
        """Whether the type is an integer type."""
        return self._base in INTEGERS

    def is_float(self) -> bool:
        """Whether the type is float or double."""
        return self._base in ("float", "double")

    def is_numeric(self) -> bool:
        """Whether the type is a decimal."""
        return self._base == "decimal"

    def is_string(self) -> bool:
        """Whether the type is string, varchar or char."""
        return self._base == "string"

    def string_size(self) -> int:
        """The length of varchar(n) and char(n). For string, the maximum length."""
        size = re.search(r"\((\d+)\)", self.dtype)
        return int(size.group(1)) if size else _UNBOUNDED

    @classmethod
    def string_type(cls, size: int) -> str:
        """The type of strings with a given length."""
        return "string" if size >= _UNBOUNDED else f"varchar({size})"

    def can_expand_to(self, other_column: Column) -> bool:
        """Whether both are string types and the other one is longer."""
        return self.is_string() and other_column.is_string() and other_column.string_size() > self.string_size()
