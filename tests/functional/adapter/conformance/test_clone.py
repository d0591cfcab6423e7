"""``dbt clone``: a table with the same files or, depending on a config, a copy or a view."""

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


def cloned_as(way: str) -> dict[str, Any]:
    config = {"+clone_as": way}
    return {"models": config, "seeds": {"test": {"quote_columns": False}, **config}, "snapshots": config}


class TestClone(Clean, BaseClonePossible):
    """The clones of tables have the same files."""


class TestCloneAsView(Clean, BaseCloneNotPossible):
    """The clones are views."""

    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return cloned_as("view")


class TestCloneAsTable(Clean, BaseClonePossible):
    """The clones are copies of the tables."""

    @pytest.fixture(scope="class")
    @classmethod
    def project_config_update(cls) -> dict[str, Any]:
        return cloned_as("table")


class TestCloneSameTargetAndState(Clean, BaseCloneSameTargetAndState):
    pass


class TestCloneSameSourceAndTarget(Clean, BaseCloneSameSourceAndTarget):
    pass
