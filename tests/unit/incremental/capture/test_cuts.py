"""Cuts. Each source is read once per invocation, and all models see the same state of it."""

from __future__ import annotations

from dataclasses import replace

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.errors import MetadataAccessError
from iceberg_incremental.plan.breaks import Break, Reason
from iceberg_incremental.plan.changes import plan_changes, plan_whole
from iceberg_incremental.plan.policy import Cause
from iceberg_incremental.table.files import ChangedFiles, FileDifference
from tests.unit.incremental import histories as h
from tests.unit.incremental.data_files import file
from tests.unit.incremental.runs import OTHER, SOURCE, hist, snap

ONE, TWO = hist(SOURCE, snap(1, None)), hist(SOURCE, snap(1, None), snap(2, 1))
OTHERS = hist(OTHER, snap(51, None))


class Reader:
    """Returns each table's histories in order, and then the last one repeatedly. None means that no table exists."""

    def __init__(self, **tables):
        self.tables = {history[0].table: list(history) for history in tables.values()}
        self.loads = []
        self.reads = []

    def load(self, table):
        self.loads.append(table)
        found = self.tables.get(table, [None])
        if isinstance(found[0], Exception):
            raise found[0]
        return found.pop(0) if len(found) > 1 else found[0]

    def changed_files(self, history, start, end):
        self.reads.append((start, end))
        return ChangedFiles((), ())

    def data_files(self, history, asked):
        self.reads.append((asked.snapshot_id, asked.added_by, asked.since))
        return ChangedFiles((), ())

    def older(self, history):
        yield hist(SOURCE, *(snap(number, number - 1 or None) for number in range(1, 5)))


def cuts_of(**tables):
    reader = Reader(**tables)
    return Cuts(lambda: reader), reader


def test_a_table_is_cut_once():
    cuts, reader = cuts_of(s=[ONE, TWO])
    assert cuts.of(SOURCE).end.snapshot_id == cuts.of(SOURCE).end.snapshot_id == 1
    assert reader.loads == [SOURCE]
    assert cuts.reload(SOURCE).current_snapshot_id == 2
    assert cuts.of(SOURCE).end.snapshot_id == 1


def test_a_missing_table_is_looked_up_again():
    cuts, reader = cuts_of()
    assert cuts.of(SOURCE) is None
    reader.tables[SOURCE] = [ONE]
    assert cuts.of(SOURCE).end.snapshot_id == 1


def test_tables_are_cut_as_of_the_same_time():
    """The source changes between two reads. The cut is as of a time at which both heads were current."""
    cuts, reader = cuts_of(s=[ONE, TWO], o=[OTHERS])
    cuts.take_together(lambda: [SOURCE, OTHER])
    assert cuts.of(SOURCE).end.snapshot_id == 2
    assert reader.loads.count(SOURCE) == reader.loads.count(OTHER) == 3
    cuts.take_together(lambda: (_ for _ in ()).throw(AssertionError("only once")))


def test_a_single_table_is_not_read_ahead():
    cuts, reader = cuts_of(s=[ONE])
    cuts.take_together(lambda: [SOURCE])
    assert reader.loads == []


def test_a_table_that_is_built_after_its_cut_is_cut_once_more():
    cuts, reader = cuts_of(s=[ONE, TWO, ONE])
    assert cuts.of(SOURCE).end.snapshot_id == 1
    cuts.renew([SOURCE])
    assert cuts.of(SOURCE).end.snapshot_id == 2
    cuts.renew([SOURCE])
    assert cuts.of(SOURCE).end.snapshot_id == 2 and reader.loads == [SOURCE] * 2


def test_a_table_without_a_cut_is_not_read_ahead_by_its_readers():
    cuts, reader = cuts_of(s=[ONE, TWO])
    cuts.renew([SOURCE])
    assert reader.loads == []
    assert cuts.of(SOURCE).end.snapshot_id == 1
    cuts.renew([SOURCE])
    assert cuts.of(SOURCE).end.snapshot_id == 1


def test_a_history_is_completed_again_for_a_cut_that_was_renewed():
    cuts, _ = cuts_of()
    for last in (5, 6):
        history = hist(SOURCE, *(snap(number, number - 1) for number in range(4, last + 1)))
        broken = Break(Cause.EXPIRED, history, h.at(1), history.current, Reason.COMMITS_EXPIRED)
        commits = cuts.completed(broken).commits_since(1, history.current)
        assert [commit.snapshot_id for commit in commits] == list(range(2, last + 1))


def test_an_unreadable_table_does_not_affect_other_tables():
    cuts, reader = cuts_of(s=[ONE], o=[OTHERS])
    reader.tables[OTHER] = [MetadataAccessError("gone")]
    cuts.take_together(lambda: [SOURCE, OTHER])
    assert cuts.of(SOURCE).end.snapshot_id == 1


def test_files_are_read_once_for_all_models():
    cuts, reader = cuts_of(s=[TWO])
    for _ in range(2):
        cuts.changed_files(TWO, 1, 2)
    assert reader.reads == [(1, 2)]


def test_the_files_of_a_range():
    cuts, reader = cuts_of(s=[TWO])
    cuts.of(SOURCE)
    start = replace(h.at(1), table_uuid=TWO.table_uuid)
    for planned in (plan_changes(TWO, start, TWO.current), plan_whole(TWO, TWO.current)):
        assert cuts.files_of(planned) is cuts.files_of(planned)
    assert reader.reads == [(2, (2,), 1), (2, None, None)]
    assert cuts.files_of(plan_whole(replace(TWO, current_snapshot_id=None), None)) is None


def test_a_file_may_be_listed_twice_unless_commits_wrote_their_own_files():
    cuts, _ = cuts_of(s=[TWO])
    added = ChangedFiles((), (), FileDifference((), (file(),), ()))
    assert cuts.has_twice(TWO, [snap(2, 1)], added)  # no summary proves that the commit wrote its own files
    assert not cuts.has_twice(TWO, [snap(2, 1, h.APPEND)], added)
