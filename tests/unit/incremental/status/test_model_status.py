"""How ``ip_status`` presents an outcome: pending changes, the risk of expiry, and the text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_iceberg.status.model_status import ModelStatus, as_text, source_status, status_of_source
from iceberg_incremental.plan.breaks import Break, Reason
from iceberg_incremental.plan.changes import nothing_new, plan_as_of, plan_changes, plan_whole
from iceberg_incremental.plan.policy import Cause
from iceberg_incremental.plan.refusals import Incomparable, TooManyAdditions, Unreadable
from iceberg_incremental.table.row_counts import VersionCounts
from tests.unit.incremental import histories as h

SOURCE = h.history(*h.chain(3))
REWRITTEN = h.history(*h.chain(2), h.snapshot(3, 2, "overwrite", h.OVERWRITE))
DAY = 24 * 3_600_000
NOW = h.EPOCH_MS + DAY


def status(found, history=SOURCE, position=None, now=NOW):
    return source_status(history, h.at(1) if position is None else position, found, now)


@pytest.mark.parametrize(
    ("found", "pending"),
    [
        (plan_changes(SOURCE, h.at(1), SOURCE.current), "append"),
        (plan_whole(SOURCE, SOURCE.current), "full"),
        (nothing_new(SOURCE, h.at(1), SOURCE.current), "nothing"),
        (plan_as_of(h.history(uuid="other"), h.at(1), None), "empty"),
        (plan_changes(REWRITTEN, h.at(1), REWRITTEN.current), "rewritten"),
        (Break(Cause.EXPIRED, SOURCE, h.at(1), SOURCE.current, Reason.COMMITS_EXPIRED), "expired"),
        (Incomparable(Unreadable.TYPES, (("w", "variant"),)), "not readable"),
        (TooManyAdditions(128), "not readable"),
    ],
)
def test_what_is_pending(found, pending):
    assert status(found).pending == pending


def test_counts_of_the_range():
    found = status(plan_changes(SOURCE, h.at(1), SOURCE.current))
    assert (found.snapshots, found.files, found.records, found.bytes) == (2, 4, 20, 2000)
    assert found.age_ms == DAY - 1000


@pytest.mark.parametrize(("days", "risk"), [(1, "none"), (6, "due")])
def test_unread_snapshots_may_expire(days, risk):
    pending = plan_changes(SOURCE, h.at(1), SOURCE.current)
    assert status(pending, now=h.EPOCH_MS + days * DAY).expiry_risk == risk
    assert status(nothing_new(SOURCE, h.at(1), SOURCE.current), now=h.EPOCH_MS + days * DAY).expiry_risk == "none"


def test_the_tables_own_limit_applies():
    history = h.history(*h.chain(3), properties={"history.expire.max-snapshot-age-ms": "1000"})
    assert status(plan_changes(history, h.at(1), history.current), history).expiry_risk == "due"


def test_the_text():
    stands = (status(plan_changes(SOURCE, h.at(1), SOURCE.current)), status(nothing_new(SOURCE, h.at(3), None)))
    text = as_text([ModelStatus("model.shop.daily", "lake.a.daily", 4, "fails", "It is broken.\nMend it.", stands)])
    assert text.splitlines() == [
        "model.shop.daily (lake.a.daily), epoch 4: fails",
        "    It is broken.",
        "    Mend it.",
        "  lake.ops.flights: read up to 1 of 2026-01-01 00:00:01 UTC (23 hours ago); "
        "pending (append): 2 snapshots, 4 files, 20 rows, 2.0 KiB",
        "  lake.ops.flights: read up to 1 of 2026-01-01 00:00:01 UTC (23 hours ago); nothing pending",
    ]
    assert as_text([]).startswith("No model of this project")


@pytest.mark.parametrize(
    ("versions", "line"),
    [
        (VersionCounts(1, 2), "1 version added, 2 ended or updated"),
        (VersionCounts(1_000, None), "1,000 versions added"),
    ],
)
def test_the_line_about_versions_of_a_history(versions, line):
    text = as_text([ModelStatus("model.shop.kept", "lake.a.kept", 4, "nothing to do", versions=versions)])
    assert text.splitlines()[1:] == [f"  last run that wrote rows: {line}"]


def test_snapshots_for_later_runs_are_shown_without_new_rows():
    found = status(replace(nothing_new(SOURCE, h.at(1), SOURCE.snapshots[2]), waiting=1))
    assert (found.pending, found.waiting_snapshots) == ("nothing", 1)
    text = as_text([ModelStatus("model.shop.daily", "lake.a.daily", 4, "moves the checkpoint only", None, [found])])
    assert text.endswith("no new rows for the next run, and 1 snapshot for later runs")


def test_a_missing_source_that_was_read_before():
    """The position is known, although the table does not exist."""
    gone = status_of_source(SOURCE.table, h.at(1), "missing", h.EPOCH_MS + DAY)
    text = as_text([ModelStatus("model.shop.daily", "lake.a.daily", 4, "fails", None, [gone])])
    assert text.endswith("read up to 1 of 2026-01-01 00:00:01 UTC (23 hours ago); the table does not exist")
    new = status_of_source(SOURCE.table, None, "missing", h.EPOCH_MS + DAY)
    assert as_text([ModelStatus("m", "t", 0, "fails", None, [new])]).endswith("not read yet; the table does not exist")


DUE_AT = h.EPOCH_MS + 1000 + 5 * DAY


@pytest.mark.parametrize(
    ("refs", "ages", "properties", "expires", "held"),
    [
        ({}, {}, {}, DUE_AT, None),
        ({}, {}, {"history.expire.max-snapshot-age-ms": "1000"}, h.EPOCH_MS + 2000, None),
        ({"t": 1}, {"t": 14 * DAY}, {}, DUE_AT + 9 * DAY, DUE_AT + 9 * DAY),
        ({"t": 1}, {"t": 2 * DAY}, {}, DUE_AT, DUE_AT - 3 * DAY),  # the table's own limit keeps the snapshot longer
        ({"t": 1}, {}, {}, None, None),  # held indefinitely
        ({"t": 1}, {}, {"history.expire.max-ref-age-ms": str(14 * DAY)}, DUE_AT + 9 * DAY, DUE_AT + 9 * DAY),
        ({"t": 2}, {}, {}, DUE_AT, None),  # the tag holds another snapshot
    ],
)
def test_the_date_when_the_position_may_expire(refs, ages, properties, expires, held):
    history = replace(h.history(*h.chain(3), refs={"main": 3, **refs}, properties=properties), ref_ages=ages)
    pending = plan_changes(history, h.at(1), history.current)
    found = status(pending, history)
    assert (found.expires_at_ms, found.held_until_ms) == (expires, held)
    later = status(pending, history, now=DUE_AT + 1)
    assert later.expiry_risk == ("due" if expires is not None and expires <= DUE_AT else "none")


def test_without_pending_changes_there_is_no_date():
    assert status(nothing_new(SOURCE, h.at(3), SOURCE.current), position=h.at(3)).expires_at_ms is None


def test_the_oldest_pending_commit_changed_rows():
    history = h.history(*h.chain(1), h.snapshot(2, 1, summary=h.EMPTY_APPEND), h.snapshot(3, 2), h.snapshot(4, 3))
    found = status(plan_changes(history, h.at(1), history.current), history)
    assert found.oldest_pending_ms == h.EPOCH_MS + 3000


REPLACED = h.history(h.snapshot(8, None), h.snapshot(9, 8))
"""The table was replaced at snapshot 8."""
UNDONE = h.history(*h.chain(3), head=2)


@pytest.mark.parametrize(
    ("found", "history", "position", "read_before", "oldest"),
    [
        (Break(Cause.REBUILT, REPLACED, h.at(3), REPLACED.current, Reason.REPLACED), REPLACED, h.at(3), None, 8),
        (
            Break(Cause.ROLLED_BACK, UNDONE, h.at(3), UNDONE.current, Reason.AHEAD),
            UNDONE,
            h.at(3),
            None,
            None,
        ),
        # a policy rebuilds the model; commits that its table contains are not pending
        (plan_whole(SOURCE, SOURCE.current), SOURCE, None, h.at(2), 3),
        (plan_whole(SOURCE, SOURCE.current), SOURCE, None, h.at(3), None),
        (plan_whole(REPLACED, REPLACED.current), REPLACED, None, h.at(3), 8),
        (plan_whole(SOURCE, SOURCE.current), SOURCE, None, None, 1),  # a first build
    ],
)
def test_the_oldest_pending_commit_is_newer_than_all_read_commits(found, history, position, read_before, oldest):
    stands = source_status(history, position, found, NOW, read_before)
    assert stands.oldest_pending_ms == (None if oldest is None else h.EPOCH_MS + 1000 * oldest)


def test_the_line_about_expiry_has_the_date():
    due = status(plan_changes(SOURCE, h.at(1), SOURCE.current), now=DUE_AT + 1)
    shown = as_text([ModelStatus("m", "t", 1, "applies", None, [due])])
    assert shown.endswith("; unread snapshots may expire at any time (since 2026-01-06 00:00:01 UTC): run soon")
