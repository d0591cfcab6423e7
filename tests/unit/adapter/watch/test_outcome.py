"""Which nodes fail according to dbt's results."""

from __future__ import annotations

from types import SimpleNamespace

from dbt.adapters.spark_iceberg.watch.build import Outcome, outcome_of


def result(name, status, kind="model", reads=(), message=None, response=None):
    depends = SimpleNamespace(nodes=list(reads))
    node = SimpleNamespace(unique_id=f"{kind}.shop.{name}", name=name, resource_type=kind, depends_on=depends)
    return SimpleNamespace(node=node, status=status, message=message, adapter_response=response)


A, B, C = "model.shop.a", "model.shop.b", "model.shop.c"


def test_built_failed_and_skipped_models():
    found = outcome_of(
        [result("a", "success"), result("b", "error", message="no\n"), result("c", "skipped")], {A, B, C}
    )

    assert found == Outcome(frozenset({A}), {B: "no"}, passed=frozenset({A}))


def test_a_failing_test_is_a_failure_of_the_nodes_that_it_reads():
    found = outcome_of(
        [
            result("a", "success"),
            result("not_null_a_id", "fail", "test", [A], "Got 2 results"),
            result("unique_a_id", "error", "test", [A], "no such column"),
            result("b", "skipped"),
        ],
        {A, B},
    )

    assert found == Outcome(frozenset(), {A: "not_null_a_id: Got 2 results\nunique_a_id: no such column"})


def test_a_failing_test_that_also_reads_a_node_that_was_not_built():
    found = outcome_of([result("a", "success"), result("relationships", "fail", "test", [A, C], "2")], {A})

    assert found == Outcome(frozenset(), {A: "relationships: 2"})


def test_the_epochs_of_built_models():
    results = [result("a", "success", response={"ip": {"epoch": 7}}), result("b", "success", response={"code": "OK"})]
    failing = result("t", "fail", "test", [A], "2")

    assert outcome_of(results, {A, B}).epochs == {A: 7}
    assert outcome_of([*results, failing], {A, B}).epochs == {A: 7}


def test_a_warning_is_not_a_failure():
    tests = [result("t", "warn", "test", [A], "2"), result("u", "pass", "test", [A])]

    assert outcome_of([result("a", "success"), *tests], {A}) == Outcome(frozenset({A}), passed=frozenset({A}))


def test_a_node_with_an_excluded_test_does_not_count_as_passed():
    tests = [result("a", "success"), result("u", "pass", "test", [A])]

    assert outcome_of(tests, {A}, half_judged={A}).passed == frozenset()


def test_a_failing_hook_is_a_separate_failure():
    found = outcome_of([result("on-run-start-0", "error", "operation", message="no"), result("a", "skipped")], {A})

    assert found == Outcome(frozenset(), {"operation.shop.on-run-start-0": "no"})
