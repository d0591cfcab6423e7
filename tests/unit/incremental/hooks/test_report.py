"""How many rows a statement wrote, according to the table's metadata before and after it."""

from __future__ import annotations

import pytest
from dbt.adapters.contracts.connection import AdapterResponse

from dbt.adapters.spark_iceberg.hooks.report import counted, rows_built, rows_since
from iceberg_incremental.table.history import History, Snapshot, TableName


def history(*operations: str, begins_at: int = 1, parent: int | None = None) -> History:
    """A history in which snapshot n adds n rows."""
    numbers = range(begins_at, begins_at + len(operations))
    snapshots = {
        n: Snapshot(n, parent if n == begins_at else n - 1, n, n, operation, {"added-records": str(n)})
        for n, operation in zip(numbers, operations, strict=True)
    }
    return History(TableName("a", "b", "c"), None, 2, max(snapshots, default=None), snapshots, {}, {})


@pytest.mark.parametrize(
    ("before", "now", "statements", "expected"),
    [
        (history("append"), history("append", "append"), 1, 2),
        (history("append"), history("append", "delete", "append"), 2, 3),
        (history("append"), history("append", "append"), 2, 2),  # the DELETE found nothing
        (history("append"), history("append"), 1, 0),
        (history(), history("append"), 1, 1),
        (history("append"), history("append", "append", "append"), 1, None),  # one commit is another writer's
        (history("append"), history("append", "append", "append"), 2, None),
        (history("append"), history("append", begins_at=7), 1, None),  # the table was replaced in the meantime
        (None, history("append"), 1, None),
        (history("append"), None, 1, None),
    ],
)
def test_rows_of_the_last_statement(before, now, statements, expected):
    assert rows_since(before, now, statements) == expected


def test_rows_of_a_table_that_was_built():
    assert rows_built(history("append", begins_at=5)) == 5
    assert rows_built(history("append", "append", begins_at=5)) == 5  # the second commit is another writer's
    assert rows_built(history("append", begins_at=5, parent=4)) is None
    assert rows_built(None) is None


def test_a_response_contains_only_known_counts():
    response = AdapterResponse("OK", "x")
    assert counted(response, None) is response
    found = counted(response, 1204)
    assert (str(found), found.code, found.rows_affected) == ("OK 1,204 rows", "x", 1204)
