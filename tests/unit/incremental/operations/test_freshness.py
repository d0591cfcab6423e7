"""The freshness of a source, from literal histories."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, cast

import pytest

from dbt.adapters.spark_iceberg.operations.freshness import last_modified
from iceberg_incremental.errors import HistoryBreakError, NotIcebergError, SourceMissingError
from iceberg_incremental.explain import metadata_errors
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.table.history import History
from tests.unit.incremental.histories import FLIGHTS, OVERWRITE, history, snapshot


class Reader:
    """A reader of one table."""

    def __init__(self, found: History | Exception | None, *older: History) -> None:
        self.found, self.older_ones = found, older

    def load(self, table: Any) -> History | None:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def older(self, _: History) -> Any:
        return iter(self.older_ones)


def modified(found: History | Exception | None, *older: History) -> datetime | None:
    return last_modified(cast(MetadataReader, Reader(found, *older)), FLIGHTS)


def test_the_time_of_the_last_change():
    table = history(snapshot(1, None), snapshot(2, 1), snapshot(3, 2, "replace", OVERWRITE))
    assert modified(table) == datetime(2026, 1, 1, 0, 0, 2, tzinfo=timezone.utc)


def test_a_table_without_rows_has_no_time():
    assert modified(history()) is None


def test_a_missing_table():
    with pytest.raises(SourceMissingError, match=r"lake\.ops\.flights is unknown, because the source does not exist"):
        modified(None)


def test_a_view():
    with pytest.raises(NotIcebergError, match=r"is a view[\s\S]*loaded_at_field"):
        modified(metadata_errors.view(FLIGHTS))


def test_an_expired_change_is_an_error_with_the_known_limit():
    with pytest.raises(HistoryBreakError, match=r"before snapshot 3 \(2026-01-01 00:00:03 UTC[\s\S]*loaded_at_field"):
        modified(history(snapshot(3, 2, "replace", OVERWRITE)))
