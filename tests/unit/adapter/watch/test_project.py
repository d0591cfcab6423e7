"""Which data tests a build runs, and which it excludes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_iceberg.watch.due import Dag
from dbt.adapters.spark_iceberg.watch.project import DbtOptions, Project

A, B, C, SEED = "model.shop.a", "model.shop.b", "model.shop.c", "seed.shop.s"


def node(name, *reads, kind="model"):
    unique_id = f"{kind}.shop.{name}"
    depends_on = {"macros": []} if kind == "seed" else {"nodes": list(reads), "macros": []}
    return {
        "unique_id": unique_id, "name": name, "fqn": ["shop", name], "resource_type": kind, "depends_on": depends_on,
        "original_file_path": f"{name}.sql", "config": {},
    }  # fmt: skip


def project(unselected=()):
    """A project in which A and B read a seed, and C reads A."""
    nodes = [
        node("s", kind="seed"), node("a", SEED), node("b", SEED), node("c", A),
        node("of_a", A, kind="test"), node("of_b", B, kind="test"), node("a_in_b", A, B, kind="test"),
        node("of_s", SEED, kind="test"),
    ]  # fmt: skip
    graph = {"nodes": {each["unique_id"]: each for each in nodes}}
    tests = {name for name in graph["nodes"] if name.startswith("test.")} - {*unselected}
    dag = Dag.of(graph, [A, B, C, SEED])
    config = SimpleNamespace(credentials=SimpleNamespace(database="lake"))
    return Project(DbtOptions(), config, None, graph, {}, dag, {}, frozenset(tests), frozenset(unselected))


@pytest.mark.parametrize(
    ("due", "failing", "unripe", "before", "excluded", "half_judged"),
    [
        ([A], [], [], {"of_s"}, set(), set()),
        ([A], [B], [], {"of_s"}, {"a_in_b"}, {A, B}),
        ([A], [], [B], {"of_s"}, {"a_in_b"}, {A, B}),  # B has pending commits, but is not ready
        ([B], [A], [], {"of_s"}, {"a_in_b"}, {A, B}),
        ([C], [], [], {"of_a", "a_in_b"}, set(), set()),
        ([C], [B], [], {"of_a"}, set(), {A, B}),
        ([SEED], [], [], set(), set(), set()),
    ],
)
def test_tests_that_read_a_waiting_node_are_excluded(due, failing, unripe, before, excluded, half_judged):
    found = project()
    reach = found.dag.reach(due, failing, unripe)

    assert {name.removeprefix("test.shop.") for name in found.tests_before(reach)} == before
    assert {term.removeprefix("shop.") for term in found.excluded(reach)} == excluded
    assert found.half_judged(reach) == half_judged


def test_unselected_tests_are_excluded():
    found = project(["test.shop.of_a"])

    assert found.excluded(found.dag.reach([A])) == ["shop.of_a"]
