"""The page on operations names all that ip_status, ip_maintain and the result of a run hold."""

from __future__ import annotations

from dataclasses import fields

import pytest

from dbt.adapters.spark_iceberg.incremental.capture.run import Action
from dbt.adapters.spark_iceberg.incremental.operations.status import ModelStatus, SourceStatus
from dbt.adapters.spark_iceberg.incremental.plan.policy import Cause
from dbt.adapters.spark_iceberg.incremental.plan.ranges import Kind
from dbt.adapters.spark_iceberg.incremental.upkeep.compaction import DataRewrite, DeleteRewrite, ManifestRewrite
from dbt.adapters.spark_iceberg.incremental.upkeep.expiry import Expiry
from dbt.adapters.spark_iceberg.incremental.upkeep.tables import Action as UpkeepAction
from website import DOCS

PAGE = (DOCS / "operations.md").read_text(encoding="utf-8")
SHOWN = (ModelStatus, SourceStatus, Expiry, DataRewrite, DeleteRewrite, ManifestRewrite)
FIELDS = [field.name for shown in SHOWN for field in fields(shown) if field.name != "paths"]


@pytest.mark.parametrize(
    "name", [*FIELDS, *(each.value for kind in (Action, Cause, Kind, UpkeepAction) for each in kind)]
)
def test_each_field_and_each_of_its_values_is_explained(name):
    assert f"`{name}`" in PAGE
