"""Which models are due, and which nodes they reach. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..project.graph import ephemeral, parent_ids, reached_from


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
        begins = (node for node in nodes if node not in stops_at)
        return {*reached_from(begins, lambda node: self._children.get(node, set()).difference(stops_at))}

    def reach(self, due: Collection[str], failing: Collection[str] = (), unripe: Collection[str] = ()) -> Reach:
        """Return what a build of the due nodes comes to.

        Failing nodes wait, and so does everything downstream of them, as under ``dbt build``. ``unripe``: due nodes
        that wait for further commits.
        """
        held = self.downstream(failing)
        begins = self.selected.intersection(due) - held
        nodes = frozenset(self.downstream(begins, held) & self.selected)
        return Reach(frozenset(begins), nodes, frozenset(held | self.downstream(unripe)) - nodes)
