"""What the runs of an ``auto`` model have learned about it, as a property of its table.

The constants of ``rebuild_cost`` were fitted on one machine to a few benchmarks. For wider rows, for more expensive SQL
and on other machines they are wrong, but by about the same factor in each run of a model. A run therefore records this
factor in the commit that publishes its rows, and the next runs multiply their estimates by it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

REPLACE_ALL = "replace_all"
"""The way of a run that replaces all rows. The others are in ``UpdatePlan.way``."""
KEY = "ip.learned"
"""The table property, which contains JSON."""

LEAST_S = 0.5
"""The least seconds of executors' CPU, estimated for a rebuild, from which on costs are measured."""
_MOST = 10.0
"""A factor is at most this, and at least its reciprocal."""
_NEW = 0.7
"""The weight of the last run in a factor, which is a geometric mean."""
_EXPECTED = 0.98
"""The factor of the share of affected rows after a run that has not searched, so that a later run searches again."""
_REMEMBERED = 0.9
"""The exponent of the factor of the method that a run does not use, so that a wrong factor is forgotten."""


@dataclass(frozen=True)
class Outcome:
    """What a run cost. ``way``: as in ``UpdatePlan``. ``estimated``, ``spent``: seconds of executors' CPU."""

    way: str
    estimated: float
    spent: float


@dataclass(frozen=True)
class Learned:
    """What is known about a model from its runs.

    ``found``, ``kept``, ``rebuilt``: the measured cost as a factor of the estimate, for finding the affected keys, then
    for replacing the affected rows, and for replacing all rows. 1 for what was not measured. ``last``: the last
    measured run; None if there is none. ``key``: the columns by which rows are replaced most cheaply, as a sample has
    shown. Empty if unknown. ``rows_per_key``: the number of rows of the table for each value of these columns. 0 if
    unknown. ``affected``: the share of the table's rows that a run last found to be affected, of a large table, and the
    number of rows that it searched for changes. 0 if none has counted them.
    """

    kept: float = 1.0
    rebuilt: float = 1.0
    last: Outcome | None = None
    key: tuple[str, ...] = ()
    rows_per_key: float = 0.0
    affected: tuple[float, int] = (0.0, 0)
    found: float = 1.0

    def after(self, outcome: Outcome) -> Learned:
        """What is known after another run."""
        rebuilds = outcome.way == REPLACE_ALL
        factor = _within(outcome.spent / max(outcome.estimated, 1e-9))
        used, other = (self.rebuilt, self.kept) if rebuilds else (self.kept, self.rebuilt)
        used, other = used ** (1 - _NEW) * factor**_NEW, other**_REMEMBERED
        kept, rebuilt = (other, used) if rebuilds else (used, other)
        return replace(self, kept=kept, rebuilt=rebuilt, last=outcome)

    def after_search(self, estimated: float, spent: float) -> Learned:
        """What is known after a run that has found the affected keys. In seconds of executors' CPU."""
        factor = _within(spent / max(estimated, 1e-9))
        return replace(self, found=self.found ** (1 - _NEW) * factor**_NEW)

    def without_search(self) -> Learned:
        """What is known after a run that has not searched, although it would have without what is known."""
        share, searched = self.affected
        return replace(self, affected=(share * _EXPECTED, searched), found=self.found**_EXPECTED)

    def expected(self, searched: int) -> float:
        """The expected share of affected rows. ``searched``: the rows to search for changes.

        It is that of the last search, or less if that one had more rows to search, as after a correction of old rows.
        """
        share, before = self.affected
        return share * min(1.0, searched / max(before, 1))

    def to_json(self) -> str:
        """The text of the table property."""
        found: dict[str, object] = {}
        if self.last is not None:
            found = {"kept": round(self.kept, 3), "rebuilt": round(self.rebuilt, 3)}
            found["last"] = [self.last.way, round(self.last.estimated, 3), round(self.last.spent, 3)]
        if self.key:
            found["key"] = list(self.key)
        if self.rows_per_key:
            found["rows_per_key"] = round(self.rows_per_key, 3)
        if self.affected[0]:
            found["affected"] = [round(self.affected[0], 3), self.affected[1]]
        if self.found != 1:
            found["found"] = round(self.found, 3)
        return json.dumps(found, separators=(",", ":"))


NOTHING = Learned()


def learned(properties: Mapping[str, str]) -> Learned:
    """What a table's properties record. Text that is not of this package counts as nothing."""
    try:
        found = json.loads(properties.get(KEY, "{}"))
        way, estimated, spent = found.get("last") or (None, 0, 0)
        last = None if way is None else Outcome(str(way), _number(estimated), _number(spent))
        kept, rebuilt, searched = (_within(_number(found.get(each, 1))) for each in ("kept", "rebuilt", "found"))
        per_key = max(_number(found.get("rows_per_key", 0)), 0.0)
        share, before = map(_number, found.get("affected", (0, 0)))
        affected = min(max(share, 0.0), 1.0), max(int(before), 0)
        return Learned(kept, rebuilt, last, tuple(map(str, found.get("key", ()))), per_key, affected, searched)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return NOTHING


def _number(value: Any) -> float:
    """A number in JSON. Raises ValueError for NaN and infinity, which Python reads although JSON has neither."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(value)
    return number


def _within(factor: float) -> float:
    return min(max(factor, 1 / _MOST), _MOST)
