import pytest

from iceberg_incremental.errors import StatementError
from iceberg_incremental.publish import commit_conflicts

STALE = StatementError("CommitFailedException: Table metadata refresh is required")


def failing(times, error):
    sent = []

    def send(statement):
        sent.append(statement)
        if len(sent) <= times:
            raise error

    return send, sent


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(commit_conflicts, "_PAUSE", 0)


def test_a_statement_that_lost_a_race_is_sent_again():
    send, sent = failing(3, STALE)
    commit_conflicts.retry_conflicts(send, "a")
    assert sent == ["a"] * 4


@pytest.mark.parametrize(("times", "error", "attempts"), [(1, StatementError("no such tag"), 1), (99, STALE, 12)])
def test_errors_that_retries_do_not_fix_are_raised(times, error, attempts):
    send, sent = failing(times, error)
    with pytest.raises(StatementError):
        commit_conflicts.retry_conflicts(send, "a")
    assert len(sent) == attempts
