"""Converts errors of metadata access to errors with a fix and without credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import IncrementalError
from ..explain import metadata_errors
from ..secrets import scrub

_BACKGROUND = re.compile(r"\(Background on this error at: \S+\)")
"""The link to its own documentation that SQLAlchemy adds to errors."""


@contextmanager
def access_to(what: str, properties: Mapping[str, Any]) -> Iterator[None]:
    """Convert any exception in the block to a MetadataAccessError. ``what``: the catalog or file, for the message."""
    try:
        yield
    except IncrementalError:
        raise
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {_BACKGROUND.sub('', str(error))}".split())
        shown = scrub(text, properties)
        unreachable = metadata_errors.unreachable(what, shown, _missing_module(error))
        if shown == text:
            raise unreachable from error
        raise unreachable from None  # a traceback would show the cause, which may contain a credential


def _missing_module(error: Exception) -> str | None:
    """The missing Python module that caused an error. None for other causes."""
    cause = error
    while not isinstance(cause, ModuleNotFoundError) and isinstance(cause.__cause__, Exception):
        cause = cause.__cause__
    return cause.name if isinstance(cause, ModuleNotFoundError) else None
