"""dbt's conformance suite: the base classes of dbt-tests-adapter, on Iceberg tables in a three-level catalog.

A class overrides fixtures that are written in another database's SQL, but never a test. README.md lists the
classes that cannot apply.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.contracts.graph import nodes
from dbt.tests.util import write_file

HERE = Path(__file__).parent
collect_ignore = [] if hasattr(nodes, "FunctionNode") else ["test_functions.py"]  # dbt-core 1.11 added functions

# A selection of one minute that covers dbt's features. All other classes have the marker `thorough`.
CHOSEN = frozenset(
    {
        "TestSimpleMaterializations",
        "TestEphemeral",
        "TestGenericTests",
        "TestIncrementalUniqueKey",
        "TestPythonIncremental",
        "TestIncrementalConstraintsRollback",
        "TestListagg",
    }
)


# The same classes on plain dbt-spark, which benchmarks/conformance.py counts.
ON_DBT_SPARK = os.environ.get("CONFORMANCE_OF") == "spark"


@pytest.fixture(scope="class")
def dbt_profile_target(embedded_target: dict[str, Any]) -> dict[str, Any]:
    """The profile of this adapter, or of dbt-spark on the same Spark and lakehouse."""
    if not ON_DBT_SPARK:
        return dict(embedded_target)
    return {"type": "spark", "method": "session", "host": "none", "threads": 4}  # it uses the Spark of this process


@pytest.fixture(scope="class")
def dbt_project_yml(project_root: Path, dbt_project_yml: dict[str, Any]) -> dict[str, Any]:
    """The project. With dbt-spark, its tables are Iceberg tables."""
    if ON_DBT_SPARK:
        for kind in ("models", "seeds", "snapshots"):
            dbt_project_yml[kind] = {"+file_format": "iceberg", **dbt_project_yml.get(kind, {})}
        write_file(yaml.safe_dump(dbt_project_yml), project_root, "dbt_project.yml")
    return dbt_project_yml


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the classes of this folder that are not chosen."""
    for item in items:
        if HERE in item.path.parents and isinstance(item, pytest.Function) and item.cls.__name__ not in CHOSEN:
            item.add_marker(pytest.mark.thorough)
