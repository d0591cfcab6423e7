from types import SimpleNamespace

import pytest
from pyiceberg.exceptions import BadRequestError, CommitFailedException

from iceberg_incremental.errors import StatementError
from iceberg_incremental.publish import commit_conflicts
from iceberg_incremental.publish.sql_refs import SqlRefs

STALE = StatementError("CommitFailedException: Table metadata refresh is required")


def failing(times, error):
    sent = []

    def send(statement):
        sent.append(statement)
        if len(sent) <= times:
            raise error

    return send, sent


def altering(send, statement):
    SqlRefs(SimpleNamespace(send=send), None).alter(statement)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(commit_conflicts, "_PAUSE", 0)


def test_a_statement_that_lost_a_race_is_sent_again():
    send, sent = failing(3, STALE)
    altering(send, "a")
    assert sent == ["a"] * 4


@pytest.mark.parametrize(("times", "error", "attempts"), [(1, StatementError("no such tag"), 1), (99, STALE, 12)])
def test_errors_that_retries_do_not_fix_are_raised(times, error, attempts):
    send, sent = failing(times, error)
    with pytest.raises(StatementError):
        altering(send, "a")
    assert len(sent) == attempts


# The messages of Iceberg's REST client for Polaris, of PyIceberg, and of Iceberg for a concurrent writer to main.
SEQUENCE = "Cannot add snapshot with sequence number 23 older than last sequence number 23"
ROW_IDS = "Cannot add a snapshot, first-row-id is behind table next-row-id: 40 < 44"


@pytest.mark.parametrize(
    ("error", "stale", "possible"),
    [
        (STALE, True, True),
        (
            StatementError(f"org.apache.iceberg.exceptions.BadRequestException: Malformed request: {SEQUENCE}"),
            True,
            True,
        ),
        (StatementError(f"BadRequestException: Malformed request: {ROW_IDS}"), True, True),
        (BadRequestError(f"ValidationException: {SEQUENCE}"), True, True),
        (BadRequestError(f"ValidationException: {ROW_IDS}"), True, True),
        (ValueError("Cannot add snapshot with sequence number 2 older than last sequence number 2"), True, True),
        (
            ValueError("Cannot add a snapshot with first row id smaller than the table's next-row-id 4 < 5"),
            True,
            True,
        ),
        (CommitFailedException("Requirement failed: branch main has changed"), True, True),
        (StatementError("ValidationException: Found conflicting files"), False, True),
        (StatementError("Cannot fast-forward: main is not an ancestor of ip_2_x"), False, True),
        (BadRequestError("Malformed request: no such column"), False, False),
        (ValueError("Cannot add snapshot without first row id"), False, False),
        (StatementError("UNRESOLVED_COLUMN"), False, False),
    ],
)
def test_which_errors_are_conflicts(error, stale, possible):
    assert commit_conflicts.is_commit_conflict(error) is stale
    assert commit_conflicts.may_be_conflict(error) is possible
