"""The graph has boxes that do not overlap, and curves between them, on wide and narrow screens."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import pytest

from dbt.adapters.spark_iceberg.status_page.drawing import layers_of, narrow, wide

LAYERS = layers_of("abcdefg", [("a", "d"), ("b", "d"), ("c", "d"), ("d", "e"), ("d", "f"), ("a", "g"), ("e", "g")])


@pytest.mark.parametrize("draw", [wide, narrow])
def test_boxes_are_inside_the_drawing_and_do_not_overlap(draw):
    found = draw(LAYERS)
    assert {box.node for box in found.boxes} == set("abcdefg")
    for box in found.boxes:
        assert 0 <= box.x <= found.width - found.box_width
        assert 0 <= box.y <= found.height - found.box_height
    for one, other in combinations(found.boxes, 2):
        assert abs(one.x - other.x) >= found.box_width or abs(one.y - other.y) >= found.box_height


@pytest.mark.parametrize("draw", [wide, narrow])
def test_each_edge_has_a_curve_from_box_to_box(draw):
    found = draw(LAYERS)
    boxes = {box.node: box for box in found.boxes}
    assert {(curve.source, curve.target) for curve in found.curves} == set(LAYERS.edges)
    for curve in found.curves:
        end = boxes[curve.target]
        assert curve.path.endswith(f" {end.x} {end.y + found.box_height // 2}" if draw is wide else f" H{end.x}")


@pytest.mark.parametrize("columns", range(1, 7))
def test_a_wide_drawing_fits_the_page(columns):
    nodes = [str(n) for n in range(columns)]
    assert wide(layers_of(nodes, pairwise(nodes))).width <= 1168


def test_a_graph_with_many_layers_has_no_wide_drawing():
    nodes = [str(n) for n in range(7)]
    assert wide(layers_of(nodes, pairwise(nodes))) is None


def test_each_node_has_its_own_lane_for_edges_in_a_narrow_drawing():
    found = narrow(LAYERS)
    lanes = {}
    for curve in found.curves:
        xs = [int(x) for x in re.findall(r"[MH](\d+)", curve.path)]
        assert max(xs) == found.boxes[0].x
        (x,) = re.findall(r"Q(\d+) (\d+)", curve.path)[:1]
        lanes.setdefault(curve.source, []).append((int(x[0]), int(x[1])))
    shared = {(source, x) for source, several in lanes.items() for x, _ in several}
    assert len(shared) == len(lanes)  # all edges of a node share a lane
    assert all(x > 0 for _, x in shared)


def test_overlapping_edges_have_different_lanes():
    long = layers_of("abcd", [("a", "d"), ("b", "c"), ("c", "d")])
    x = {curve.source: curve.path.partition("Q")[2].split()[0] for curve in narrow(long).curves}
    assert x["a"] != x["b"] and x["a"] != x["c"]
    assert x["b"] == x["c"]  # one edge ends where the other begins


def test_a_narrow_drawing_fits_a_phone():
    assert narrow(LAYERS).width <= 340


@pytest.mark.parametrize("draw", [wide, narrow])
def test_nothing_to_draw(draw):
    assert (draw(layers_of("", [])).width >= 0, draw(layers_of("", [])).height) == (True, 0)
