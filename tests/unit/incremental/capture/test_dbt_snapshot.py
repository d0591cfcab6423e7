"""How a run of a dbt snapshot is opened, either from its checkpoint or with a comparison of whole tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from dbt.adapters.spark_iceberg.project.snapshot_logic import SnapshotLogic
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.dbt_snapshot import (
    CODE,
    compared_whole,
    has_same_rows,
    is_as_committed,
    open_snapshot,
    pending_snapshot,
)
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.errors import StagingError
from iceberg_incremental.explain import rebuild_reasons as reasons
from iceberg_incremental.table.checkpoint import RecordedLogic
from iceberg_incremental.table.commits import PART_KEY
from iceberg_incremental.table.files import ChangedFiles, TableColumn
from tests.unit.incremental.runs import ADDED, MODEL, OTHER, SOURCE, TARGET, Reader, carrying, cp, hist, snap

COLUMNS = (TableColumn(1, "id", "int"), TableColumn(2, "v", "string"))
SAME = ChangedFiles(COLUMNS, COLUMNS, has_present_columns=True)
LOGIC = SnapshotLogic("as it is")
ROWS_GONE = {**ADDED, "deleted-records": "1", "deleted-data-files": "1"}


@dataclass
class Tables(Reader):
    """A reader of a source and a snapshot's table. ``changed``: the columns of both tables at the ends of a range."""

    changed: ChangedFiles = SAME

    def __init__(self, changed=SAME, **tables):
        super().__init__(**tables)
        self.changed = changed

    def changed_files(self, history, start, end):
        if start not in history.snapshots:
            raise KeyError(start)
        return self.changed


def recorded(epoch=1, at=1, **more):
    return replace(cp(epoch, at), logic=RecordedLogic("as it is"), **more)


def opened(reader, logic=LOGIC):
    return open_snapshot(
        reader, Cuts(lambda: reader), model=MODEL, target=TARGET, unique_key=["id"], invocation_id="mine",
        source=SOURCE, logic=logic,
    )  # fmt: skip


TWO = hist(SOURCE, snap(1, None), snap(2, 1))
TAKEN = hist(TARGET, carrying(100, None, recorded()))


def test_a_first_run_builds_the_table():
    plan = opened(Tables(s=TWO))
    assert plan.target is None and plan.reads_all
    assert plan.next_checkpoint().epoch == 1 and plan.next_checkpoint().sources[str(SOURCE)].snapshot_id == 2


def test_a_later_run_reads_the_changes():
    plan = opened(Tables(s=TWO, t=TAKEN))
    assert not plan.reads_all and not plan.reason and plan.action is Action.APPLY
    found = plan.next_checkpoint()
    assert found.epoch == 2 and found.sources[str(SOURCE)].from_snapshot_id == 1
    assert found.logic.fingerprint == "as it is"


def test_nothing_new():
    assert opened(Tables(s=hist(SOURCE, snap(1, None)), t=TAKEN)).action is Action.NOTHING
    compacted = hist(SOURCE, snap(1, None), snap(2, 1, operation="replace"))
    assert opened(Tables(s=compacted, t=TAKEN)).action is Action.ADVANCE


def test_a_table_that_dbt_itself_built_is_compared_once():
    plan = opened(Tables(s=TWO, t=hist(TARGET, snap(100, None))))
    assert plan.reads_all and plan.reason == reasons.FIRST_RUN
    assert plan.target is not None and plan.checkpoint is None and plan.last_epoch == 0


def after(*commits, checkpoint=None):
    return hist(TARGET, carrying(100, None, checkpoint or recorded()), *commits)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (after(snap(101, 100)), reasons.TABLE_CHANGED),
        (after(snap(101, 100, ROWS_GONE, "overwrite")), reasons.TABLE_CHANGED),
        (after(checkpoint=cp(1, 1)), reasons.OTHER_LOGIC),
        (after(checkpoint=replace(recorded(), logic=RecordedLogic("another"))), reasons.OTHER_LOGIC),
        (after(checkpoint=replace(recorded(), model="snapshot.shop.other")), reasons.OTHER_MODEL),
        (after(checkpoint=replace(cp(1, 1, source=OTHER), logic=RecordedLogic("as it is"))), reasons.OTHER_SOURCE),
    ],
)
def test_a_table_that_cannot_be_continued(table, reason):
    plan = opened(Tables(s=TWO, t=table))
    assert plan.reads_all and plan.reason == reason
    assert plan.last_epoch == 1 and plan.checkpoint is not None  # the fence compares the checkpoint
    assert plan.next_checkpoint().sources[str(SOURCE)].continues is False


def test_compactions_and_commits_without_changes_are_ignored():
    nothing = {"total-records": "9", "changed-partition-count": "0"}
    table = after(snap(101, 100, operation="replace"), snap(102, 101, nothing, "overwrite"))
    assert not opened(Tables(s=TWO, t=table)).reads_all


def test_a_commit_before_the_checkpoint_was_moved_is_noticed():
    """Another writer committed, and then a run moved the checkpoint in the table property."""
    moved = recorded(epoch=2, at=2, target_snapshot_id=101)
    table = after(snap(101, 100))
    table = replace(table, properties={"ip.checkpoint": moved.to_json()})
    plan = opened(Tables(s=TWO, t=table))
    assert plan.reason == reasons.TABLE_CHANGED and plan.last_epoch == 2


@pytest.mark.parametrize(
    "changed",
    [replace(SAME, end=COLUMNS[:1]), replace(SAME, start=COLUMNS[:1]), replace(SAME, has_present_columns=False)],
)
def test_changed_columns_of_the_table_are_noticed(changed):
    assert opened(Tables(changed, s=TWO, t=TAKEN)).reason == reasons.TABLE_ALTERED


def test_an_expired_commit_of_the_table():
    table = hist(TARGET, snap(101, 100, operation="replace"), properties={"ip.checkpoint": recorded().to_json()})
    assert opened(Tables(s=TWO, t=table)).reads_all


@pytest.mark.parametrize("changed", [replace(SAME, start=COLUMNS[:1]), replace(SAME, renamed=frozenset({2}))])
def test_changed_columns_of_the_source_are_noticed(changed):
    """Also if they were renamed after the last commit: Iceberg reads added rows by the current names."""

    class Altered(Tables):
        def changed_files(self, history, start, end):
            return SAME if history.table == TARGET else changed

    assert opened(Altered(s=TWO, t=TAKEN)).reason == reasons.SOURCE_ALTERED


def test_a_broken_history_is_named():
    other = hist(SOURCE, snap(7, None), uuid="another")
    plan = opened(Tables(s=other, t=TAKEN))
    assert plan.reads_all and "rebuilt" in plan.reason


def test_a_part_of_a_run_is_an_error():
    table = after(snap(101, 100, {**ADDED, PART_KEY: "2"}))
    with pytest.raises(StagingError):
        opened(Tables(s=TWO, t=table))


def test_a_run_that_switches_to_a_comparison_of_whole_tables():
    reader = Tables(s=TWO, t=TAKEN)
    plan = compared_whole(opened(reader), Cuts(lambda: reader), SOURCE, "why")
    assert plan.reads_all and plan.reason == "why" and plan.checkpoint is not None


def test_whether_the_rows_of_the_table_are_unchanged():
    plan = opened(Tables(s=TWO, t=TAKEN))
    assert has_same_rows(plan, after(snap(101, 100, operation="replace")))
    assert not has_same_rows(plan, after(snap(101, 100)))


@pytest.mark.parametrize("is_present", [True, False])
def test_whether_the_source_was_altered_since_its_newest_commit(is_present):
    reader = Tables(replace(SAME, has_present_columns=is_present), s=TWO)
    assert is_as_committed(Cuts(lambda: reader), SOURCE) is is_present


def test_a_source_without_a_commit_is_as_committed():
    reader = Tables(s=hist(SOURCE))
    assert is_as_committed(Cuts(lambda: reader), SOURCE)


def pending(reader):
    return pending_snapshot(reader, Cuts(lambda: reader), model=MODEL, target=TARGET, code="c")


def test_pending_changes_are_known_without_the_sql():
    plan = pending(Tables(s=TWO, t=TAKEN))
    assert (list(plan.changelogs), plan.action) == ([SOURCE], Action.APPLY)
    assert (plan.reads_all, plan.last_epoch) == (False, 1)
    plan = pending(Tables(s=hist(SOURCE, snap(1, None)), t=TAKEN))
    assert plan.action is Action.NOTHING


def test_a_pending_comparison_of_whole_tables_has_its_reason():
    plan = pending(Tables(s=TWO, t=after(snap(101, 100))))
    assert (plan.reads_all, plan.reason) == (True, reasons.TABLE_CHANGED)


@pytest.mark.parametrize("code", ["c", "another"])
def test_an_edit_of_the_code_is_known_without_the_sql(code):
    logic = RecordedLogic("as it is", definitions={CODE: code})
    plan = pending(Tables(s=TWO, t=after(checkpoint=replace(recorded(), logic=logic))))
    assert (plan.reads_all, plan.reason) == ((False, "") if code == "c" else (True, reasons.OTHER_LOGIC))


@pytest.mark.parametrize(
    "table",
    [None, hist(TARGET, snap(100, None)), after(checkpoint=recorded(model="model.shop.other"))],
)
def test_without_the_snapshots_checkpoint_pending_changes_are_unknown(table):
    assert pending(Tables(s=TWO, **({} if table is None else {"t": table}))) is None


def test_a_part_of_a_run_is_an_error_before_the_next_run():
    with pytest.raises(StagingError):
        pending(Tables(s=TWO, t=after(snap(101, 100, {**ADDED, PART_KEY: "2"}))))
