"""The drawing of the graph: boxes and curves in pixels, for wide and for narrow screens. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .layers import EdgePoint, Layers

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
