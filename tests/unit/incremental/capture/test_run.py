"""What a run's checkpoint records about its sources."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.reads import capture
from iceberg_incremental.capture.run import Run, RunState
from iceberg_incremental.capture.run_plan import Action, Read
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.plan.conditional_reads import ConditionalReads
from iceberg_incremental.table.checkpoint import Deletions, RowOrder
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

BEFORE, NOW = (Deletions("lake.ops.staged__ip_deleted", number) for number in (5, 6))
BY_CHANGES = ConditionalReads(changes=frozenset({SOURCE}))
REWRITE = {"deleted-records": "1", "deleted-data-files": "1", "total-records": "8"}
BY_CHANGELOG = ConditionalReads(net_changes=frozenset({SOURCE}))


@pytest.mark.parametrize(
    ("reads", "flags"),
    [(ConditionalReads(), (True, False)), (BY_CHANGES, (False, False)), (BY_CHANGELOG, (False, True))],
)
def test_the_position_of_a_first_build_that_reads_as_of(reads, flags):
    reader = Reader(s=hist(SOURCE, snap(1, None)))
    cuts = Cuts(lambda: reader)
    run = opened(reader, cuts, reads=reads)
    run = capture(run, cuts, SOURCE, Read.AS_OF)
    (position,) = run.next_checkpoint().sources.values()
    assert (position.as_of, position.changelog) == flags


@pytest.mark.parametrize(
    ("reads", "newest", "position"),
    [
        (BY_CHANGES, snap(3, 2), 1),
        (BY_CHANGELOG, snap(3, 2), 1),
        (BY_CHANGES, snap(3, 1, operation="replace"), 3),  # no changes to read later
        (ConditionalReads(), snap(3, 2), 3),
        (ConditionalReads(every=True), snap(3, 2), 3),
    ],
)
def test_a_run_that_skips_the_changes_of_a_source_leaves_them_to_later_runs(reads, newest, position):
    """Its Jinja code reads the source as a whole, and another branch reads the changes."""
    commits = [snap(1, None), newest] if newest.parent_id == 1 else [snap(1, None), snap(2, 1), newest]
    reader = Reader(s=hist(SOURCE, *commits), t=hist(TARGET, carrying(100, None, cp(1, 1))))
    cuts = Cuts(lambda: reader)
    run = opened(reader, cuts, reads=reads)
    pinned = capture(run, cuts, SOURCE, Read.AS_OF)
    assert pinned.next_checkpoint().sources[str(SOURCE)].snapshot_id == position
    assert capture(run, cuts, SOURCE, Read.CHANGES).next_checkpoint().sources[str(SOURCE)].snapshot_id == 3
    assert capture(pinned, cuts, SOURCE, Read.CHANGES).next_checkpoint().sources[str(SOURCE)].snapshot_id == 3


def test_a_run_that_skips_the_changes_of_a_new_source_records_no_position():
    """Otherwise, a later run that reads the changes would skip the rows before this run."""
    target = hist(TARGET, carrying(100, None, cp(1, 1)))
    reader = Reader(s=hist(SOURCE, snap(1, None)), o=hist(OTHER, snap(1, None)), t=target)
    cuts = Cuts(lambda: reader)
    run = capture(opened(reader, cuts, reads=ConditionalReads(changes=frozenset({OTHER}))), cuts, OTHER, Read.AS_OF)
    assert capture(run, cuts, SOURCE, Read.CHANGES).next_checkpoint().sources.keys() == {str(SOURCE)}


@pytest.mark.parametrize("reads_all", [False, True])
def test_a_run_that_replaces_all_rows_records_that_it_read_whole_sources(reads_all):
    totals = {"total-records": "80", "total-files-size": "4000"}
    reader = Reader(s=hist(SOURCE, snap(1, None), snap(2, 1, totals)), t=hist(TARGET, carrying(100, None, cp(1, 1))))
    run = replace(capture(opened(reader), Cuts(lambda: reader), SOURCE, Read.CHANGES), reads_all=reads_all)
    checkpoint = run.next_checkpoint()
    (position,) = checkpoint.sources.values()
    assert (position.snapshot_id, position.continues) == (2, not reads_all)
    (share,) = checkpoint.shares.values()
    assert (share.records == share.table_records == 80) is reads_all


@pytest.mark.parametrize(("rows", "expected"), [(["40", "60000"], True), (["40000", "60001"], False), (["40"], False)])
def test_a_table_is_not_ordered_if_all_sources_are_known_to_be_small(rows, expected):
    """Without totals, a source may have any number of rows."""
    totals = [{"total-records": each, "total-files-size": "4000"} for each in rows]
    of_source, of_other = [*totals, {}][:2]
    reader = Reader(s=hist(SOURCE, snap(1, None, of_source)), o=hist(OTHER, snap(1, None, of_other)))
    cuts = Cuts(lambda: reader)
    plan = capture(capture(opened(reader, cuts), cuts, SOURCE, Read.CHANGES), cuts, OTHER, Read.AS_OF)
    assert plan.has_few_rows is expected


ORDERED = {"incremental_strategy": "merge", "unique_key": "id", "sequence_by": ["At", "`n`"]}


@pytest.mark.parametrize(
    ("remembered", "carried"), [(None, None), (BEFORE, BEFORE), (NOW, NOW)], ids=["none", "before", "now"]
)
def test_a_run_records_the_remembered_deletions(remembered, carried):
    before = replace(cp(1, 1), sequence=RowOrder(("at", "n"), None if remembered is None else BEFORE))
    reader = Reader(s=hist(SOURCE, snap(1, None), snap(2, 1)), t=hist(TARGET, carrying(100, None, before)))
    run = opened(reader, config=ORDERED)
    run = capture(run, Cuts(lambda: reader), SOURCE, Read.CHANGES)
    state = RunState(deletions=NOW if remembered is NOW else None)
    assert Run(run, state).next_checkpoint().sequence == RowOrder(("at", "n"), carried, ("id",))


def test_a_rebuild_forgets_earlier_deletions():
    before = replace(cp(1, 1), sequence=RowOrder(("at", "n"), BEFORE))
    reader = Reader(s=hist(SOURCE, snap(1, None)), t=hist(TARGET, carrying(100, None, before)))
    run = opened(reader, config=ORDERED, full_refresh=True)
    assert run.next_checkpoint().sequence == RowOrder(("at", "n"), None, ("id",))


@pytest.mark.parametrize(
    ("commit", "action", "is_kept"),
    [(snap(2, 1, REWRITE, "overwrite"), Action.ADVANCE, True), (snap(2, 1), Action.APPLY, False)],
    ids=["no rows", "rows"],
)
def test_a_run_without_rows_keeps_the_recorded_order(commit, action, is_kept):
    """If `sequence_by` is removed and restored before new rows arrive, the table still has this order."""
    before = replace(cp(1, 1), sequence=RowOrder(("at", "n"), BEFORE, ("id",)))
    reader = Reader(s=hist(SOURCE, snap(1, None), commit), t=hist(TARGET, carrying(100, None, before)))
    run = opened(reader, config={"on_source_rewrite": "ignore"})
    run = capture(run, Cuts(lambda: reader), SOURCE, Read.CHANGES)
    assert run.action is action
    assert run.next_checkpoint().sequence == (before.sequence if is_kept else None)


@pytest.mark.parametrize("kept", [None, RowOrder(("at",), BEFORE)])
def test_a_table_with_another_order_is_refused(kept):
    before = replace(cp(1, 1), sequence=kept)
    reader = Reader(s=hist(SOURCE, snap(1, None)), t=hist(TARGET, carrying(100, None, before)))
    with pytest.raises(ConfigError, match="was not built with sequence_by at, n"):
        opened(reader, config=ORDERED)


def test_an_emptied_source_that_is_read_as_of_is_applied():
    reader = Reader(s=hist(SOURCE, uuid="made again"), t=hist(TARGET, carrying(100, None, cp(1, 1, as_of=True))))
    cuts = Cuts(lambda: reader)
    run = opened(reader, cuts)
    run = capture(run, cuts, SOURCE, Read.AS_OF)
    assert run.action is Action.APPLY  # otherwise rows that were joined with the removed rows would remain
