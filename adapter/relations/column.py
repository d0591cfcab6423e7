"""Columns with the types of Spark's DESCRIBE."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn

from iceberg_incremental.sql import sql_name
from iceberg_incremental.table.spark_types import INTEGERS, parsed

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
