"""The due models and their downstream nodes, and the delays after failures and for batches. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..project.graph import ephemeral, parent_ids, reached_from
from ..status.live import Failure
from ..status.model_status import ModelStatus


@dataclass(frozen=True)
class Reach:
    """The nodes of a build. ``due``: the due nodes. ``nodes``: these and their downstream nodes, within the selection.

    ``waiting``: the nodes that have unread input and are not built now, so their tests must not run.
    """

    due: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()


class Dag:
    """The nodes of a project with their dependencies. ``selected``: the nodes that may be built."""

    def __init__(self, parents: Mapping[str, Collection[str]], selected: Collection[str]) -> None:
        """``parents``: the nodes that each node reads."""
        self.selected = frozenset(selected)
        self._children: dict[str, set[str]] = {}
        for child, read in parents.items():
            for parent in read:
                self._children.setdefault(parent, set()).add(child)

    @classmethod
    def of(cls, graph: Mapping[str, Any], selected: Collection[str]) -> Dag:
        """Return the Dag of dbt's graph.

        Ephemeral models are part of the nodes that refer to them, and are never built.
        """
        members = {**graph["nodes"], **graph.get("functions", {})}  # functions may read models
        parents = {name: parent_ids(node) for name, node in members.items()}
        return cls(parents, frozenset(selected).difference(ephemeral(graph, graph["nodes"])))

    def downstream(self, nodes: Iterable[str], stops_at: Collection[str] = ()) -> set[str]:
        """Return these nodes and their downstream nodes, without ``stops_at`` and nodes reached only through them."""
        begins = (node for node in nodes if node not in stops_at)
        return {*reached_from(begins, lambda node: self._children.get(node, set()).difference(stops_at))}

    def reach(self, due: Collection[str], failing: Collection[str] = (), unripe: Collection[str] = ()) -> Reach:
        """Return the nodes of a build of the due nodes.

        Failing nodes and their downstream nodes wait, as in ``dbt build``. ``unripe``: due nodes that wait for further
        commits.
        """
        held = self.downstream(failing)
        begins = self.selected.intersection(due) - held
        nodes = frozenset(self.downstream(begins, held) & self.selected)
        return Reach(frozenset(begins), nodes, frozenset(held | self.downstream(unripe)) - nodes)


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


@dataclass(frozen=True)
class Batching:
    """How long a model waits for a period without commits.

    ``debounce``: this period in seconds, 0 for no wait. ``max_batch``: the number of pending commits that ends the
    wait; None for no limit. ``max_wait``: the maximum wait in seconds.
    """

    debounce: float = 0.0
    max_batch: int | None = None
    max_wait: float = 60.0

    def is_ready(self, status: ModelStatus, last_changed: Mapping[str, float], due_since: float, now: float) -> bool:
        """Whether to build a due model now.

        ``last_changed``: the times of the last observed changes of sources; missing for sources without changes.
        ``due_since``: the time at which the model became due. All times are in seconds of the same clock.
        """
        if self.max_batch is not None and status.commits >= self.max_batch:
            return True
        if now - due_since >= self.max_wait:
            return True
        changes = (last_changed.get(source.source) for source in status.sources)
        return all(at is None or now - at >= self.debounce for at in changes)
