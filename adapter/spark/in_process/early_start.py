"""The embedded lakehouse's Spark starts while dbt parses the project, not at the first statement."""

from __future__ import annotations

import threading
from contextlib import suppress
from contextvars import copy_context

from dbt_common.exceptions import DbtRuntimeError

from ...profile.credentials import Method, SparkIcebergCredentials
from . import jars

# dbt's commands, as it names them itself, that send statements after they have parsed the project.
_SENDING = frozenset(
    {
        *("build", "clone", "compile", "freshness", "generate", "retry", "run", "run-operation"),
        *("seed", "show", "snapshot", "test"),
    }
)


def begin(credentials: SparkIcebergCredentials, command: str | None) -> None:
    """Start Spark on a thread of its own, if the command needs it and nothing is to be downloaded first.

    ``command``: dbt's name of it; None where dbt runs none. The first connection waits for the start. If that fails, it
    starts Spark itself, and raises what is wrong.
    """
    if command not in _SENDING or credentials.method != Method.SESSION or credentials.folder is None:
        return
    # Whatever is missing or does not fit, the first connection says. Spark's thin client has no SparkContext.
    with suppress(ImportError, DbtRuntimeError):
        from pyspark import SparkContext

        from .session import wanted_confs

        if SparkContext._active_spark_context is None and not jars.missing(wanted_confs(credentials)):
            start = threading.Thread(target=copy_context().run, args=(_open, credentials), name="start", daemon=True)
            start.start()


def _open(credentials: SparkIcebergCredentials) -> None:
    from .session import open_session

    with suppress(Exception):
        open_session(credentials).close()
