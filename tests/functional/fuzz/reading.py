"""The ways in which the models of a history read net changes. All ways must return the same rows.

The fuzz runs in ``method: session``, which can read individual data files. Other connections use plain SQL, which
contains the names of the files, or no names if the list would be too long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any
from unittest.mock import patch

from iceberg_incremental.expose import net, parts
from iceberg_incremental.plan.ranges import NetRange
from iceberg_incremental.spark.port import Rows
from iceberg_incremental.spark.staged_scans import CATALOG

from .tally import Tally


class Reading(Enum):
    """A way to read net changes."""

    EXACTLY = "exactly"
    BY_SQL = "by plain SQL"
    WITHOUT_NAMES = "by plain SQL that names no files"


@contextmanager
def read_as(readings: Mapping[str, Reading], tally: Tally) -> Iterator[None]:
    """Have models read tables in these ways, by the prefix of their names. Counts the ways that were used."""
    current = threading.local()

    def chosen(read: Callable[..., Any]) -> Callable[..., Any]:
        def reading(range_: NetRange, exact: Any, **options: Any) -> Any:
            way = readings[range_.table.name.partition("_")[0]]
            current.names_no_files = way is Reading.WITHOUT_NAMES
            found = read(range_, exact if way is Reading.EXACTLY else None, **options)
            for part in found if isinstance(found, list) else [parts.Part(found, "1")]:
                tally.add(tally.readings, _shown(part.rows))
            current.names_no_files = False
            return found

        return reading

    def length(files: Any) -> float:
        return float("inf") if getattr(current, "names_no_files", False) else length_of(files)

    length_of = parts._length
    with (
        patch.object(net, "parts_of", chosen(parts.parts_of)),
        patch.object(net, "touched_rows", chosen(parts.touched_rows)),
        patch.object(parts, "_length", length),
    ):
        yield


def _shown(rows: Rows) -> str:
    if rows.relation.startswith(CATALOG):
        return "exactly"
    if ".`changes` with" in rows.relation.lower():
        return "by the changelog scan"
    return "by names" if any("_file in (" in each for each in rows.conditions) else "by an end"
