"""What dbt's start imports, and how often Python's garbage collector visits all of it."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from dbt.adapters.spark_iceberg.spark.interrupt import collect_rarely

_START = """
import sys
import dbt.adapters.spark_iceberg.ip, dbt.adapters.spark_iceberg.operations.documentation
print(*sorted({"sqlglot", "pyspark", "pyiceberg", "sqlalchemy", "pandas", "pyarrow", "plotly"} & sys.modules.keys()))
"""


def test_the_start_imports_no_package_that_only_some_runs_need():
    printed = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == ""


@pytest.mark.parametrize(("before", "after"), [(10, 50), (80, 80)])
def test_full_collections_are_rarer_but_never_more_frequent_than_before(before: int, after: int):
    thresholds = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, before)
        collect_rarely()
        assert gc.get_threshold() == (700, 10, after)
    finally:
        gc.set_threshold(*thresholds)
