"""When a node that failed is tried again. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Backoff:
    """The seconds until the first retry, which double with each further failure, up to ``longest``."""

    first: float = 5.0
    longest: float = 300.0

    def delay(self, failures: int) -> float:
        """The seconds to wait after so many failures in a row."""
        return min(self.first * 2.0 ** min(failures - 1, 60), self.longest)


@dataclass(frozen=True)
class Failure:
    """A node that is failing: how often in a row, when last, and with which inputs. Times are seconds of one clock.

    ``foreseen``: its metadata say that a run would fail, so that none was tried.
    """

    message: str
    foreseen: bool
    failures: int
    at: float
    inputs: Hashable


@dataclass(frozen=True)
class Failures:
    """The nodes that are failing. Each method gives the state that follows."""

    backoff: Backoff = field(default_factory=Backoff)
    nodes: Mapping[str, Failure] = field(default_factory=dict)

    def add(self, node: str, message: str, inputs: Hashable, now: float, *, foreseen: bool = False) -> Failures:
        """A node has failed. The count begins again where its inputs are others than at its last failure."""
        before = self.nodes.get(node)
        count = before.failures + 1 if before is not None and before.inputs == inputs else 1
        return replace(self, nodes={**self.nodes, node: Failure(message, foreseen, count, now, inputs)})

    def drop(self, nodes: Iterable[str]) -> Failures:
        """Some nodes are no longer failing."""
        mended = set(nodes)
        return replace(self, nodes={name: found for name, found in self.nodes.items() if name not in mended})

    def waits(self, node: str, inputs: Hashable, now: float) -> bool:
        """Whether a node is not to be tried yet. New inputs are tried after the first delay, as after one failure."""
        failure = self.nodes.get(node)
        if failure is None:
            return False
        count = failure.failures if failure.inputs == inputs else 1
        return now - failure.at < self.backoff.delay(count)
