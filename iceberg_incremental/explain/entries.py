"""Where an error is explained: its entry in the index of errors, which the last line of the message names."""

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
    """Give the errors that a function makes an entry in the index of errors, under the function's name.

    A name stays: people search for it, and link to it. A test has each entry in docs/errors.md.
    """

    @wraps(make)
    def made(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Error:
        error = make(*args, **kwargs)
        error.msg += f"\n  More: {INDEX} {entry_of(make.__name__)}"
        return error

    return made


def entry_of(name: str) -> str:
    """The entry of a function's errors, as the anchor of a heading."""
    return name.replace("_", "-")
