"""The drawing of the graph: its layers, and boxes and curves for wide and for narrow screens. Pure functions."""

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


_WIDE_MOST = 1168
"""The width of the drawing that fits on the page, whose width is limited too."""
_WIDE_HEIGHT, _WIDE_GAP = 66, 16
_WIDE_COLUMNS = ((232, 72), (212, 27), (172, 27))
"""The widths of a box and of the space between columns, of which the first that fits is used."""
_NARROW_WIDTH, _NARROW_HEIGHT, _NARROW_GAP, _NARROW_LEAST = 328, 56, 12, 200
"""The width of the drawing, unless its lanes need more space; the height of a box; the gap between boxes; and the
minimum width of a box."""
_LANE, _BEND = 12, 6
"""The width of a lane for edges, and the radius of their bends."""
_THIN = 14
"""The height of the slot of an edge that crosses a layer."""


@dataclass(frozen=True)
class NodeBox:
    """The box of a node: the node's name, and the position of the box."""

    node: str
    x: int
    y: int


@dataclass(frozen=True)
class Curve:
    """An edge as an SVG path."""

    source: str
    target: str
    path: str


@dataclass(frozen=True)
class Drawing:
    """A drawing with its size in pixels. All boxes have the same size."""

    width: int
    height: int
    box_width: int
    box_height: int
    boxes: Sequence[NodeBox]
    curves: Sequence[Curve]


def wide(layers: Layers) -> Drawing | None:
    """From left to right, with one column per layer. None if there are too many columns for the width of the page."""
    columns = len(layers.layers)
    fitting = (each for each in _WIDE_COLUMNS if _width(columns, *each) <= _WIDE_MOST)
    box_width, space = next(fitting, (0, 0))
    if not box_width:
        return None
    box_height = _WIDE_HEIGHT
    heights = [
        sum((_THIN if isinstance(place, EdgePoint) else box_height) + _WIDE_GAP for place in layer) - _WIDE_GAP
        for layer in layers.layers
    ]
    tallest = max(heights, default=0)
    boxes: list[NodeBox] = []
    middles: dict[object, tuple[int, int, int]] = {}
    for column, (layer, height) in enumerate(zip(layers.layers, heights, strict=True)):
        x, y = column * (box_width + space), (tallest - height) // 2
        for place in layer:
            own = _THIN if isinstance(place, EdgePoint) else box_height
            middles[place] = (x, x + box_width, y + own // 2)
            if not isinstance(place, EdgePoint):
                boxes.append(NodeBox(place, x, y))
            y += own + _WIDE_GAP
    curves = []
    for (source, target), places in layers.edges.items():
        points = [middles[place] for place in places]
        path = f"M{points[0][1]} {points[0][2]}"
        for (_, start, from_y), (end, beyond, to_y) in pairwise(points):
            half = (end - start) // 2
            path += f" C{start + half} {from_y} {end - half} {to_y} {end} {to_y}"
            path += f" H{beyond}" if (end, beyond, to_y) != points[-1] else ""
        curves.append(Curve(source, target, path))
    return Drawing(_width(columns, box_width, space), tallest, box_width, box_height, boxes, curves)


def _width(columns: int, box: int, space: int) -> int:
    return columns * box + max(columns - 1, 0) * space


def narrow(layers: Layers) -> Drawing:
    """From top to bottom, with one row per node. Edges run next to the boxes, with one lane per source node."""
    nodes = [place for layer in layers.layers for place in layer if not isinstance(place, EdgePoint)]
    rows = {node: row for row, node in enumerate(nodes)}
    lanes = _lanes(rows, layers.edges)
    left = _LANE * (max(lanes.values(), default=-1) + 1) + (_LANE if lanes else 0)
    box_width = max(_NARROW_WIDTH - left, _NARROW_LEAST)
    step = _NARROW_HEIGHT + _NARROW_GAP
    boxes = [NodeBox(node, left, row * step) for node, row in rows.items()]
    curves = []
    for source, target in layers.edges:
        # An edge starts in the lower half of a box, and ends in the upper half of another box.
        start, end = rows[source] * step + _NARROW_HEIGHT * 2 // 3, rows[target] * step + _NARROW_HEIGHT // 3
        x = left - _LANE * (lanes[source] + 1)
        path = f"M{left} {start} H{x + _BEND} Q{x} {start} {x} {start + _BEND}"
        path += f" V{end - _BEND} Q{x} {end} {x + _BEND} {end} H{left}"
        curves.append(Curve(source, target, path))
    height = max(len(nodes) * step - _NARROW_GAP, 0)
    return Drawing(left + box_width, height, box_width, _NARROW_HEIGHT, boxes, curves)


def _lanes(rows: Mapping[str, int], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The lane of each node with outgoing edges, from 0 next to the boxes. Edges in one lane do not overlap."""
    ends: dict[str, int] = {}
    for source, target in edges:
        ends[source] = max(ends.get(source, 0), rows[target])
    lanes: dict[str, int] = {}
    taken: list[int] = []
    """The row at which the last edge of each lane ends."""
    for source in sorted(ends, key=rows.__getitem__):
        free = (lane for lane, end in enumerate(taken) if end <= rows[source])
        lane = next(free, len(taken))
        taken[lane : lane + 1] = [ends[source]]
        lanes[source] = lane
    return lanes
