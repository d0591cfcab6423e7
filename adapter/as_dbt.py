"""The engine's errors and log records as those of dbt, and dbt's errors from the parts of a message."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from iceberg_incremental.errors import ArgumentsError, IncrementalError, OutOfSyncError, StatementError, message

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _with(render: Callable[_Arguments, str]) -> Callable[_Arguments, DbtRuntimeError]:
    @wraps(render)
    def create(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> DbtRuntimeError:
        return DbtRuntimeError(render(*args, **kwargs))

    return create


dbt_error = _with(message)
"""An error of dbt with the parts of its message, for checks without an entry in the index of errors."""


def raising_dbts(method: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Convert the engine's errors that a method raises to dbt's errors. dbt shows these without a stack trace."""

    @wraps(method)
    def raising(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return method(*args, **kwargs)
        except IncrementalError as error:
            raise of_dbt(error) from error

    return raising


class AsDbt:
    """An object for macros. Its methods, and those of the objects in it, raise dbt's errors."""

    def __init__(self, collaborator: object) -> None:
        self._collaborator = collaborator

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._collaborator, name)
        return raising_dbts(found) if callable(found) else AsDbt(found)


def of_dbt(error: IncrementalError) -> DbtRuntimeError:
    """Convert an error of the engine to a dbt error. For a statement, this is the original dbt error.

    While dbt parses a project, it names the model only in compilation errors. An ArgumentsError therefore becomes one.
    So does an OutOfSyncError, as in dbt.
    """
    if isinstance(error, StatementError) and isinstance(error.__cause__, DbtRuntimeError):
        return error.__cause__
    if isinstance(error, ArgumentsError | OutOfSyncError):
        return CompilationError(error.msg)
    return DbtRuntimeError(error.msg)


ENGINE = "iceberg_incremental"


class _ToDbt(logging.Handler):
    """Passes records to dbt, which writes them with its timestamps and in its format."""

    def __init__(self) -> None:
        super().__init__()
        self._logger = AdapterLogger("SparkIceberg")

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record at its level."""
        getattr(self._logger, record.levelname.lower())(record.getMessage())


def forward_engine_log() -> None:
    """Let dbt log the engine's records in this process. Later calls have no effect."""
    logger = logging.getLogger(ENGINE)
    if not any(isinstance(each, _ToDbt) for each in logger.handlers):
        logger.addHandler(_ToDbt())
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
