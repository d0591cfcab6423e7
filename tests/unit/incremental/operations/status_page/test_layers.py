"""The layers of a graph. Each node comes after the nodes that it reads, and few edges cross."""

from __future__ import annotations

from graphlib import CycleError
from itertools import pairwise, product

import pytest

from dbt.adapters.spark_iceberg.status_page.drawing import EdgePoint, Layers, layers_of


def crossings(found: Layers) -> int:
    """The number of crossings of edges between adjacent layers."""
    rank = {place: index for layer in found.layers for index, place in enumerate(layer)}
    depth = {place: number for number, layer in enumerate(found.layers) for place in layer}
    steps = [step for places in found.edges.values() for step in pairwise(places)]
    return sum(
        depth[a] == depth[c] and rank[a] < rank[c] and rank[b] > rank[d] for (a, b), (c, d) in product(steps, repeat=2)
    )


def test_a_node_comes_after_all_nodes_that_it_reads():
    found = layers_of("abcd", ["ab", "bc", "ac", "cd"])
    assert [[each for each in layer if isinstance(each, str)] for layer in found.layers] == [["a"], ["b"], ["c"], ["d"]]


def test_a_long_edge_has_a_place_in_each_layer_that_it_passes():
    found = layers_of("abcd", ["ab", "bc", "cd", "ad"])
    assert found.edges["a", "d"] == ["a", EdgePoint("a", "d", 1), EdgePoint("a", "d", 2), "d"]
    assert EdgePoint("a", "d", 1) in found.layers[1]


def test_crossings_are_removed():
    edges = [(f"s{number}", f"t{9 - number}") for number in range(10)]
    assert crossings(layers_of([name for edge in edges for name in edge], edges)) == 0


@pytest.mark.parametrize(("nodes", "edges", "layers"), [("", [], 0), ("ab", [], 1)])
def test_small_graphs(nodes, edges, layers):
    assert len(layers_of(nodes, edges).layers) == layers


def test_a_cycle_has_no_layers():
    with pytest.raises(CycleError):
        layers_of("ab", ["ab", "ba"])
