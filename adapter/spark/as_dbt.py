"""The engine's errors as dbt's, for what macros and dbt call."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dbt_common.exceptions import CompilationError, DbtRuntimeError

from iceberg_incremental.errors import ArgumentsError, IncrementalError, OutOfSyncError, StatementError

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def raising_dbts(method: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Have a method raise the engine's errors as dbt's own, which dbt shows without a stack trace."""

    @wraps(method)
    def raising(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return method(*args, **kwargs)
        except IncrementalError as error:
            raise of_dbt(error) from error

    return raising


class AsDbt:
    """An object as macros see it: its methods, and those of the objects that it holds, raise dbt's errors."""

    def __init__(self, collaborator: object) -> None:
        self._collaborator = collaborator

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._collaborator, name)
        return raising_dbts(found) if callable(found) else AsDbt(found)


def of_dbt(error: IncrementalError) -> DbtRuntimeError:
    """An error of the engine as one of dbt; that of a statement as dbt has raised it.

    While dbt parses, it names the model of a compilation error only; and it makes one of columns that are out of sync.
    """
    if isinstance(error, StatementError) and isinstance(error.__cause__, DbtRuntimeError):
        return error.__cause__
    if isinstance(error, ArgumentsError | OutOfSyncError):
        return CompilationError(error.msg)
    return DbtRuntimeError(error.msg)
