from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.spark.messages import clean, with_fix


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("java.io.IOException: No space left on device", "free some space, then run again"),
        ("[SQLITE_FULL] Insertion failed because database is full", "free some space, then run again"),
        ("CommitStateUnknownException: Service failed: 500:", "run again when the catalog responds"),
        ("Connect to http://h:1 failed: Connection refused", "run again when it is available"),
        (
            "UncheckedSQLException: Unknown failure\nCaused by: EOFException: End of stream",
            "run again when it is available",
        ),
        ("An I/O error occurred while sending to the backend.", "run again when it is available"),
        ("null (Service: S3, Status Code: 503, Request ID: null)", "run again when it is available"),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `lake`.`ops`.`t`.`branch_ip_1_0` cannot be found.",
            "if the table exists, run again",
        ),
    ],
)
def test_the_fix_for_an_outage_is_added_once(message: str, said: str):
    cleaned = clean(message)

    assert cleaned.startswith(f"{message}\n")
    assert f"  To fix: {said}" in cleaned
    assert clean(cleaned) == cleaned


def test_errors_of_the_statement_itself_are_unchanged():
    for message in (
        "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012",
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `lake`.`ops`.`branch_offices` cannot be found.",
    ):
        assert with_fix(message) == message


def test_icebergs_advice_against_another_attempt_is_removed():
    unknown = (
        "CommitStateUnknownException: Service failed: 503: \n"
        "Cannot determine whether the commit was successful or not, the underlying data files may or may not be needed."
        " Manual intervention via the Remove Orphan Files Action can remove these files.\n"
        "Please check to see whether or not your commit was successful before retrying this commit.\n"
        "At this time no files will be deleted including possibly unused manifest lists."
    )
    first, *others = with_fix(unknown).splitlines()
    assert first == "CommitStateUnknownException: Service failed: 503:"
    assert len(others) == 2
