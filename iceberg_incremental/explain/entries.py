"""The entries of errors in the index of errors. The last line of each message names its entry."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ..errors import IncrementalError

INDEX = "dbt-spark-iceberg explain"
"""The command that prints an entry. Without a name, it lists all entries."""

_Arguments = ParamSpec("_Arguments")
_Error = TypeVar("_Error", bound=IncrementalError)


def indexed(make: Callable[_Arguments, _Error]) -> Callable[_Arguments, _Error]:
    """Add the errors that a function returns to the index of errors, under the function's name.

    Never change a name, because users search for it and link to it. A test checks that docs/errors.md has each entry.
    """

    @wraps(make)
    def made(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Error:
        error = make(*args, **kwargs)
        error.msg += f"\n  More: {INDEX} {entry_of(make.__name__)}"
        return error

    return made


def entry_of(name: str) -> str:
    """The entry of a function's errors, which is also an anchor in docs/errors.md. ``name``: the function's name."""
    return name.replace("_", "-")
