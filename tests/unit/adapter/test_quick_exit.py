"""The end of dbt's processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.argv = [{name!r}]
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 0))  # runs after what is registered later
from dbt.adapters.spark_iceberg.spark import interrupt
interrupt.skip_last_collection()
"""


@pytest.mark.parametrize(("name", "frozen"), [("/bin/dbt", True), ("dbt-spark-iceberg", True), ("worker.py", False)])
def test_only_dbts_own_commands_end_without_a_search_for_unused_objects(name, frozen):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == str(frozen)
