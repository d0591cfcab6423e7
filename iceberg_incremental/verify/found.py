"""The result of comparing a table with its rebuild."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .permitted import Kind, Permitted

MOST_EXAMPLES = 5
_ROUNDING = "by_rounding"
_KINDS = (Kind.MISSING.value, Kind.TOO_MANY.value, Kind.CHANGED.value, _ROUNDING)


class Result(str, Enum):
    """The overall result for a table."""

    EQUAL = "equal"
    """All compared rows equal those of the rebuild."""

    EQUAL_IN_PART = "equal_in_part"
    """Equal, but some rows or columns of the table were not compared."""

    EQUAL_BUT_ROUNDING = "equal_but_rounding"
    """Equal, except that some floating-point numbers are rounded differently."""

    DIFFERS = "differs"
    """Rows differ."""

    NOT_COMPARED = "not_compared"
    """The table could not be compared, or the model's policies permit all differences that were found."""


@dataclass(frozen=True)
class Found:
    """The differences by kind. ``examples``: up to five rows, or pairs of rows, of each kind, as JSON values.

    ``missing``, ``too_many``: numbers of rows. ``changed``, ``by_rounding``: numbers of keys whose rows differ.
    ``columns``: the number of these keys for which a column differs, by column.
    """

    missing: int = 0
    too_many: int = 0
    changed: int = 0
    by_rounding: int = 0
    columns: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of differences found, except for rounding."""
        counts = {Kind.MISSING: self.missing, Kind.TOO_MANY: self.too_many, Kind.CHANGED: self.changed}
        return frozenset(kind for kind, count in counts.items() if count)

    def result(self, permitted: Sequence[Permitted], *, in_part: bool) -> Result:
        """The overall result. ``permitted``: the differences that the model's policies allow.

        ``in_part``: whether some rows or columns of the table were not compared.
        """
        if not self.kinds:
            equal = Result.EQUAL_IN_PART if in_part else Result.EQUAL
            return Result.EQUAL_BUT_ROUNDING if self.by_rounding else equal
        allowed = frozenset(kind for each in permitted for kind in each.kinds)
        return Result.NOT_COMPARED if self.kinds <= allowed else Result.DIFFERS


def found(rows: Sequence[Sequence[Any]], columns: Sequence[str]) -> Found:
    """Combine the rows of ``Comparison.found_sql``. ``columns``: the names of its ``others``."""
    width = len(_KINDS)
    counts = [sum(int(row[place] or 0) for row in rows) for place in range(width)]
    examples = {
        kind: [json.loads(row[width + place]) for row in rows if row[width + place] is not None][:MOST_EXAMPLES]
        for place, kind in enumerate(_KINDS)
    }
    differing = {name: sum(int(row[2 * width + place] or 0) for row in rows) for place, name in enumerate(columns)}
    missing, too_many, changed, by_rounding = counts
    return Found(
        missing,
        too_many,
        changed,
        by_rounding,
        columns={name: count for name, count in differing.items() if count},
        examples={kind: found for kind, found in examples.items() if found},
    )
