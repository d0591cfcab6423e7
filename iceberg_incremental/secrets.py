"""Removing credentials from text for users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

_MASK = "***"
_WORDS = r"password|passwd|pwd|secret|token|credential|authorization|(?:access|account)[-_.]?key|connection[-_.]?string"
_SECRET_NAME = re.compile(_WORDS, re.IGNORECASE)
_SETTING = re.compile(rf"((?:{_WORDS})[\w.-]*=)[^&;,\s)]+", re.IGNORECASE)
_IN_QUERY = re.compile(rf"[?&;][^=&;]*(?:{_WORDS}|key)=([^&;]+)", re.IGNORECASE)
_USER_INFO = re.compile(r"(//[^/@\s:]*:)([^/@\s]+)(?=@)")


def mask(text: str) -> str:
    """The text with credentials in URIs and settings masked. Used if the values of the credentials are not known."""
    return _USER_INFO.sub(rf"\1{_MASK}", _SETTING.sub(rf"\1{_MASK}", text))


def scrub(text: str, properties: Mapping[str, Any]) -> str:
    """The text with the values of all credentials in the properties masked."""
    for secret in sorted(set(_secrets(properties)), key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return text


def _secrets(properties: Mapping[str, Any]) -> Iterator[str]:
    for key, value in properties.items():
        if isinstance(value, Mapping):
            yield from _secrets(value)
        elif isinstance(value, str) and value:
            if _SECRET_NAME.search(key):
                yield value
                yield from _parts(value)
            else:
                in_user_info = [secret for _, secret in _USER_INFO.findall(value)]
                for encoded in in_user_info + _IN_QUERY.findall(value):
                    yield from (encoded, unquote(encoded))


def _parts(value: str) -> Iterator[str]:
    """The secret parts of an OAuth credential (client id and secret, separated by a colon) or of an HTTP header."""
    for separator in (":", " "):
        if secret := value.partition(separator)[2]:
            yield secret
