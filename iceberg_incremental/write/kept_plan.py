"""What a run does to a table that is kept equal to its SQL, as a value: a run carries it out, others show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..plan.rebuild_cost import Choice
from ..query.changed import Changes
from ..query.kept import KeptQuery
from .changelog import Bound


@dataclass(frozen=True)
class Summary:
    """What is known of a view of affected keys: how many, whether one may be NULL, their types and bounds.

    ``distinct``: about how many values some columns have.
    """

    view: str
    keys: int
    nulls: bool
    types: tuple[str, ...]
    bounds: tuple[Bound, ...]
    distinct: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Affected:
    """The affected keys of a run: of which query, by which changes of its sources, and what is known of them."""

    kept: KeptQuery
    changes: Changes
    keys: Summary


@dataclass(frozen=True)
class KeptPlan:
    """What a run does to a table that is kept equal to its SQL. Nothing is written yet.

    ``choice``: which way it takes, and why. ``added``: the relation of the rows that it only appends. ``affected``:
    None where the keys were not counted.
    """

    choice: Choice
    added: str | None = None
    affected: Affected | None = None


def log_line(model: str, choice: Choice) -> str:
    """What the log says of the way that a run has taken."""
    way = "all rows are replaced" if choice.rebuilds else "affected rows are replaced"
    return f"{model}: {way}, since {choice.reason}"
