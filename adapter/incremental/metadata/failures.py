"""Errors of access that say what to do, and never show a credential."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...secrets import scrub
from ..errors import IncrementalError, MetadataAccessError

_EXTRA_OF_MODULE = {"psycopg2": "postgres", "thrift": "hive", "boto3": "glue", "pyarrow": "s3", "s3fs": "s3"}

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
        told = " ".join(f"{type(error).__name__}: {_BACKGROUND.sub('', str(error))}".split())
        shown = scrub(told, properties)
        message = f"PyIceberg cannot reach {what}: {shown}{_remedy(error)}"
        if shown == told:
            raise MetadataAccessError(message) from error
        raise MetadataAccessError(message) from None  # a traceback would show the cause, and the credential it tells


def _remedy(error: Exception) -> str:
    missing = error
    while not isinstance(missing, ModuleNotFoundError) and isinstance(missing.__cause__, Exception):
        missing = missing.__cause__
    if not isinstance(missing, ModuleNotFoundError):
        return ""
    extra = _EXTRA_OF_MODULE.get((missing.name or "").partition(".")[0])
    return f". Install it: pip install 'dbt-spark-iceberg[{extra}]'" if extra else f". Install {missing.name}"
