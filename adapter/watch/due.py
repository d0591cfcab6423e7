"""The due models and their downstream nodes. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..project.graph import ephemeral, parent_ids, reached_from


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
