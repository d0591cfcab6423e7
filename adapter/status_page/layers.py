"""The layout of an acyclic graph in layers. Each node is in a later layer than the nodes that it reads. Pure functions.

This is Sugiyama's method. An edge across several layers has a slot in each of them. Each layer is sorted by the
positions of its neighbors, in several passes in both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

_SWEEPS = 8


@dataclass(frozen=True)
class EdgePoint:
    """The slot of an edge in a layer: point ``number`` of the edge from ``source`` to ``target``."""

    source: str
    target: str
    number: int


Slot = str | EdgePoint
"""A slot of a layer: a node by name, or a point of an edge."""


@dataclass(frozen=True)
class Layers:
    """The slots of each layer in order, and the slots of each edge, including both ends."""

    layers: Sequence[Sequence[Slot]]
    edges: Mapping[tuple[str, str], Sequence[Slot]]


def layers_of(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> Layers:
    """Assign nodes to layers. ``edges``: (from, to). Raises graphlib.CycleError for a graph with cycles."""
    parents: dict[str, set[str]] = {node: set() for node in nodes}
    for source, target in edges:
        parents.setdefault(source, set())
        parents.setdefault(target, set()).add(source)
    depth: dict[str, int] = {}
    for node in TopologicalSorter(parents).static_order():
        depth[node] = 1 + max((depth[parent] for parent in parents[node]), default=-1)
    layers: list[list[Slot]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for node in parents:
        layers[depth[node]].append(node)
    paths: dict[tuple[str, str], list[Slot]] = {}
    for target, sources in parents.items():
        for source in sorted(sources):
            between = [EdgePoint(source, target, number) for number in range(depth[source] + 1, depth[target])]
            for point in between:
                layers[point.number].append(point)
            paths[source, target] = [source, *between, target]
    return Layers(_sorted(layers, paths), paths)


def _sorted(layers: Sequence[Sequence[Slot]], paths: Mapping[tuple[str, str], Sequence[Slot]]) -> list[list[Slot]]:
    """The layers with fewer crossings. Each slot is moved near the mean position of its neighbors."""
    before: dict[Slot, list[Slot]] = {}
    after: dict[Slot, list[Slot]] = {}
    for places in paths.values():
        for one, other in pairwise(places):
            before.setdefault(other, []).append(one)
            after.setdefault(one, []).append(other)
    found = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        is_forward = sweep % 2 == 0
        neighbors = before if is_forward else after
        for index in range(1, len(found)) if is_forward else range(len(found) - 2, -1, -1):
            fixed = {place: rank for rank, place in enumerate(found[index - 1 if is_forward else index + 1])}
            ranks = {place: rank for rank, place in enumerate(found[index])}
            found[index].sort(key=lambda place: _mean(neighbors.get(place, ()), fixed, ranks[place]))
    return found


def _mean(neighbors: Sequence[Slot], ranks: Mapping[Slot, int], own: int) -> float:
    known = [ranks[each] for each in neighbors if each in ranks]
    return sum(known) / len(known) if known else own
