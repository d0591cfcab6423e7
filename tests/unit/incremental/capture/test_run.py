"""What a run commits of its sources."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.incremental.capture.cuts import Cuts
from dbt.adapters.spark_iceberg.incremental.capture.reads import capture_as_of
from dbt.adapters.spark_iceberg.incremental.capture.run import Action
from dbt.adapters.spark_iceberg.incremental.project.conditional_reads import ConditionalReads
from tests.unit.incremental.runs import (
    SOURCE,
    TARGET,
    Reader,
    carrying,
    cp,
    hist,
    opened,
    snap,
)

BY_CHANGES = ConditionalReads(changes=frozenset({SOURCE}))
BY_CHANGELOG = ConditionalReads(net_changes=frozenset({SOURCE}))


@pytest.mark.parametrize(
    ("reads", "flags"),
    [(ConditionalReads(), (True, False)), (BY_CHANGES, (False, False)), (BY_CHANGELOG, (False, True))],
)
def test_what_a_first_build_as_of_says_of_its_position(reads, flags):
    reader = Reader(s=hist(SOURCE, snap(1, None)))
    cuts = Cuts(lambda: reader)
    run = opened(reader, cuts, reads=reads)
    capture_as_of(run, cuts, SOURCE)
    (position,) = run.next_checkpoint().sources.values()
    assert (position.as_of, position.changelog) == flags


def test_a_whole_table_that_was_emptied_is_applied():
    reader = Reader(s=hist(SOURCE, uuid="made again"), t=hist(TARGET, carrying(100, None, cp(1, 1, as_of=True))))
    cuts = Cuts(lambda: reader)
    run = opened(reader, cuts)
    capture_as_of(run, cuts, SOURCE)
    assert run.action is Action.APPLY  # rows that were joined with the table's would stay as they are otherwise
