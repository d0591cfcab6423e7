"""Starts the Spark of the embedded lakehouse while dbt parses the project, before the first statement."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.jvm import jars

from ...profile.credentials import Method, SparkIcebergCredentials

# dbt's names of the commands that execute statements after parsing.
_SENDING = frozenset(
    {
        *("build", "clone", "compile", "freshness", "generate", "retry", "run", "run-operation"),
        *("seed", "show", "snapshot", "test"),
    }
)


def begin(credentials: SparkIcebergCredentials, command: str | None, meanwhile: Callable[[], object]) -> None:
    """Start Spark in a separate thread, if the command needs it and nothing must be downloaded first.

    ``command``: dbt's name of the command; None outside of a command. ``meanwhile``: called in another thread, since
    this process is idle while the JVM starts. The first connection waits until Spark is running. If the start fails,
    the connection starts Spark itself, and raises the error.
    """
    if command not in _SENDING or credentials.method != Method.SESSION or credentials.folder is None:
        return
    # The first connection reports missing packages and other errors. Spark's thin client has no SparkContext.
    with suppress(ImportError, DbtRuntimeError):
        from pyspark import SparkContext

        from .session import wanted_confs

        if SparkContext._active_spark_context is None and not jars.missing(wanted_confs(credentials)):
            start = threading.Thread(target=copy_context().run, args=(_open, credentials), name="start", daemon=True)
            start.start()
            threading.Thread(target=meanwhile, name="meanwhile", daemon=True).start()


def _open(credentials: SparkIcebergCredentials) -> None:
    from .session import open_session

    with suppress(Exception):
        open_session(credentials).close()
