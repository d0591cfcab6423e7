"""What a run does to a table that is kept equal to its SQL, as a value: a run carries it out, others show it."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.rebuild_cost import Choice
from ..query.changed import Changes
from ..query.incremental_query import IncrementalQuery
from ..query.summary_delta import SummaryDelta
from .changelog import Bound


@dataclass(frozen=True)
class Summary:
    """What is known of a view of affected keys: how many, whether one may be NULL, their types and bounds."""

    view: str
    keys: int
    nulls: bool
    types: tuple[str, ...]
    bounds: tuple[Bound, ...]


@dataclass(frozen=True)
class Affected:
    """The affected keys of a run: of which query, by which changes of its sources, and what is known of them."""

    kept: IncrementalQuery
    changes: Changes
    keys: Summary


@dataclass(frozen=True)
class Continued:
    """The groups of a run that continue from the table's rows: how, and what is known of the view of their deltas."""

    summary: SummaryDelta
    keys: Summary


@dataclass(frozen=True)
class UpdatePlan:
    """What a run does to a table that is kept equal to its SQL. Nothing is written yet.

    ``choice``: which way it takes, and why. ``added``: the relation of the rows that it only appends. ``continued``:
    the groups that continue. ``affected``: None where the keys were not counted.
    """

    choice: Choice
    added: str | None = None
    continued: Continued | None = None
    affected: Affected | None = None

    @property
    def keys(self) -> Summary | None:
        """What is known of the affected keys; None where they were not looked for."""
        found = self.continued or self.affected
        return None if found is None else found.keys


def log_line(model: str, plan: UpdatePlan) -> str:
    """What the log says of the way that a run has taken."""
    if plan.choice.rebuilds:
        way = "all rows are replaced"
    elif plan.added is not None:
        way = "new rows are inserted"
    elif plan.keys is not None and not plan.keys.keys:
        way = "only the checkpoint moves"
    elif plan.continued is not None:
        way = "affected groups are updated from the changed rows alone"
    else:
        way = "affected rows are replaced"
    return f"{model}: {way}, since {plan.choice.reason}"
