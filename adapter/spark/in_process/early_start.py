"""Starts the Spark of the embedded lakehouse while dbt parses the project, before the first statement."""

from __future__ import annotations

import threading
from contextlib import suppress
from contextvars import copy_context
from importlib import import_module

from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.jvm import jars
from iceberg_incremental.jvm.launch import active_context

from ...profile.credentials import Method, SparkIcebergCredentials

_LATER = (
    "...hooks.auto",
    "iceberg_incremental.metadata.pyiceberg_reader",
)
# dbt's names of the commands that execute statements after parsing.
_SENDING = frozenset(
    {
        *("build", "clone", "compile", "freshness", "generate", "retry", "run", "run-operation"),
        *("seed", "show", "snapshot", "test"),
    }
)


def begin(credentials: SparkIcebergCredentials, command: str | None) -> None:
    """Start Spark in a separate thread, if the command needs it and nothing must be downloaded first.

    ``command``: dbt's name of the command; None outside of a command. The first connection waits until Spark is
    running. If the start fails, the connection starts Spark itself, and raises the error.
    """
    if command not in _SENDING or credentials.method != Method.SESSION or credentials.folder is None:
        return
    with suppress(DbtRuntimeError):  # the first connection reports missing packages and other errors
        from .session import wanted_confs

        if active_context() is None and not jars.missing(wanted_confs(credentials)):
            start = threading.Thread(target=copy_context().run, args=(_open, credentials), name="start", daemon=True)
            start.start()
            threading.Thread(target=_import, name="import", daemon=True).start()


def _import() -> None:
    """Import what most models need, since this process waits for the JVM. The first use reports an error."""
    for name in _LATER:
        with suppress(Exception):
            import_module(name, __package__)


def _open(credentials: SparkIcebergCredentials) -> None:
    from .session import open_session

    with suppress(Exception):
        open_session(credentials).close()
