"""Differences that a model's config permits. An example is rows that a policy skips and a rebuild includes.

These differences prove neither an error nor its absence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from ..capture.cuts import Cuts
from ..capture.run_plan import Read, RunPlan
from ..plan.history_config import HardDeletes
from ..plan.policy import OnRewrite, Strategy
from ..table.checkpoint import carried_by
from ..table.commits import Effect, begins_table, effect
from ..table.history import History, TableName
from ..table.unreadable import UnreadableCheckpoint


class Kind(str, Enum):
    """How a row of the table differs from the rebuild."""

    MISSING = "missing"
    TOO_MANY = "too_many"
    CHANGED = "changed"


@dataclass(frozen=True)
class Permitted:
    """Kinds of differences that can exist without an error, with the reason."""

    kinds: frozenset[Kind]
    reason: str


_ALL = frozenset(Kind)
_MAY_CHANGE = (Effect.REWRITE,)


def permitted(plan: RunPlan, cuts: Cuts, target: History, predicates: Collection[str]) -> list[Permitted]:
    """The differences that a model's policies permit.

    ``plan``: the plan of a first build. ``predicates``: the config ``incremental_predicates``. Raises the errors of the
    metadata reader.
    """
    return list(_permitted(plan, cuts, target, predicates))


def _permitted(plan: RunPlan, cuts: Cuts, target: History, predicates: Collection[str]) -> Iterator[Permitted]:
    policy = plan.policy
    if policy.strategy is Strategy.APPEND and plan.net:
        yield Permitted(_ALL, f"append adds the changes of {_listed(plan.net)} to the rows that it has")
    if predicates and policy.strategy in (Strategy.MERGE, Strategy.APPLY_CHANGES):
        yield Permitted(_ALL, "incremental_predicates keep rows from being replaced")
    rewritten = [each for each in plan.read_as(Read.CHANGES) if not _only_adds(each, cuts, target)]
    if rewritten and policy.on_source_rewrite is OnRewrite.IGNORE:
        yield Permitted(_ALL, f"on_source_rewrite: ignore passes over commits of {_listed(rewritten)} that change rows")
    if rewritten and policy.on_source_rewrite is OnRewrite.UPSERTS:
        kept = f"on_source_rewrite: upserts keeps rows that were deleted from {_listed(rewritten)}"
        yield Permitted(frozenset({Kind.TOO_MANY}), kept)
    history = policy.history
    if history is not None and history.hard_deletes is HardDeletes.IGNORE:
        rewritten = [each for each in plan.net if not _only_adds(each, cuts, target)]
        if rewritten:
            kept = f"hard_deletes: ignore keeps versions of rows that were deleted from {_listed(rewritten)}"
            yield Permitted(frozenset({Kind.TOO_MANY}), kept)


def _listed(tables: Collection[TableName]) -> str:
    return ", ".join(sorted(map(str, tables)))


def _only_adds(source: TableName, cuts: Cuts, target: History) -> bool:
    """Whether a source is known to have only added rows since the whole target was last built."""
    cut = cuts.of(source)
    if cut is None or cut.end is None:
        return True
    start = _built_at(source, target)
    commits = cut.history.commits_since(start, cut.end)
    if commits is None or (start is None and commits and not begins_table(commits[0])):
        return False
    return all(effect(each) not in _MAY_CHANGE for each in commits)


def _built_at(source: TableName, target: History) -> int | None:
    """The snapshot of a source at which the whole target was last built. None if unknown."""
    for snapshot in target.ancestors(target.current_snapshot_id):
        try:
            checkpoint = carried_by(snapshot, target.table)
        except UnreadableCheckpoint:
            return None
        position = None if checkpoint is None else checkpoint.sources.get(str(source))
        if position is not None and not position.continues:
            return position.snapshot_id
    return None
