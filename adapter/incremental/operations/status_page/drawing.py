"""The graph as it is drawn: boxes and curves in pixels, once for wide screens and once for narrow ones. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .layers import Layers, Way

_WIDE_GAP, _WIDE_SPACE = 16, 72
_NARROW_GAP, _NARROW_SPACE, _NARROW_COLUMNS = 12, 40, 2
_THIN = 14
"""The height of the place that an edge takes in a layer which it passes."""


@dataclass(frozen=True)
class Box:
    """A node: its name, and where it stands."""

    node: str
    x: int
    y: int


@dataclass(frozen=True)
class Curve:
    """An edge, as the path of an SVG."""

    source: str
    target: str
    path: str


@dataclass(frozen=True)
class Drawing:
    """A graph of a size in pixels. All boxes are of one size."""

    width: int
    height: int
    box_width: int
    box_height: int
    boxes: Sequence[Box]
    curves: Sequence[Curve]


def wide(layers: Layers, box_width: int = 232, box_height: int = 66) -> Drawing:
    """From left to right, a column for each layer."""
    heights = [
        sum((_THIN if isinstance(place, Way) else box_height) + _WIDE_GAP for place in layer) - _WIDE_GAP
        for layer in layers.layers
    ]
    tallest = max(heights, default=0)
    boxes: list[Box] = []
    middles: dict[object, tuple[int, int, int]] = {}
    for column, (layer, height) in enumerate(zip(layers.layers, heights, strict=True)):
        x, y = column * (box_width + _WIDE_SPACE), (tallest - height) // 2
        for place in layer:
            own = _THIN if isinstance(place, Way) else box_height
            middles[place] = (x, x + box_width, y + own // 2)
            if not isinstance(place, Way):
                boxes.append(Box(place, x, y))
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
    columns = len(layers.layers)
    width = columns * box_width + max(columns - 1, 0) * _WIDE_SPACE
    return Drawing(width, tallest, box_width, box_height, boxes, curves)


def narrow(layers: Layers, box_width: int = 158, box_height: int = 66) -> Drawing:
    """From top to bottom, the nodes of a layer in rows; edges run behind the boxes."""
    width = _NARROW_COLUMNS * box_width + (_NARROW_COLUMNS - 1) * _NARROW_GAP
    boxes: dict[str, Box] = {}
    y = 0
    for layer in layers.layers:
        nodes = [place for place in layer if not isinstance(place, Way)]
        rows = [nodes[first : first + _NARROW_COLUMNS] for first in range(0, len(nodes), _NARROW_COLUMNS)]
        for row in rows:
            x = (width - len(row) * box_width - (len(row) - 1) * _NARROW_GAP) // 2
            for place in row:
                boxes[place] = Box(place, x, y)
                x += box_width + _NARROW_GAP
            y += box_height + _NARROW_GAP
        y += _NARROW_SPACE - _NARROW_GAP
    curves = []
    for source, target in layers.edges:
        one, other = boxes[source], boxes[target]
        start = (one.x + box_width // 2, one.y + box_height)
        end = (other.x + box_width // 2, other.y)
        half = (end[1] - start[1]) // 2
        path = f"M{start[0]} {start[1]} C{start[0]} {start[1] + half} {end[0]} {end[1] - half} {end[0]} {end[1]}"
        curves.append(Curve(source, target, path))
    return Drawing(width, max(y - _NARROW_SPACE, 0), box_width, box_height, list(boxes.values()), curves)
