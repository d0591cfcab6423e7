"""Errors of access that say what to do, and never show a credential."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import IncrementalError
from ..explain import metadata_errors
from ..secrets import scrub

_BACKGROUND = re.compile(r"\(Background on this error at: \S+\)")
"""What SQLAlchemy adds: a link that speaks of SQLAlchemy."""


@contextmanager
def access_to(what: str, properties: Mapping[str, Any]) -> Iterator[None]:
    """Turns whatever fails inside into a MetadataAccessError; ``what`` is what could not be reached."""
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
        raise unreachable from None  # a traceback would show the cause, and the credential in it


def _missing_module(error: Exception) -> str | None:
    """The module that is not installed, where that is the cause."""
    cause = error
    while not isinstance(cause, ModuleNotFoundError) and isinstance(cause.__cause__, Exception):
        cause = cause.__cause__
    return cause.name if isinstance(cause, ModuleNotFoundError) else None
