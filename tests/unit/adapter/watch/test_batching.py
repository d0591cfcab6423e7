"""When a due model is built: at once, when its sources are quiet, or when a limit is reached."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.watch.due import Batching

from .statuses import status

NOW = 1_000.0


@pytest.mark.parametrize(
    ("batching", "commits", "changed", "due_since", "ripe"),
    [
        (Batching(), 1, {"lake.raw.events": NOW}, NOW, True),
        (Batching(debounce=5), 1, {}, NOW, True),  # it was already due at the first check
        (Batching(debounce=5), 1, {"lake.raw.events": NOW - 4.9}, NOW - 5, False),
        (Batching(debounce=5), 1, {"lake.raw.events": NOW - 5}, NOW - 5, True),
        (Batching(debounce=5), 1, {"lake.raw.others": NOW}, NOW - 5, True),  # not one of its sources
        (Batching(debounce=5, max_batch=3), 2, {"lake.raw.events": NOW}, NOW, False),
        (Batching(debounce=5, max_batch=3), 3, {"lake.raw.events": NOW}, NOW, True),
        (Batching(debounce=5, max_wait=60), 1, {"lake.raw.events": NOW}, NOW - 59, False),
        (Batching(debounce=5, max_wait=60), 1, {"lake.raw.events": NOW}, NOW - 60, True),
    ],
)
def test_is_ripe(batching, commits, changed, due_since, ripe):
    assert batching.is_ready(status(commits=commits), changed, due_since, NOW) == ripe


def test_all_sources_must_be_quiet():
    both = status(sources=("lake.raw.events", "lake.raw.others"))
    changed = {"lake.raw.events": NOW - 9, "lake.raw.others": NOW - 1}

    assert not Batching(debounce=5).is_ready(both, changed, NOW, NOW)
    assert Batching(debounce=1).is_ready(both, changed, NOW, NOW)
