"""What a run records about its model's logic, and what happens if the logic has changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_iceberg.project.model_logic import ModelLogic
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.logic_change import LOGIC_KEY
from iceberg_incremental.capture.reads import capture
from iceberg_incremental.capture.run_plan import Action, Read
from iceberg_incremental.errors import CheckpointError, ConfigError
from iceberg_incremental.table.checkpoint import RecordedLogic, RowOrder
from tests.unit.incremental.runs import SOURCE, TARGET, Reader, carrying, cp, hist, opened, snap

OLD, NEW, OTHER = (ModelLogic({"SQL": f"select {n}"}, {}, {}) for n in (1, 2, 3))
BY_OLD = RecordedLogic(OLD.fingerprint)


def begun(logic=NEW, recorded=BY_OLD, epoch=7, head=1, kept=OLD, sequence=None, source=None, **config):
    """A run with a table whose checkpoint records a logic. The source has a new commit if ``head`` is 2."""
    source = source or hist(SOURCE, snap(1, None), *([snap(2, 1)] if head == 2 else []))
    checkpoint = replace(cp(epoch, 1), logic=recorded, sequence=sequence)
    properties = {} if kept is None else {LOGIC_KEY: kept.encoded()}
    reader = Reader(s=source, t=hist(TARGET, carrying(100, None, checkpoint), properties=properties))
    run = opened(reader, config=config, logic=logic)
    if not run.is_rebuild:
        run = capture(run, Cuts(lambda: reader), SOURCE, Read.CHANGES)
    return run


def test_unchanged_logic():
    run = begun(logic=OLD, head=2)
    assert run.logic_change is None
    assert run.next_checkpoint().logic == RecordedLogic(OLD.fingerprint)


def test_a_change_shows_a_diff_and_is_recorded_with_the_rows():
    run = begun(head=2)
    assert (run.logic_change.after, run.logic_change.is_new) == (7, True)
    assert list(run.logic_change.differences) == ["SQL:", "  -select 1", "  +select 2"]
    assert run.next_checkpoint().logic == RecordedLogic(NEW.fingerprint, 7)


def test_a_run_without_rows_records_nothing():
    run = begun()
    assert run.action is Action.CHECK_ONLY and run.logic_change.is_new
    assert run.next_checkpoint().logic == RecordedLogic(OLD.fingerprint)


@pytest.mark.parametrize(("head", "reading"), [(1, "as read"), (2, None)])
def test_rows_that_a_job_writes_are_not_those_of_plain_sql(head, reading):
    """A job has no logic, and moves the position. The table then only equals the model's SQL if it has no new rows."""
    recorded = RecordedLogic(OLD.fingerprint, reading="as read", definitions={"lake.raw.seen": "digest"})
    found = begun(logic=None, recorded=recorded, head=head).next_checkpoint().logic
    assert (found.fingerprint, found.reading) == (OLD.fingerprint, reading)


def test_two_logics_stay_two_until_the_table_is_rebuilt():
    mixed = RecordedLogic(NEW.fingerprint, 7)
    run = begun(recorded=mixed, epoch=9, head=2)
    assert (run.logic_change.after, run.logic_change.is_new, run.logic_change.differences) == (7, False, ())
    assert run.next_checkpoint().logic == mixed
    again = begun(logic=OTHER, recorded=mixed, epoch=9, head=2, kept=NEW)
    assert again.next_checkpoint().logic == RecordedLogic(OTHER.fingerprint, 9)
    rebuilt = begun(recorded=mixed, on_sql_change="full_refresh")
    assert rebuilt.is_rebuild and rebuilt.next_checkpoint().logic == RecordedLogic(NEW.fingerprint)


@pytest.mark.parametrize("recorded", [None, RecordedLogic("0:of-another-version")])
def test_a_table_without_a_fingerprint_is_accepted_once(recorded):
    run = begun(recorded=recorded, head=2, on_sql_change="fail")
    assert run.logic_change is None
    assert run.next_checkpoint().logic == RecordedLogic(NEW.fingerprint)


def test_mixed_logic_recorded_by_another_release_stays_mixed():
    run = begun(recorded=RecordedLogic("0:of-another-version", 3), head=2)
    assert (run.logic_change.after, run.logic_change.is_new) == (3, False)
    assert run.next_checkpoint().logic == RecordedLogic(NEW.fingerprint, 3)


@pytest.mark.parametrize("kept", [None, OTHER])
def test_without_the_earlier_logic_there_is_no_diff(kept):
    assert list(begun(kept=kept).logic_change.differences) == []
    with pytest.raises(ConfigError, match="not known"):
        begun(kept=kept, on_sql_change="fail")


@pytest.mark.parametrize("recorded", [RecordedLogic(OLD.fingerprint), RecordedLogic(NEW.fingerprint, 7)])
def test_fail_and_full_refresh(recorded):
    with pytest.raises(ConfigError, match=r"(?s)run 7.*--full-refresh --select staged.*accept_sql: true"):
        begun(recorded=recorded, on_sql_change="fail")
    run = begun(recorded=recorded, on_sql_change="full_refresh")
    assert run.is_rebuild and run.by_policy and "since run 7" in run.reason
    with pytest.raises(CheckpointError, match="full_refresh: false"):
        begun(recorded=recorded, on_sql_change="full_refresh", full_refresh=False)


def test_fail_keeps_a_rebuilt_source_from_rebuilding_the_model():
    source = hist(SOURCE, snap(9, None), uuid="created again")
    assert begun(logic=OLD, source=source, on_sql_change="fail").by_policy
    assert begun(source=source).by_policy
    with pytest.raises(ConfigError, match="on_sql_change is fail"):
        begun(source=source, on_sql_change="fail")


KEYED = {"incremental_strategy": "merge", "sequence_by": "at"}


@pytest.mark.parametrize(
    ("recorded", "now", "refused"),
    [
        (("a", "b"), ["B", "`a`"], False),
        ((), "a", False),  # written by a release that did not record the key
        (("a",), "b", True),
        (("a",), ["a", "b"], True),
    ],
)
def test_another_key_under_sequence_by(recorded, now, refused):
    def begin(policy):
        return begun(sequence=RowOrder(("at",), None, recorded), unique_key=now, on_sql_change=policy, **KEYED)

    assert begin("full_refresh").is_rebuild
    if refused:
        with pytest.raises(ConfigError, match="unique_key"):
            begin("ignore")
    else:
        begin("ignore")
