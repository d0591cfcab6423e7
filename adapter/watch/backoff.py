"""The times at which failed nodes are retried. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..status.live import Failure


@dataclass(frozen=True)
class Backoff:
    """The delay before the first retry in seconds, which doubles with each further failure, up to ``longest``."""

    first: float = 5.0
    longest: float = 300.0

    def delay(self, failures: int) -> float:
        """Return the delay in seconds after this many consecutive failures."""
        return min(self.first * 2.0 ** min(failures - 1, 60), self.longest)


@dataclass(frozen=True)
class Failures:
    """The failing nodes. Each method returns the next state."""

    backoff: Backoff = field(default_factory=Backoff)
    nodes: Mapping[str, Failure] = field(default_factory=dict)

    def add(self, node: str, message: str, now: float, *, foreseen: bool = False) -> Failures:
        """Add a failure of a node. Only a success or a new version of the project resets the count.

        New commits do not reset it: a busy source has new commits at each check, and the row that causes the failure is
        still there.
        """
        before = self.nodes.get(node)
        count, since = (1, now) if before is None else (before.failures + 1, before.since)
        repeated = before is not None and before.failures > 0 and before.is_like(message)
        failure = Failure(message, foreseen, count, since, now + self.backoff.delay(count), repeated)
        return replace(self, nodes={**self.nodes, node: failure})

    def drop(self, nodes: Iterable[str]) -> Failures:
        """Remove nodes that are no longer failing."""
        fixed = set(nodes)
        return replace(self, nodes={name: found for name, found in self.nodes.items() if name not in fixed})

    def retry_all(self, now: float) -> Failures:
        """Retry all nodes now, and reset their counts."""
        nodes = {name: replace(found, failures=0, retry_at=now) for name, found in self.nodes.items()}
        return replace(self, nodes=nodes)

    def waits(self, node: str, now: float) -> bool:
        """Whether a node must not be retried yet."""
        failure = self.nodes.get(node)
        return failure is not None and now < failure.retry_at
