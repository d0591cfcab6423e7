"""When a failed node is retried."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.watch.due import Backoff, Failures

BACKOFF = Backoff(first=5, longest=60)


@pytest.mark.parametrize(("failures", "delay"), [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (10_000, 60)])
def test_the_delay_doubles_up_to_a_maximum(failures, delay):
    assert BACKOFF.delay(failures) == delay


def test_a_node_waits_longer_after_each_failure_until_it_is_fixed():
    none = Failures(BACKOFF)
    assert not none.waits("a", now=0)

    one = none.add("a", "no", now=100)
    assert one.waits("a", now=104)
    assert not one.waits("a", now=105)
    assert not one.waits("b", now=104)

    two = one.add("a", "no", now=105)
    assert two.waits("a", now=114)
    assert not two.waits("a", now=115)
    assert (two.nodes["a"].since, two.nodes["a"].failures) == (100, 2)

    assert not two.drop(["a"]).waits("a", now=106)
    assert not none.nodes  # Failures is immutable


def test_a_new_version_of_the_project_is_tried_at_once():
    three = Failures(BACKOFF).add("a", "no", 0).add("a", "no", 5).add("a", "no", 15)
    tried = three.retry_all(16)
    assert not tried.waits("a", 16)
    again = tried.add("a", "no", 17).nodes["a"]
    assert (again.failures, again.since, again.retry_at, again.is_repeated) == (1, 0, 22, False)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("no", "no", True),
        ("not_null: Got 1 result", "not_null: Got 12 result", True),
        ("Task 0 in stage 57.0 failed", "Task 3 in stage 61.0 failed", True),
        ("branch ip_1b4e28ba-2fa1-11d2-883f-0016d3cca427", "branch ip_6fa459ea-ee8a-3ca4-894e-db77e160355e", True),
        ("a: 1\nb: 2", "b: 2\na: 1", True),  # the order of tests varies
        ("no column a", "no column b", False),
        ("a: 1", "a: 1\nb: 2", False),
    ],
)
def test_the_same_error_again(first, second, same):
    assert Failures(BACKOFF).add("x", first, 0).add("x", second, 5).nodes["x"].is_repeated == same
