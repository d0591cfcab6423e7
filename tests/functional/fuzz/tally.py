"""Thread-safe counts of what was played and checked."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts of steps, runs and histories. ``what``: what was checked."""

    what: str = "models"
    histories: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    checks: Counter[str] = field(default_factory=Counter)
    readings: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, counts: Counter[str], what: str) -> None:
        """Count one more, from any thread."""
        with self._lock:
            counts[what] += 1

    def __str__(self) -> str:
        steps = ", ".join(f"{kind} {n}" for kind, n in sorted(self.steps.items()))
        checks = ", ".join(f"{n:,} {kind}" for kind, n in sorted(self.checks.items()))
        readings = ", ".join(f"{n:,} {kind}" for kind, n in sorted(self.readings.items()))
        return (
            f"{self.histories} histories, {self.steps.total():,} steps, {self.runs} runs of dbt, "
            f"{self.checks.total():,} {self.what} checked: {checks}"
            + (f"\n  net changes read: {readings}" if readings else "")
            + f"\n  steps: {steps}"
        )
