"""What earlier runs of an ``auto`` model cost, compared with the estimates by which they chose their method.

The constants of ``rebuild_cost`` were fitted on one machine to a few benchmarks. For wider rows, for more expensive SQL
and on other machines they are wrong, but by about the same factor in each run of a model. A run therefore records this
factor in a property of its table, in the commit that publishes its rows, and the next runs multiply their estimates by
it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

KEY = "ip.costs"
"""The table property with the costs as JSON."""

LEAST_S = 0.5
"""The least seconds of executors' CPU, estimated for a rebuild, from which on costs are measured."""
_MOST = 10.0
"""A factor is at most this, and at least its reciprocal."""
_NEW = 0.7
"""The weight of the last run in a factor, which is a geometric mean."""
_REMEMBERED = 0.9
"""The weight of the factor of the method that a run does not use. A wrong factor is so forgotten and tried again."""


@dataclass(frozen=True)
class Outcome:
    """What a run cost. ``way``: as in ``UpdatePlan``. ``estimated``, ``spent``: seconds of executors' CPU."""

    way: str
    estimated: float
    spent: float


@dataclass(frozen=True)
class MeasuredCosts:
    """The measured costs of a model's runs, as factors of the estimates: 1 for a method that was not measured yet.

    ``kept``: for finding and replacing affected rows. ``rebuilt``: for replacing all rows. ``last``: the last measured
    run. None if there is none.
    """

    kept: float = 1.0
    rebuilt: float = 1.0
    last: Outcome | None = None

    def after(self, outcome: Outcome, *, rebuilds: bool) -> MeasuredCosts:
        """The costs after another run. ``rebuilds``: whether it replaced all rows."""
        factor = _within(outcome.spent / max(outcome.estimated, 1e-9))
        used, other = (self.rebuilt, self.kept) if rebuilds else (self.kept, self.rebuilt)
        used, other = used ** (1 - _NEW) * factor**_NEW, other**_REMEMBERED
        return MeasuredCosts(*(other, used) if rebuilds else (used, other), outcome)

    def to_json(self) -> str:
        """The text of the table property."""
        found: dict[str, object] = {"kept": round(self.kept, 3), "rebuilt": round(self.rebuilt, 3)}
        if self.last is not None:
            found["last"] = [self.last.way, round(self.last.estimated, 3), round(self.last.spent, 3)]
        return json.dumps(found, separators=(",", ":"))


NOT_MEASURED = MeasuredCosts()


def measured_costs(properties: Mapping[str, str]) -> MeasuredCosts:
    """The costs that a table's properties record. Text that is not of this package counts as none."""
    try:
        found = json.loads(properties.get(KEY, "{}"))
        way, estimated, spent = found.get("last") or (None, 0, 0)
        last = None if way is None else Outcome(str(way), float(estimated), float(spent))
        return MeasuredCosts(_within(float(found.get("kept", 1))), _within(float(found.get("rebuilt", 1))), last)
    except (ValueError, TypeError, AttributeError):
        return NOT_MEASURED


def _within(factor: float) -> float:
    return min(max(factor, 1 / _MOST), _MOST)
