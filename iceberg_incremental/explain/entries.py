"""The entry of an error in the index of errors, which the last line of each message names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ..errors import IncrementalError

INDEX = "dbt-spark-iceberg explain"
"""The command that prints an entry; without a name, it lists them all."""

_Arguments = ParamSpec("_Arguments")
_Error = TypeVar("_Error", bound=IncrementalError)


def indexed(make: Callable[_Arguments, _Error]) -> Callable[_Arguments, _Error]:
    """Add the errors that a function returns to the index of errors, under the function's name.

    Names do not change: people search for them and link to them. A test checks that docs/errors.md has each entry.
    """

    @wraps(make)
    def made(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Error:
        error = make(*args, **kwargs)
        error.msg += f"\n  More: {INDEX} {entry_of(make.__name__)}"
        return error

    return made


def entry_of(name: str) -> str:
    """The entry of a function's errors, as an anchor in docs/errors.md."""
    return name.replace("_", "-")
