"""The measurements of a scenario, and the file that stores them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..meter import Spent
from .sizes import Sizes


@dataclass
class Step:
    """The cost of one method for one stage of one history on one day."""

    history: str
    way: str
    stage: str
    day: int
    spent: Spent


@dataclass
class Outcome:
    """The steps, and the row counts of the tables at the end, by name. ``load_…``: as in results.Result."""

    sizes: Sizes
    load_before: float
    load_after: float = 0.0
    steps: list[Step] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write the outcome to a file, atomically."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(path)


def read(path: Path) -> Outcome:
    """Saved measurements. Raises ValueError or TypeError if the file is not valid."""
    document = json.loads(path.read_text(encoding="utf-8"))
    steps = [Step(**{**step, "spent": Spent(**step["spent"])}) for step in document["steps"]]
    return Outcome(**{**document, "sizes": _sizes(document["sizes"]), "steps": steps})


def _sizes(document: Mapping[str, int | list[int]]) -> Sizes:
    lists = {name: tuple(value) for name, value in document.items() if isinstance(value, list)}
    return Sizes(**{**document, **lists})  # type: ignore[arg-type]
