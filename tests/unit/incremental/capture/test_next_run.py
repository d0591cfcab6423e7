"""The action of the next run of a model with the strategy ``auto``, from metadata alone."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.logic_change import LogicChange
from iceberg_incremental.capture.next_run import READS_OTHERS, next_plain_run
from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.errors import ViewError
from iceberg_incremental.explain import rebuild_reasons as reasons
from iceberg_incremental.table.checkpoint import RecordedLogic
from iceberg_incremental.table.clock import DATE, TIME, Clock, now_in
from iceberg_incremental.table.history import TableName
from tests.unit.incremental.runs import SOURCE, TARGET, Reader, captured, carrying, cp, hist, opened, snap

VIEW = "lake.ops.a_view"
ONE = (snap(1, None),)
AUTO = {"incremental_strategy": "auto"}


class Views(Reader):
    """A reader of tables and one view with a digest."""

    def __init__(self, digest=None, **tables):
        super().__init__(**tables)
        self.digest = digest
        self.dropped = ""

    def load(self, name):
        if name not in self.tables and str(name) != self.dropped:
            raise ViewError(f"{name} is a view")
        return super().load(name)

    def view(self, name):
        assert str(name) == VIEW
        return None if self.digest is None else SimpleNamespace(digest=self.digest)


def following(
    digest="d", reading="kept text", definitions=None, source=ONE, now_table=False, dropped="", clock=None, later=(),
    **newest,
):  # fmt: skip
    logic = RecordedLogic("f", reading=reading, definitions={VIEW: "d"} if definitions is None else definitions)
    run = replace(carrying(100, None, replace(cp(1, 1, changelog=True), logic=logic, clock=clock)), **newest)
    reader = Views(digest, t=hist(TARGET, run, *later), **({"s": hist(SOURCE, *source)} if source else {}))
    reader.dropped = dropped
    if now_table:
        reader.tables[TableName.parse(VIEW)] = hist(SOURCE, *ONE)
    cuts = Cuts(lambda: reader)
    return next_plain_run(opened(reader, cuts, AUTO), cuts, [SOURCE], reader)


def test_nothing_has_changed():
    found = following()
    assert (found.plan.action, found.plan.differs) == (Action.NOTHING, "")
    assert following(digest=None).plan.action is Action.NOTHING  # this reader cannot read views
    assert following(definitions={}).plan.action is Action.NOTHING


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"digest": "e"}, reasons.other_definition(VIEW)),
        ({"digest": ""}, reasons.other_definition(VIEW)),
        ({"reading": None}, reasons.UNKNOWN_TEXT),
        ({"reading": f"{READS_OTHERS} text"}, reasons.OTHER_RELATION),
        ({"source": ()}, reasons.other_definition(str(SOURCE))),
        ({"digest": None, "now_table": True}, reasons.other_definition(VIEW)),
        ({"digest": None, "dropped": VIEW}, reasons.other_definition(VIEW)),
        ({"fields": {"w": 3}}, reasons.other_table(["w"])),  # the table no longer has this column
        ({"has_other_names": True}, reasons.other_table(())),  # which columns the run has written is unknown
    ],
)
def test_the_table_follows_its_sql_without_new_rows(more, reason):
    found = following(**more)
    assert (found.plan.action, found.plan.differs) == (Action.APPLY, reason)


def test_a_source_that_became_a_view_is_not_an_error():
    assert following(source=()).sources == {}


def test_the_action_of_a_run_is_decided_by_its_plan():
    reader = Reader(s=hist(SOURCE, snap(1, None)), t=hist(TARGET, carrying(100, None, cp(1, 1))))
    plan = captured(opened(reader), reader)
    assert plan.action is Action.NOTHING
    assert replace(plan, differs="a view").action is Action.APPLY
    assert replace(plan, reads_all=True).action is Action.APPLY
    assert replace(plan, logic_change=LogicChange(1, is_new=True)).action is Action.CHECK_ONLY
    assert replace(plan, logic_change=LogicChange(1, is_new=False)).action is Action.NOTHING
    assert replace(plan, checkpoint=None).action is Action.REBUILD
    assert replace(plan, checkpoint=None, reads_all=True).action is Action.APPLY  # a snapshot that dbt-spark has built


@pytest.mark.parametrize(
    ("clock", "parts", "action"),
    [
        (None, {DATE}, Action.NOTHING),
        (Clock(0, "UTC"), {DATE}, Action.APPLY),
        (None, {TIME}, Action.APPLY),
        (Clock(0, "Mars/Olympus"), {DATE}, Action.APPLY),
    ],
)
def test_a_clock_that_has_moved(clock, parts, action):
    read = clock or now_in("UTC")  # not when the tests are collected, which may be on the day before
    found = following(clock=(read, frozenset(parts)))
    assert (found.plan.action, found.plan.differs) == (action, "")


def test_rows_of_another_writer():
    """Compactions change no rows. Without the run's snapshot, it is unknown what has been written since."""
    foreign, compacted = snap(101, 100), snap(101, 100, operation="replace")
    assert following(later=(foreign,)).plan.differs == reasons.OTHER_WRITER
    assert following(later=(compacted,)).plan.action is Action.NOTHING
    assert following(later=(compacted, snap(102, 101))).plan.action is Action.APPLY
