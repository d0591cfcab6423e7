"""What was measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..meter import Spent
from .cases import Case


@dataclass
class Outcome:
    """What the ways of a case spent, by name and round.

    ``changed``: the rows that changed in each measured round. ``missed``: deleted rows that ways still have at the end.
    """

    case: Case
    changed: list[int] = field(default_factory=list)
    steps: dict[str, list[Spent]] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)

    def total(self, way: str) -> Spent:
        """The sum over the measured rounds."""
        return sum(self.steps[way], start=Spent())
