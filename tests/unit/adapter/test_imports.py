"""What dbt's start imports. Each of these packages takes a tenth of a second or more, also in runs without news."""

from __future__ import annotations

import subprocess
import sys

_START = """
import sys
import dbt.adapters.spark_iceberg.ip, dbt.adapters.spark_iceberg.operations.documentation
print(*sorted({"sqlglot", "pyspark", "pyiceberg", "sqlalchemy", "pandas", "pyarrow", "plotly"} & sys.modules.keys()))
"""


def test_the_start_imports_no_package_that_only_some_runs_need():
    printed = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == ""
