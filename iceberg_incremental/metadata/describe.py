"""Parses the result of DESCRIBE TABLE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..table.layout import DescribedColumn

Stats = Mapping[str, tuple[str, Any, str]]
"""Statistics by id: label, value and description."""

_STAT_LABELS = {
    "bytes": ("Approximate Size", "Bytes of the data files"),
    "rows": ("Row Count", "Rows as the metadata counts them"),
}


@dataclass(frozen=True)
class Description:
    """A relation as DESCRIBE TABLE shows it. ``columns``: empty if the relation does not exist.

    ``details``: the rows that EXTENDED adds, by name. ``partition_fields``: in Spark's notation. ``is_view``: known
    only with EXTENDED.
    """

    columns: tuple[DescribedColumn, ...]
    details: Mapping[str, str]
    partition_fields: tuple[str, ...] = ()
    is_view: bool = False

    @property
    def provider(self) -> str | None:
        """The table format, such as ``iceberg``."""
        return self.details.get("Provider", "").lower() or None

    @property
    def stats(self) -> Stats:
        """The size in bytes and the number of rows, if Spark knows them."""
        parts = (part.partition(" ") for part in self.details.get("Statistics", "").split(", "))
        found = {unit: number for number, _, unit in parts}
        return {
            key: (label, int(found[key]), text)
            for key, (label, text) in _STAT_LABELS.items()
            if found.get(key, "").isdigit()
        }


def describe(rows: Iterable[Sequence[Any]]) -> Description:
    """Parse the rows of DESCRIBE TABLE [EXTENDED]: columns, then sections with titles that start with ``#``.

    Spark lists partition columns under ``# Partition Information``. If any field is a transform, it lists all fields,
    such as ``Part 0``, under ``# Partitioning``.
    """
    columns: list[DescribedColumn] = []
    details: dict[str, str] = {}
    partitions: list[str] = []
    section: str | None = None
    titles: set[str] = set()
    for name, value, comment in ((str(r[0] or ""), str(r[1] or ""), r[2] if len(r) > 2 else None) for r in rows):
        if not name or (name.startswith("# ") and not value):
            section = name or section or ""
            titles.add(section)
        elif section is None:
            columns.append(DescribedColumn(name, value, comment or None))
        elif section.startswith("# Detailed"):
            details[name] = value
        elif section == "# Partition Information" and name != "# col_name":
            partitions.append(name)
        elif section == "# Partitioning":
            partitions.append(value)
    is_view = "# Detailed View Information" in titles or details.get("Type") == "VIEW"
    return Description(tuple(columns), details, tuple(partitions), is_view)
