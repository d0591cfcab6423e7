"""Opening a run: whether it continues or rebuilds its table, and which sources decide this."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.plan.conditional_reads import ConditionalReads
from tests.unit.incremental.runs import (
    OTHER,
    SOURCE,
    TARGET,
    Reader,
    carrying,
    cp,
    hist,
    opened,
    snap,
)

AS_OF = {"as_of": True}
BY_CHANGES = ConditionalReads(changes=frozenset({SOURCE}))
BY_CHANGELOG = ConditionalReads(net_changes=frozenset({SOURCE}))
REFRESH = {"on_source_rewrite": "full_refresh"}
REWRITE = {"deleted-records": "1", "deleted-data-files": "1", "total-records": "8"}


def test_a_policy_does_not_rebuild_a_table_under_empty():
    rebuilt = hist(SOURCE, snap(9, None), uuid="created-again")
    reader = Reader(s=rebuilt, t=hist(TARGET, carrying(100, None, cp(5, 3))))
    run = opened(reader)  # on_history_break: {rebuilt: full_refresh} is the default
    run = replace(run, passes_through=True)  # as under --empty and --sample
    assert run.action is Action.CHECK_ONLY


def test_a_source_that_the_sql_no_longer_reads_is_not_cut():
    """The model used to read `other`. It no longer does, so dbt may run it before `other`, which other models read."""
    reader = Reader(
        s=hist(SOURCE, snap(1, None)),
        o=hist(OTHER, snap(50, None)),
        t=hist(TARGET, carrying(100, None, cp(1, 50, source=OTHER))),
    )
    cuts = Cuts(lambda: reader)
    opened(reader, cuts)
    reader.tables[OTHER] = hist(OTHER, snap(50, None), snap(51, 50))  # built in this invocation
    assert cuts.of(OTHER).end.snapshot_id == 51


@pytest.mark.parametrize(
    ("reads", "config", "rebuilds"),
    [
        (ConditionalReads(), {}, False),
        (BY_CHANGES, {}, True),
        (BY_CHANGELOG, {}, True),
        (ConditionalReads(every=True), {}, True),
    ],
)
def test_a_rebuilt_source_that_was_read_as_of_matters_if_other_runs_read_its_changes(reads, config, rebuilds):
    source = hist(SOURCE, snap(2, None), uuid="another")
    reader = Reader(s=source, t=hist(TARGET, carrying(100, None, cp(1, 1, **AS_OF))))
    assert opened(reader, config=config, reads=reads).is_rebuild is rebuilds


@pytest.mark.parametrize(
    ("reads", "rebuilds"), [(ConditionalReads(), False), (BY_CHANGES, True), (BY_CHANGELOG, False)]
)
def test_a_rewritten_source_that_was_read_as_of_matters_if_other_runs_read_ip_changes(reads, rebuilds):
    source = hist(SOURCE, snap(1, None), snap(2, 1, REWRITE, "overwrite"))
    reader = Reader(s=source, t=hist(TARGET, carrying(100, None, cp(1, 1, **AS_OF))))
    assert opened(reader, config=REFRESH, reads=reads).is_rebuild is rebuilds


@pytest.mark.parametrize(
    ("was_changelog", "reads", "rebuilds"),
    [
        (True, ConditionalReads(always=frozenset({SOURCE}), always_rows=frozenset({SOURCE})), True),
        (False, ConditionalReads(always=frozenset({SOURCE})), False),
        (True, ConditionalReads(), False),
        (False, ConditionalReads(), True),
    ],
)
def test_the_macro_of_edited_sql_decides_whether_a_rewrite_rebuilds(was_changelog, reads, rebuilds):
    source = hist(SOURCE, snap(1, None), snap(2, 1, REWRITE, "overwrite"))
    reader = Reader(s=source, t=hist(TARGET, carrying(100, None, cp(1, 1, changelog=was_changelog))))
    assert opened(reader, config=REFRESH, reads=reads).is_rebuild is rebuilds
