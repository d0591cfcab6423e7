"""Typed access to the JSON of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .unreadable import CheckpointFlaw, Place, UnreadableCheckpoint

SHOWN = 40
"""The number of characters of a wrong value that an error shows."""
_Value = TypeVar("_Value")
_TEXT, _TEXTS, _WHOLE, MAPPING = "text", "a list of text", "a whole number", "a mapping"


@dataclass(frozen=True)
class Fields:
    """Typed access to a JSON object. Raises UnreadableCheckpoint with the name of the field."""

    document: Mapping[str, Any]
    place: Place

    def text(self, key: str) -> str:
        """A text."""
        return self._required(key, self.optional_text(key), _TEXT)

    def optional_text(self, key: str) -> str | None:
        """A text. None without one."""
        return self._typed(key, str, _TEXT)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        values = self._required(key, self._typed(key, list, _TEXTS), _TEXTS)
        for value in values:
            if not isinstance(value, str):
                raise UnreadableCheckpoint(self.place, CheckpointFlaw.WRONG_TYPE, type(value).__name__, key, _TEXTS)
        return tuple(values)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """An object."""
        return self._required(key, self.optional_mapping(key), MAPPING)

    def optional_mapping(self, key: str) -> Mapping[str, Any] | None:
        """An object. None without one."""
        return self._typed(key, dict, MAPPING)

    def optional_text_by_name(self, key: str) -> Mapping[str, str]:
        """An object whose values are texts. Empty without one."""
        found = self.optional_mapping(key) or {}
        return {name: Fields(found, self.place).text(name) for name in found}

    def whole(self, key: str, minimum: int = -(2**63)) -> int:
        """A whole number of 64 bits, at least ``minimum``."""
        return self._required(key, self.optional_whole(key, minimum), _WHOLE)

    def optional_whole(self, key: str, minimum: int = -(2**63)) -> int | None:
        """A whole number of 64 bits, at least ``minimum``. None without one."""
        value = self._typed(key, int, _WHOLE)
        if value is not None and not minimum <= value < 2**63:
            raise UnreadableCheckpoint(self.place, CheckpointFlaw.OUT_OF_RANGE, str(value)[:SHOWN], key, _WHOLE)
        return value

    def _required(self, key: str, value: _Value | None, expected: str) -> _Value:
        if value is None:
            raise UnreadableCheckpoint(self.place, CheckpointFlaw.MISSING_FIELD, "nothing", key, expected)
        return value

    def _typed(self, key: str, kind: type[_Value], expected: str) -> _Value | None:
        """The value under a key, or None without one. A boolean is rejected, although it is an int in Python."""
        value = self.document.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind)):
            raise UnreadableCheckpoint(self.place, CheckpointFlaw.WRONG_TYPE, type(value).__name__, key, expected)
        return value
