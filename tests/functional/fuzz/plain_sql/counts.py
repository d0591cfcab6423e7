"""Thread-safe counts of what was played and compared."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class PlainTally:
    """Thread-safe counts of what was played and compared."""

    histories: int = 0
    queries: int = 0
    runs: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    verified: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, counts: Counter[str], what: str) -> None:
        with self._lock:
            counts[what] += 1

    def __str__(self) -> str:
        share = self.refused.total() / max(self.queries, 1)
        listed = [
            f"{title}: " + ", ".join(f"{n} {what}" for what, n in counts.most_common())
            for title, counts in (
                ("compared", self.compared),
                ("verified", self.verified),
                ("refused", self.refused),
                ("left out", self.left_out),
                ("steps", self.steps),
            )
            if counts
        ]
        return "\n  ".join(
            [
                f"{self.histories} histories, {self.queries:,} queries, {self.runs} runs of dbt, "
                f"{self.compared.total():,} tables compared, {self.refused.total()} refused ({share:.1%})",
                *listed,
            ]
        )
