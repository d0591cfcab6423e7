"""Bugs in the order within a key, to be planted."""

from __future__ import annotations

from dataclasses import replace

from .holes import _patch


def late_rows_replace_newer_ones(monkeypatch):
    """New rows are compared with each other, but not with rows of the table."""

    def careless(known_sql):
        return lambda read, ordered, known: known_sql(read, ordered, replace(known, snapshot_id=None))

    _patch(monkeypatch, "iceberg_incremental.write.order.sequence:_known_sql", careless)


def the_oldest_new_row_is_taken(monkeypatch):
    _patch(
        monkeypatch,
        "iceberg_incremental.write.order.sequence:_first",
        lambda first: lambda *args: first(*args).replace(" desc", " asc"),
    )
