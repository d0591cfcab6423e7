"""Keeping credentials out of what people read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

_SECRET_KEY = re.compile(
    r"password|secret|token|credential|authorization|account-key|access-key|connection-string", re.IGNORECASE
)
_SECRET_IN_QUERY = re.compile(r"[?&;](?:password|[^=&;]*(?:secret|token|key))=([^&;]+)", re.IGNORECASE)
_USER_INFO = re.compile(r"//[^/@\s:]*:([^/@\s]+)@")
_MASK = "***"


def scrub(text: str, properties: Mapping[str, Any]) -> str:
    """The text without any credential that the properties hold."""
    for secret in sorted(set(_secrets(properties)), key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return text


def _secrets(properties: Mapping[str, Any]) -> Iterator[str]:
    for key, value in properties.items():
        if isinstance(value, Mapping):
            yield from _secrets(value)
        elif isinstance(value, str) and value:
            if _SECRET_KEY.search(key):
                yield value
                yield from _parts(value)
            else:
                for encoded in _USER_INFO.findall(value) + _SECRET_IN_QUERY.findall(value):
                    yield from (encoded, unquote(encoded))


def _parts(value: str) -> Iterator[str]:
    """The secret alone in an OAuth credential (client id and secret, joined by a colon) or an HTTP header."""
    for separator in (":", " "):
        if secret := value.partition(separator)[2]:
            yield secret
