"""dbt's conformance suite: the base classes of dbt-tests-adapter, on Iceberg tables in a three-level catalog.

A class overrides fixtures where they are written in another database's SQL, never a test. docs/conformance.md lists the
classes that cannot apply.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent

# A minute's selection, across dbt's features; all others have the marker `thorough`.
CHOSEN = frozenset(
    {
        "TestSimpleMaterializations",
        "TestEphemeral",
        "TestGenericTests",
        "TestIncrementalUniqueKey",
        "TestSnapshotCheckCols",
        "TestPythonIncremental",
        "TestClone",
        "TestIncrementalConstraintsRollback",
        "TestListagg",
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the classes of this folder that are not chosen."""
    for item in items:
        if HERE in item.path.parents and isinstance(item, pytest.Function) and item.cls.__name__ not in CHOSEN:
            item.add_marker(pytest.mark.thorough)
