"""The outcome of reading a source, for each kind of history and policy. All metadata is literal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from iceberg_incremental.capture.cuts import Cut
from iceberg_incremental.capture.source_policy import calls_for_rebuild, outcome
from iceberg_incremental.errors import MetadataAccessError
from iceberg_incremental.plan.breaks import Break, Obstacle, Reason
from iceberg_incremental.plan.changes import Rewritten
from iceberg_incremental.plan.policy import Cause, OnBreak, OnRewrite, Policy, Strategy
from iceberg_incremental.plan.ranges import MAX_ADDITIONS, Appends, NetChanges, Nothing
from iceberg_incremental.plan.recovery import MOST_FILES, Recovered
from iceberg_incremental.plan.refusals import Incomparable, TooManyAdditions, Unreadable, UnreadableOverwrite
from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from iceberg_incremental.table.history import History, Snapshot, TableName
from tests.unit.incremental import histories as h

ID, CHANGE_TYPE, FILE = (
    TableColumn(1, "id", "int"),
    TableColumn(2, "_change_type", "int"),
    TableColumn(3, "_FILE", "int"),
)
VARIANT = TableColumn(4, "w", "variant")
SOME = FileDifference((), (DataFile("a.parquet", 5, 50),), ())
PLAIN = ChangedFiles((ID,), (ID,), SOME, without_deletes=True, has_present_columns=True)
BESIDE_DELETES = replace(PLAIN, without_deletes=False)

FAILS = Policy()
UPSERTS = Policy(strategy=Strategy.MERGE, unique_key=("id",), on_source_rewrite=OnRewrite.UPSERTS)
EXPIRED_REBUILDS = {**dict.fromkeys(Cause, OnBreak.FAIL), Cause.EXPIRED: OnBreak.FULL_REFRESH}


@dataclass
class Known:
    """Further metadata of a source, as a reader would return it."""

    changed: ChangedFiles = PLAIN
    added: ChangedFiles | None = PLAIN
    twice: bool = False
    now: History | None = None

    def reload(self, table: TableName) -> History | None:
        return self.now

    def completed(self, broken: Break) -> History:
        known = h.history(*h.chain(9)).snapshots
        return replace(broken.history, snapshots={**known, **broken.history.snapshots})

    def changed_files(self, history: History, start: int, end: int) -> ChangedFiles:
        return self.changed

    def added_files(self, found: Recovered) -> ChangedFiles | None:
        return self.added

    def has_twice(self, history: History, commits: Sequence[Snapshot], added: ChangedFiles) -> bool:
        return self.twice


APPENDED = h.history(*h.chain(3))
REWRITTEN = h.history(*h.chain(2), h.snapshot(3, 2, "overwrite", h.OVERWRITE))
ADDED = h.history(*h.chain(2), h.snapshot(3, 2, "overwrite", h.ADDITION))
EXPIRED = h.history(*h.chain(3, first=4))
HELD = h.history(h.snapshot(2, 1), *h.chain(3, first=4))
ROLLED_BACK = h.history(*h.chain(3), head=1)


def of(history, policy=FAILS, *, known=None, changelog=False, at=2):
    cut = Cut(history, history.current)
    return outcome(known or Known(), cut, h.at(at), policy, changelog=changelog)


@pytest.mark.parametrize(
    ("history", "policy", "changelog", "expected"),
    [
        (APPENDED, Policy(), False, Appends),
        (APPENDED, UPSERTS, True, Appends),
        (REWRITTEN, Policy(on_source_rewrite=OnRewrite.FULL_REFRESH), False, Rewritten),
        (REWRITTEN, Policy(on_source_rewrite=OnRewrite.IGNORE), False, Nothing),
        (REWRITTEN, Policy(on_source_rewrite=OnRewrite.IGNORE), True, NetChanges),
        (REWRITTEN, Policy(), True, NetChanges),
        (REWRITTEN, UPSERTS, False, NetChanges),
        (ADDED, Policy(), False, Appends),
        (ROLLED_BACK, Policy(), False, Break),
    ],
)
def test_the_outcome_of_each_history_and_policy(history, policy, changelog, expected):
    assert isinstance(of(history, policy, changelog=changelog), expected)


OLD, NEW = DataFile("old.parquet", 5, 50), DataFile("new.parquet", 4, 40)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (FileDifference((), (NEW,), ()), NetChanges),
        (FileDifference((), (), ()), Nothing),
        (FileDifference((OLD,), (NEW,), ()), Rewritten),
        (FileDifference((OLD,), (), ()), Rewritten),
        (FileDifference((), (NEW,), (OLD,)), Rewritten),
        (FileDifference((), (NEW,), (), has_repeated=True), Rewritten),
        (FileDifference((), (NEW,) * (MOST_FILES + 1), ()), Rewritten),
        (None, Rewritten),
    ],
    ids=["adds", "nothing_left", "a_file_went", "rows_went", "rows_deleted_in_place", "twice", "too_many", "unlisted"],
)
def test_a_range_that_changed_only_rows_of_its_own_is_read(files, expected):
    known = Known(replace(BESIDE_DELETES, files=files))
    found = of(REWRITTEN, known=known)
    assert isinstance(found, expected)
    if isinstance(found, NetChanges):
        assert (found.net.start_id, found.net.end_id, found.net.read.files) == (None, 3, files)
        assert found.start.snapshot_id == 2
        assert (found.counts.files, found.counts.records, found.counts.at_most) == (1, 4, True)
    for policy in (Policy(on_source_rewrite=OnRewrite.FULL_REFRESH), Policy(on_source_rewrite=OnRewrite.IGNORE)):
        assert not isinstance(of(REWRITTEN, policy, known=known), NetChanges)


@pytest.mark.parametrize(
    "known", [Known(twice=True), Known(replace(PLAIN, end=(ID, FILE)))], ids=["a_file_twice", "a_column_named_file"]
)
def test_a_range_whose_own_rows_are_unknown_is_refused(known):
    assert isinstance(of(REWRITTEN, known=known), Rewritten)


class Incomplete(Known):
    def changed_files(self, history: History, start: int, end: int) -> ChangedFiles:
        raise MetadataAccessError("Net changes cannot be read.")


def test_a_range_that_the_reader_cannot_compare_is_refused():
    assert isinstance(of(REWRITTEN, known=Incomplete()), Rewritten)


def test_a_range_whose_start_has_expired_is_refused():
    expired = h.history(h.snapshot(3, 2, "overwrite", h.OVERWRITE), h.snapshot(4, 3))
    assert isinstance(of(expired), Rewritten)


def test_incomparable_types_do_not_matter_for_added_rows():
    assert isinstance(of(REWRITTEN, known=Known(replace(PLAIN, end=(ID, VARIANT)))), NetChanges)


def test_an_addition_is_read_by_a_scan_that_supports_it():
    assert of(ADDED).additions[0].net is None
    netted = of(ADDED, known=Known(BESIDE_DELETES)).additions[0].net
    assert netted is not None
    assert (netted.start_id, netted.end_id) == (2, 3)
    unlisted = replace(BESIDE_DELETES, files=None)
    assert of(ADDED, known=Known(unlisted)).additions[0].net is None


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (replace(BESIDE_DELETES, has_present_columns=False), UnreadableOverwrite),
        (replace(BESIDE_DELETES, end=(ID, VARIANT)), Incomparable),
    ],
)
def test_an_addition_that_no_scan_supports_is_refused(changed, expected):
    assert isinstance(of(ADDED, known=Known(changed)), expected)


@pytest.mark.parametrize(
    ("column", "changelog", "why"),
    [
        (VARIANT, False, Unreadable.TYPES),
        (CHANGE_TYPE, True, Unreadable.OWN_CHANGE_TYPE),
        (CHANGE_TYPE, False, None),
        (FILE, False, Unreadable.METADATA_COLUMNS),
    ],
)
def test_rows_that_cannot_be_compared_are_refused(column, changelog, why):
    known = Known(replace(PLAIN, end=(ID, column)))
    found = of(REWRITTEN, UPSERTS, known=known, changelog=changelog)
    assert (found.why if isinstance(found, Incomparable) else None) is why


def additions(count: int) -> History:
    """A history with this many additions, separated by appends."""
    snapshots = [h.snapshot(1, None)]
    for number in range(2, 2 * count + 1):
        is_addition = number % 2 == 0
        operation, summary = ("overwrite", h.ADDITION) if is_addition else ("append", h.APPEND)
        snapshots.append(h.snapshot(number, number - 1, operation, summary))
    return h.history(*snapshots)


def test_too_many_additions_are_refused():
    assert len(of(additions(MAX_ADDITIONS), at=1).additions) == MAX_ADDITIONS
    assert of(additions(MAX_ADDITIONS + 1), at=1) == TooManyAdditions(MAX_ADDITIONS + 1)


@pytest.mark.parametrize(
    ("known", "obstacle"),
    [
        (Known(), None),
        (Known(added=None), Obstacle.FILES_UNLISTED),
        (Known(twice=True), Obstacle.FILE_TWICE),
        (Known(added=replace(PLAIN, end=(ID, FILE))), Obstacle.RESERVED_COLUMNS),
    ],
)
def test_an_expiry_is_recovered_if_the_files_allow_it(known, obstacle):
    found = of(EXPIRED, known=known)
    assert isinstance(found, NetChanges if obstacle is None else Break)
    if isinstance(found, Break):
        assert (found.cause, found.reason, found.obstacle) == (Cause.EXPIRED, Reason.COMMITS_EXPIRED, obstacle)


@pytest.mark.parametrize(
    ("commit", "policy", "changelog", "expected"),
    [
        ("append", Policy(), True, NetChanges),
        ("append", Policy(), False, NetChanges),
        ("replace", Policy(), False, NetChanges),
        ("overwrite", UPSERTS, False, NetChanges),
        ("overwrite", Policy(), True, NetChanges),
        ("overwrite", Policy(), False, Break),
    ],
)
def test_rows_are_compared_if_both_ends_are_held(commit, policy, changelog, expected):
    class Between(Known):
        def completed(self, broken: Break) -> History:
            whole = h.history(*h.chain(2), h.snapshot(3, 2, commit, h.OVERWRITE if commit != "append" else h.APPEND))
            return replace(broken.history, snapshots={**whole.snapshots, **broken.history.snapshots})

    assert isinstance(of(HELD, policy, known=Between(), changelog=changelog), expected)
    rebuilding = replace(policy, on_history_break=EXPIRED_REBUILDS, on_source_rewrite=OnRewrite.FULL_REFRESH)
    reason = calls_for_rebuild(Between(), Cut(HELD, HELD.current), h.at(2), rebuilding, changelog=changelog)
    assert (reason is None) is (changelog or commit != "overwrite")


def test_a_policy_rebuilds_after_an_expiry_that_cannot_be_recovered():
    """The policy also rebuilds if the commits are known but their files are not."""
    cut, policy = Cut(EXPIRED, EXPIRED.current), Policy(on_history_break=EXPIRED_REBUILDS)
    assert calls_for_rebuild(Known(), cut, h.at(2), policy, changelog=False) is None
    lost = calls_for_rebuild(Known(added=None), cut, h.at(2), policy, changelog=False)
    assert isinstance(lost, Break)
    assert calls_for_rebuild(Known(added=None), cut, h.at(2), Policy(), changelog=False) is None


class Unread(Known):
    def added_files(self, found: Recovered) -> ChangedFiles | None:
        raise AssertionError("the files do not matter to the policy")


def test_files_are_not_read_under_a_policy_that_does_not_rebuild():
    cut = Cut(EXPIRED, EXPIRED.current)
    assert calls_for_rebuild(Unread(), cut, h.at(2), Policy(), changelog=False) is None


@pytest.mark.parametrize(
    ("history", "policy", "changelog", "rebuilds"),
    [
        (REWRITTEN, Policy(on_source_rewrite=OnRewrite.FULL_REFRESH), False, True),
        (REWRITTEN, Policy(on_source_rewrite=OnRewrite.FULL_REFRESH), True, False),
        (REWRITTEN, Policy(), False, False),
        (ROLLED_BACK, Policy(), False, False),
        (ROLLED_BACK, Policy(on_history_break=dict.fromkeys(Cause, OnBreak.FULL_REFRESH)), False, True),
        (APPENDED, Policy(on_source_rewrite=OnRewrite.FULL_REFRESH), False, False),
    ],
)
def test_when_a_policy_rebuilds(history, policy, changelog, rebuilds):
    found = calls_for_rebuild(Known(), Cut(history, history.current), h.at(2), policy, changelog=changelog)
    assert (found is not None) is rebuilds


def test_another_invocation_may_be_ahead_of_the_cut():
    cut, later = Cut(APPENDED, APPENDED.current), h.history(*h.chain(5))
    found = outcome(Known(now=later), cut, h.at(5), Policy(), changelog=False)
    assert isinstance(found, Nothing)
    assert found.position == h.at(5)
    assert isinstance(outcome(Known(now=None), cut, h.at(5), Policy(), changelog=False), Break)
