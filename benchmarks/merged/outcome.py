"""The measurements of a case, and the file that stores them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..meter import Spent
from .cases import Case, Sizes


@dataclass
class Outcome:
    """The costs of a case's methods, by name and round.

    ``changed``: the number of changed rows in each measured round. ``missed``: the number of deleted rows that the
    table of a method still contains at the end, by method.
    """

    case: Case
    sizes: Sizes
    changed: list[int] = field(default_factory=list)
    steps: dict[str, list[Spent]] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)

    def total(self, way: str) -> Spent:
        """The total cost of a method in the measured rounds."""
        return sum(self.steps[way], start=Spent())

    def write(self, folder: Path) -> None:
        """Write the outcome to a folder, atomically."""
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f"{self.case.name}.draft"
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(draft.with_suffix(".json"))


def read(folder: Path, case: Case) -> Outcome | None:
    """The measurements of a case in a folder. None if the case has not been measured."""
    path = folder / f"{case.name}.json"
    if not path.exists():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    steps = {way: [Spent(**spent) for spent in found] for way, found in document["steps"].items()}
    return Outcome(**{**document, "case": case, "sizes": Sizes(**document["sizes"]), "steps": steps})
