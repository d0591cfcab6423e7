"""The sizes of the measurement, from the environment variables ``PLAYBACK_<NAME>``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Sizes:
    """The sizes of both scenarios.

    ``events``: the number of events per day. ``history``: the number of days that have landed before the first run.
    ``days``: the number of measured daily runs. ``rebuilds``: the number of last days with a full rebuild.

    ``growth_…``: the same for histories of several lengths in days. Another history is as long as the shortest one, and
    has ``growth_files`` files.
    """

    events: int = 2_000_000
    history: int = 16
    days: int = 3
    rebuilds: int = 1
    growth_events: int = 100_000
    growth_history: tuple[int, ...] = (30, 120, 480)
    growth_days: int = 4
    growth_files: int = 10_000


def from_environment(environment: Mapping[str, str] = os.environ) -> Sizes:
    """The sizes. Lists are numbers separated by spaces. Raises ValueError if a value is not a number."""
    given: dict[str, Any] = {}
    for each in fields(Sizes):
        text = environment.get(f"PLAYBACK_{each.name.upper()}", "").split()
        if text:
            numbers = [int(number) for number in text]
            given[each.name] = tuple(numbers) if isinstance(each.default, tuple) else numbers[0]
    return Sizes(**given)
