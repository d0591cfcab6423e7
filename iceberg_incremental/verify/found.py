"""The result of comparing a table with its rebuild: permitted differences, and the record in a table property."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from ..capture.cuts import Cuts
from ..capture.run_plan import Read, RunPlan
from ..plan.policy import OnRewrite, Strategy
from ..plan.versions_config import HardDeletes
from ..quantities import instant
from ..table.checkpoint import UnreadableCheckpoint, carried_by
from ..table.commits import Effect, begins_table, effect
from ..table.history import History, TableName


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


VERIFIED_KEY = "ip.verified"
"""The table property, for users and the status page. Nothing else depends on it."""


@dataclass(frozen=True)
class Verified:
    """A comparison: its ``result``, its time, and the compared snapshot of the table.

    ``epoch``: the epoch of the table's checkpoint. ``share``: the share of the keys that were compared, from 0 to 1.
    """

    result: str
    at_ms: int
    snapshot_id: int
    epoch: int
    share: float

    @property
    def text(self) -> str:
        """The comparison in one line, for users."""
        part = "" if self.share == 1 else f", {percent(self.share)} of the keys"
        answer = self.result.replace("_", " ")
        return f"verified on {instant(self.at_ms)}: {answer} (run {self.epoch}, snapshot {self.snapshot_id}{part})"


def percent(share: float) -> str:
    """A share as text, for example ``0.5%``."""
    return f"{share * 100:.4g}%"


def to_property(verified: Verified) -> str:
    """The value of the table property."""
    return json.dumps(asdict(verified), separators=(",", ":"))


def last_verified(properties: Mapping[str, str]) -> Verified | None:
    """The last comparison of a table with these properties. None if there is none, or if it cannot be read."""
    try:
        return Verified(**json.loads(properties[VERIFIED_KEY]))
    except (KeyError, ValueError, TypeError):
        return None
