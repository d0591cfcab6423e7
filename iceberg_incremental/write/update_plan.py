"""The plan of a run that keeps a table equal to its SQL. A run executes it; ``ip_explain`` only shows it."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.rebuild_cost import Choice
from ..query.plan import IncrementalQuery
from ..query.rules.changed import Changes
from ..query.rules.summary import SummaryDelta
from .changelog import Bound

REPLACE_ALL = "replace_all"


@dataclass(frozen=True)
class Summary:
    """The summary of a view of affected keys.

    ``keys``: the number of keys. ``nulls``: whether a key may be NULL. ``types``: the Spark types of the key's columns.
    ``bounds``: satisfied by all keys.
    """

    view: str
    keys: int
    nulls: bool
    types: tuple[str, ...]
    bounds: tuple[Bound, ...]


@dataclass(frozen=True)
class Affected:
    """The affected keys of a run. ``kept``: the query. ``changes``: those of its sources. ``keys``: the summary."""

    kept: IncrementalQuery
    changes: Changes
    keys: Summary


@dataclass(frozen=True)
class Continued:
    """The groups that a run updates from the changed rows alone. ``keys``: the summary of these groups."""

    summary: SummaryDelta
    keys: Summary


@dataclass(frozen=True)
class UpdatePlan:
    """The plan of a run that keeps a table equal to its SQL. Nothing is written yet.

    ``choice``: whether the run replaces all rows, and why. ``added``: the relation of the rows to insert, if existing
    rows do not change. ``continued``: the groups that are updated from the changed rows alone. ``affected``: the keys
    whose rows are replaced; None if they were not counted. ``is_left_alone``: whether no row changes.
    """

    choice: Choice
    added: str | None = None
    continued: Continued | None = None
    affected: Affected | None = None
    is_left_alone: bool = False

    @property
    def keys(self) -> Summary | None:
        """The summary of the affected keys. None if they were not determined."""
        found = self.continued or self.affected
        return None if found is None else found.keys

    @property
    def way(self) -> str:
        """How the run updates the table: a key of ``_WAYS``. The run, its report and ``ip_explain`` read it."""
        if self.choice.rebuilds:
            return REPLACE_ALL
        if self.added is not None:
            return "append"
        if self.is_left_alone or (self.keys is not None and not self.keys.keys):
            return "none"
        return "replace_keys" if self.continued is None else "update_groups"


_WAYS = {
    REPLACE_ALL: "all rows are replaced",
    "append": "new rows are inserted",
    "none": "only the checkpoint moves",
    "update_groups": "affected groups are updated from the changed rows alone",
    "replace_keys": "affected rows are replaced",
}


def log_line(model: str, plan: UpdatePlan) -> str:
    """The log line that states what a run did, and why."""
    return f"{model}: {_WAYS[plan.way]}, since {plan.choice.reason}"
