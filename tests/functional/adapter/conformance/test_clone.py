"""``dbt clone``: a view, or by a config a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseCloneNotPossible,
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)


class Clean:
    @pytest.fixture(autouse=True)
    @classmethod
    def drop_schemas(cls, project: Any) -> Iterator[None]:
        yield
        with project.adapter.connection_named("__test"):
            for schema in (f"{project.test_schema}_seeds", project.test_schema):
                project.adapter.drop_schema(project.adapter.Relation.create(project.database, schema))


class TestClone(Clean, BaseCloneNotPossible):
    """What is cloned becomes a view."""


class TestCloneAsTable(Clean, BaseClonePossible):
    """Tables are copied."""

    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        copied = {"+clone_as": "table"}
        return {
            "models": copied,
            "seeds": {"test": {"quote_columns": False}, **copied},
            "snapshots": copied,
        }


class TestCloneSameTargetAndState(Clean, BaseCloneSameTargetAndState):
    pass


class TestCloneSameSourceAndTarget(Clean, BaseCloneSameSourceAndTarget):
    pass
