"""The pages about operations and the status explain all fields of their results."""

from __future__ import annotations

from dataclasses import fields

import pytest

from dbt.adapters.spark_iceberg.status.explanation import (
    Explanation,
    NextRun,
    PendingRange,
)
from dbt.adapters.spark_iceberg.status.last_command import LastCommand, NodeResult
from dbt.adapters.spark_iceberg.status.model_status import ModelStatus, SourceStatus
from dbt.adapters.spark_iceberg.status.project_status import (
    CommitView,
    Edge,
    ModelView,
    ProjectStatus,
    TableView,
)
from dbt.adapters.spark_iceberg.status.runs import ReadView, RunView
from dbt.adapters.spark_iceberg.status.verification import Verification
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.maintenance.compaction import DataRewrite, DeleteRewrite, ManifestRewrite
from iceberg_incremental.maintenance.expiry import Expiry
from iceberg_incremental.maintenance.table_plan import StepKind
from iceberg_incremental.plan.policy import Cause
from iceberg_incremental.plan.ranges import Kind
from iceberg_incremental.query.rules.sources import Restriction
from iceberg_incremental.table.commits import Effect
from iceberg_incremental.table.lateness import Lateness
from iceberg_incremental.table.shares import Share
from iceberg_incremental.verify.found import Found, Result
from iceberg_incremental.write.auto.update_method import NotIncremental, ReadRows, UpdateMethod
from website import DOCS

PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("operations.md", "status.md", "verify.md"))
PARTS = (
    *(ModelStatus, SourceStatus, ProjectStatus, ModelView, RunView, ReadView, TableView, CommitView, Edge),
    *(LastCommand, NodeResult),
    *(Explanation, UpdateMethod, NextRun, NotIncremental, PendingRange, ReadRows, Restriction),
    *(Share, Lateness, Expiry, DataRewrite, DeleteRewrite, ManifestRewrite, Verification, Found),
)
FIELDS = dict.fromkeys(field.name for part in PARTS for field in fields(part) if field.name not in ("status", "paths"))
VALUES = [each.value for kind in (Action, Cause, Kind, Effect, StepKind, Result) for each in kind]


@pytest.mark.parametrize("name", [*FIELDS, *VALUES])
def test_each_field_and_value_is_explained(name):
    assert f"`{name}`" in PAGE
