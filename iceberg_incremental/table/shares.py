"""The share of a table that a run read, in rows and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from .history import Snapshot


@dataclass(frozen=True)
class Share:
    """The rows and bytes that were read, and those of the whole table at the end of the range.

    ``at_most``: less may have been read. Rows that were deleted in place count, and a table that a run also reads as a
    whole counts as a whole, although Spark may have skipped files.
    """

    records: int
    bytes: int
    table_records: int
    table_bytes: int
    at_most: bool = False

    @property
    def of_records(self) -> float | None:
        """The share of the rows: 0.25 is a quarter. None for an empty table. The share of net changes can exceed 1."""
        return None if not self.table_records else self.records / self.table_records

    @property
    def of_bytes(self) -> float | None:
        """The share of the bytes, as in ``of_records``."""
        return None if not self.table_bytes else self.bytes / self.table_bytes


def share_at(end: Snapshot | None, records: int, size: int, *, at_most: bool = False) -> Share | None:
    """The share of a table at a snapshot, or of an empty table without one. None if the summary has no totals."""
    if end is None:
        return Share(records, size, 0, 0, at_most)
    table_records, table_bytes = end.number("total-records"), end.number("total-files-size")
    if table_records is None or table_bytes is None:
        return None
    return Share(records, size, table_records, table_bytes, at_most)


def whole_of(end: Snapshot | None, *, at_most: bool = False) -> Share | None:
    """The share of a table that was read as a whole at a snapshot."""
    found = share_at(end, 0, 0, at_most=at_most)
    return None if found is None else replace(found, records=found.table_records, bytes=found.table_bytes)


def sum_of(shares: Iterable[Share]) -> Share:
    """The total that was read, and the total of the whole tables at those times."""
    total = Share(0, 0, 0, 0)
    for each in shares:
        total = Share(
            total.records + each.records,
            total.bytes + each.bytes,
            total.table_records + each.table_records,
            total.table_bytes + each.table_bytes,
            total.at_most or each.at_most,
        )
    return total


def to_document(share: Share) -> dict[str, Any]:
    """The share as JSON values for a checkpoint."""
    document = asdict(share)
    return document if share.at_most else {key: value for key, value in document.items() if key != "at_most"}


def from_document(document: object) -> Share | None:
    """The share from the JSON values of a checkpoint. None if it is missing or has another format.

    A wrong share does not make a checkpoint unreadable, because it is only a statistic.
    """
    if not isinstance(document, Mapping):
        return None
    numbers = [document.get(key) for key in ("records", "bytes", "table_records", "table_bytes")]
    if any(isinstance(each, bool) or not isinstance(each, int) or each < 0 for each in numbers):
        return None
    records, size, table_records, table_bytes = (int(each or 0) for each in numbers)
    return Share(records, size, table_records, table_bytes, document.get("at_most") is True)
