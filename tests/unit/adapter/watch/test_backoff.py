"""When a node that failed is tried again."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.watch.backoff import Backoff, Failures

BACKOFF = Backoff(first=5, longest=60)


@pytest.mark.parametrize(("failures", "delay"), [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (10_000, 60)])
def test_the_delay_doubles_up_to_the_longest(failures, delay):
    assert BACKOFF.delay(failures) == delay


def test_a_node_waits_longer_after_each_failure_and_no_longer_once_it_is_mended():
    none = Failures(BACKOFF)
    assert not none.waits("a", "s1", now=0)

    one = none.add("a", "no", "s1", now=100)
    assert one.waits("a", "s1", now=104)
    assert not one.waits("a", "s1", now=105)
    assert not one.waits("b", "s1", now=104)

    two = one.add("a", "no", "s1", now=105)
    assert two.waits("a", "s1", now=114)
    assert not two.waits("a", "s1", now=115)

    assert not two.drop(["a"]).waits("a", "s1", now=106)
    assert not none.nodes  # each is a value of its own


def test_new_inputs_end_the_wait_at_the_first_delay():
    three = Failures(BACKOFF)
    for now in (0, 5, 15):
        three = three.add("a", "no", "s1", now)
    assert three.waits("a", "s1", now=34)
    assert not three.waits("a", "s2", now=34)
    assert three.waits("a", "s2", now=19)  # a source that is committed to all the time does not make a model run so

    again = three.add("a", "no", "s2", now=20)
    assert again.nodes["a"].failures == 1
