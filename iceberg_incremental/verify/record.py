"""Stores the result of a table's last comparison in a table property, which creates no snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from ..quantities import instant

VERIFIED_KEY = "ip.verified"
"""The table property, for users and the status page. Nothing else depends on it."""


@dataclass(frozen=True)
class Verified:
    """A comparison: its ``result``, its time, and the compared snapshot of the table.

    ``epoch``: the epoch of the table's checkpoint. ``share``: the share of the keys that were compared, from 0 to 1.
    """

    result: str
    at_ms: int
    snapshot_id: int
    epoch: int
    share: float

    @property
    def text(self) -> str:
        """The comparison in one line, for users."""
        part = "" if self.share == 1 else f", {percent(self.share)} of the keys"
        answer = self.result.replace("_", " ")
        return f"verified on {instant(self.at_ms)}: {answer} (run {self.epoch}, snapshot {self.snapshot_id}{part})"


def percent(share: float) -> str:
    """A share as text, for example ``0.5%``."""
    return f"{share * 100:.4g}%"


def to_property(verified: Verified) -> str:
    """The value of the table property."""
    return json.dumps(asdict(verified), separators=(",", ":"))


def last_verified(properties: Mapping[str, str]) -> Verified | None:
    """The last comparison of a table with these properties. None if there is none, or if it cannot be read."""
    try:
        return Verified(**json.loads(properties[VERIFIED_KEY]))
    except (KeyError, ValueError, TypeError):
        return None
