"""Converting the engine's errors to dbt's errors, for methods that macros and dbt call."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dbt_common.exceptions import CompilationError, DbtRuntimeError

from iceberg_incremental.errors import ArgumentsError, IncrementalError, OutOfSyncError, StatementError

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def raising_dbts(method: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let a method raise the engine's errors as dbt's errors, which dbt shows without a stack trace."""

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
    """An error of the engine as a dbt error. For a statement, the original dbt error.

    While dbt parses, it names the model only for a compilation error. Columns that are out of sync also become a
    compilation error.
    """
    if isinstance(error, StatementError) and isinstance(error.__cause__, DbtRuntimeError):
        return error.__cause__
    if isinstance(error, ArgumentsError | OutOfSyncError):
        return CompilationError(error.msg)
    return DbtRuntimeError(error.msg)
