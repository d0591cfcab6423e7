"""Which models are due, and which nodes they reach. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..project.graph import ephemeral, parent_ids
from ..status.status import ModelStatus


@dataclass(frozen=True)
class Standing:
    """Where a model stands, as ``ip_status`` has it."""

    status: ModelStatus

    @property
    def fails(self) -> bool:
        """Whether its next run would fail."""
        return self.status.error is not None

    @property
    def is_due(self) -> bool:
        """Whether its next run would build, apply, or move the checkpoint."""
        return self.status.is_due

    def is_as_due_as(self, before: Standing) -> bool:
        """Whether a run has changed nothing of what is due."""
        return (
            self.is_due and before.is_due and (self.status.epoch, self.commits) == (before.status.epoch, before.commits)
        )

    @property
    def commits(self) -> int:
        """How many commits of its sources are pending, those that wait for later runs included."""
        return sum(source.snapshots + source.waiting_snapshots for source in self.status.sources)

    @property
    def rows(self) -> int:
        """How many rows the next run would read."""
        return sum(source.records for source in self.status.sources)

    @property
    def oldest_pending(self) -> float | None:
        """When the oldest pending commit was made, in seconds since 1970; None where none is pending or known."""
        oldest = self.status.oldest_pending_ms
        return None if oldest is None else oldest / 1000

    def lag_seconds(self, now: float) -> float | None:
        """For how long the oldest pending commit has been waiting; 0 where nothing is pending, None where not known."""
        lag = self.status.lag_ms(int(now * 1000))
        return None if lag is None else lag / 1000


@dataclass(frozen=True)
class Reach:
    """``due``: the nodes to begin with; ``nodes``: these, and what lies downstream of them, in the selection.

    ``waiting``: the nodes that have unread input and are not built now, so that no test may judge them.
    """

    due: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()


class Dag:
    """The nodes of a project, by who reads whom, and which of them are selected."""

    def __init__(self, parents: Mapping[str, Collection[str]], selected: Collection[str]) -> None:
        """``parents``: what each node reads. ``selected``: the nodes that may be built."""
        self.selected = frozenset(selected)
        self._children: dict[str, set[str]] = {}
        for child, read in parents.items():
            for parent in read:
                self._children.setdefault(parent, set()).add(child)

    @classmethod
    def of(cls, graph: Mapping[str, Any], selected: Collection[str]) -> Dag:
        """Return the one of dbt's graph. Ephemeral models are a part of those that refer to them, and never built."""
        members = {**graph["nodes"], **graph.get("functions", {})}  # a function may read a model
        parents = {name: parent_ids(node) for name, node in members.items()}
        return cls(parents, frozenset(selected).difference(ephemeral(graph, graph["nodes"])))

    def downstream(self, nodes: Iterable[str], stops_at: Collection[str] = ()) -> set[str]:
        """Some nodes and all that lie downstream of them; nothing is reached by way of ``stops_at``."""
        found: set[str] = set()
        ahead = [node for node in nodes if node not in stops_at]
        while ahead:
            node = ahead.pop()
            if node not in found:
                found.add(node)
                ahead += self._children.get(node, set()) - set(stops_at)
        return found

    def reach(self, due: Collection[str], failing: Collection[str] = (), unripe: Collection[str] = ()) -> Reach:
        """Return what a build of the due nodes comes to.

        Failing nodes wait, and so does everything downstream of them, as under ``dbt build``. ``unripe``: due nodes
        that wait for further commits.
        """
        held = self.downstream(failing)
        begins = self.selected.intersection(due) - held
        nodes = frozenset(self.downstream(begins, held) & self.selected)
        return Reach(frozenset(begins), nodes, frozenset(held | self.downstream(unripe)) - nodes)
