"""Texts for shares of tables, and short names of tables."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.quantities import counted, size_text
from iceberg_incremental.table.shares import Share


def short_names(tables: Sequence[str]) -> dict[str, str]:
    """The last parts of the tables' names if these are unique, otherwise the full names."""
    last = {table: table.rpartition(".")[2] for table in tables}
    return last if len(set(last.values())) == len(tables) else {table: table for table in tables}


def percent(share: Share) -> str:
    """The share of rows that were read, in percent."""
    percent = 100 * (share.of_records or 0)
    return f"{'≤ ' if share.at_most else ''}{percent:.0f} %" if percent >= 10 else f"{percent:.1f} %"


def read_rows(share: Share) -> str:
    """The number of rows that were read, out of all rows."""
    return f"{share.records:,} of {counted(share.table_records, 'row')}"


def read_bytes(share: Share) -> str:
    """The number of bytes that were read, out of all bytes."""
    return f"{size_text(share.bytes)} of {size_text(share.table_bytes)}"
