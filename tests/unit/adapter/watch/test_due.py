"""Which nodes are built if models are due, and which nodes wait for a failing one."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.watch.due import Dag

from .statuses import status, up_to_date

# events -> a -> b -> c -> v, and b -> d; other -> e; c and e -> f
PARENTS = {
    "a": ["events"],
    "b": ["a"],
    "c": ["b"],
    "d": ["b"],
    "v": ["c"],
    "e": ["other"],
    "f": ["c", "e"],
}
ALL = PARENTS.keys()


@pytest.mark.parametrize(
    ("selected", "due", "failing", "begins", "nodes"),
    [
        (ALL, [], [], "", ""),
        (ALL, "a", [], "a", "abcdfv"),
        (ALL, "c", [], "c", "cfv"),
        (ALL, "ac", [], "ac", "abcdfv"),
        ("abd", "a", [], "a", "abd"),  # downstream within the selection
        ("ac", "a", [], "a", "ac"),  # through a node that is not selected
        ("bc", "a", [], "", ""),  # a node that is not selected is not built
        (ALL, "ae", "c", "ae", "abde"),  # nodes downstream of c wait: v, and also f, although it is downstream of e
        (ALL, "ab", "a", "", ""),
        (ALL, "e", "a", "e", "e"),
        (ALL, "a", ["events"], "", ""),
    ],
)
def test_reach(selected, due, failing, begins, nodes):
    reach = Dag(PARENTS, list(selected)).reach(list(due), list(failing))

    assert (reach.due, reach.nodes) == (set(begins), set(nodes))


def test_the_dag_from_dbts_graph():
    seed = {"depends_on": {"macros": []}}  # as in dbt's graph
    graph = {"nodes": {"a": {"depends_on": {"nodes": ["seed"]}}, "b": {"depends_on": {"nodes": ["a"]}}, "seed": seed}}

    assert Dag.of(graph, ["a", "b", "seed"]).reach(["seed"]).nodes == {"seed", "a", "b"}
    graph["nodes"]["a"]["config"] = {"materialized": "ephemeral"}
    assert Dag.of(graph, ["a", "b"]).selected == {"b"}


def test_a_node_that_reads_a_model_through_a_function_is_downstream():
    graph = {
        "nodes": {"a": {"depends_on": {"nodes": []}}, "b": {"depends_on": {"nodes": ["function.f"]}}},
        "functions": {"function.f": {"depends_on": {"nodes": ["a"]}}},
    }

    assert Dag.of(graph, ["a", "b"]).reach(["a"]).nodes == {"a", "b"}


@pytest.mark.parametrize(
    ("due", "failing", "unripe", "waiting"),
    [
        ("a", "", "", ""),
        ("a", "e", "", "ef"),  # nodes downstream of e also wait
        ("e", "c", "", "cvf"),
        ("e", "", "b", "bcdv"),  # f reads c, and is built because e is due
        ("ae", "", "c", ""),  # c is built with a
    ],
)
def test_waiting_nodes_are_not_built(due, failing, unripe, waiting):
    reach = Dag(PARENTS, list(ALL)).reach(list(due), list(failing), list(unripe))

    assert reach.waiting == set(waiting)
    assert not reach.waiting & reach.nodes


def test_lag_is_the_age_of_the_oldest_unread_commit():
    assert status(since=1_000).lag_ms(now_ms=61_000) == 60_000
    assert status(since=90_000).lag_ms(now_ms=61_000) == 0
    assert status(error="no").lag_ms(now_ms=61_000) is None
    assert up_to_date().lag_ms(now_ms=61_000) == 0


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (status(), status(), True),
        (status(), status(epoch=2), False),  # a run has committed, and new commits have arrived
        (status(commits=5), status(commits=3), False),
        (status(), up_to_date(), False),
        (up_to_date(), status(), False),  # its parent has committed in the meantime
        (status(), status(error="no"), False),
    ],
)
def test_as_due_as_before(before, after, same):
    assert after.is_as_due_as(before) == same
