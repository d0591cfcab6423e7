"""Ends a dbt command without Python's last search for unused objects, which takes more than half a second.

A dbt process has about a million objects. When it ends, Python searches all of them for cycles several times, although
the operating system frees the memory anyway.
"""

from __future__ import annotations

import atexit
import gc
import sys
from functools import cache
from pathlib import Path

_COMMANDS = ("dbt", "dbt-spark-iceberg")


@cache
def prepare() -> None:
    """Exclude all objects from the search when this process ends. Programs that call dbt are left as they are."""
    if Path(sys.argv[0]).stem in _COMMANDS:
        atexit.register(gc.freeze)
