"""The page on operations names all that ip_status and the result of a run hold."""

from __future__ import annotations

from dataclasses import fields

import pytest

from dbt.adapters.spark_iceberg.incremental.capture.run import Action
from dbt.adapters.spark_iceberg.incremental.operations.status import ModelStatus, SourceStatus
from dbt.adapters.spark_iceberg.incremental.plan.policy import Cause
from dbt.adapters.spark_iceberg.incremental.plan.ranges import Kind
from website import DOCS

PAGE = (DOCS / "operations.md").read_text(encoding="utf-8")
FIELDS = [field.name for status in (ModelStatus, SourceStatus) for field in fields(status)]


@pytest.mark.parametrize("name", [*FIELDS, *(each.value for kind in (Action, Cause, Kind) for each in kind)])
def test_each_field_and_each_of_its_values_is_explained(name):
    assert f"`{name}`" in PAGE
