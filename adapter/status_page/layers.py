"""Where the nodes of a graph without cycles are drawn: in layers, each node after all that it reads. Pure.

Sugiyama's method: an edge over several layers goes through a place of its own in each, and each layer is sorted by
where its neighbours are, a few times back and forth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

_SWEEPS = 8


@dataclass(frozen=True)
class EdgePoint:
    """A point in a layer that an edge passes through: the ``number``-th of the edge from ``source`` to ``target``."""

    source: str
    target: str
    number: int


Slot = str | EdgePoint
"""An entry of a layer: a node by its name, or a point of an edge."""


@dataclass(frozen=True)
class Layers:
    """The places of each layer in their order, and the places that each edge goes through, its ends included."""

    layers: Sequence[Sequence[Slot]]
    edges: Mapping[tuple[str, str], Sequence[Slot]]


def layers_of(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> Layers:
    """Put nodes into layers. ``edges``: from, to. Raises graphlib.CycleError for a graph with cycles."""
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
    ways: dict[tuple[str, str], list[Slot]] = {}
    for target, sources in parents.items():
        for source in sorted(sources):
            between = [EdgePoint(source, target, number) for number in range(depth[source] + 1, depth[target])]
            for way in between:
                layers[way.number].append(way)
            ways[source, target] = [source, *between, target]
    return Layers(_sorted(layers, ways), ways)


def _sorted(layers: Sequence[Sequence[Slot]], ways: Mapping[tuple[str, str], Sequence[Slot]]) -> list[list[Slot]]:
    """The layers with fewer crossings: each place beside the mean of its neighbours in the layer before."""
    before: dict[Slot, list[Slot]] = {}
    after: dict[Slot, list[Slot]] = {}
    for places in ways.values():
        for one, other in pairwise(places):
            before.setdefault(other, []).append(one)
            after.setdefault(one, []).append(other)
    found = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        neighbours = before if forth else after
        for index in range(1, len(found)) if forth else range(len(found) - 2, -1, -1):
            fixed = {place: rank for rank, place in enumerate(found[index - 1 if forth else index + 1])}
            ranks = {place: rank for rank, place in enumerate(found[index])}
            found[index].sort(key=lambda place: _mean(neighbours.get(place, ()), fixed, ranks[place]))
    return found


def _mean(neighbours: Sequence[Slot], ranks: Mapping[Slot, int], own: int) -> float:
    known = [ranks[each] for each in neighbours if each in ranks]
    return sum(known) / len(known) if known else own
