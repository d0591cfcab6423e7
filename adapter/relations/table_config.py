"""The configs of models that dbt knows of this adapter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.spark.impl import SparkConfig

from .lookup import ICEBERG


@dataclass
class SparkIcebergConfig(SparkConfig):
    """The configs of a model; tables are Iceberg's unless the model says otherwise."""

    file_format: str = ICEBERG
    tblproperties: dict[str, Any] | None = None
    merge_update_columns: list[str] | str | None = None  # type: ignore[assignment]
    merge_exclude_columns: list[str] | str | None = None
