"""What must hold after a run, in plain Python: no word of it is taken from the product.

A ``Table`` remembers what it held at each of its snapshots, expired ones too, and what each commit did. Which snapshots
there are and how they descend is Iceberg's own metadata; what they hold is known from the steps and the models.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date

from .histories import ModelChoice
from .kinds import Delta, Rows

NO_SNAPSHOT = None


@dataclass(frozen=True)
class Metadata:
    """A table as Iceberg shows it: the head, the parent of each snapshot that has not expired, and the checkpoint."""

    head: int | None
    parents: dict[int, int | None]
    checkpoint: str | None = None


@dataclass(frozen=True)
class Commit:
    """What a commit did: the rows that it only added; None where it changed or deleted rows, or may have.

    ``is_overwrite``: whether it added them by an overwrite. ``may_be_empty``: whether it may have moved no row at all.
    """

    added: Rows | None
    is_overwrite: bool = False
    may_be_empty: bool = False


NOTHING = Commit(Counter())
REWRITE = Commit(None)


class Table:
    """What a table holds, and held. ``read``: how many of its columns models read; None for all.

    ``day_at``: the place of the event time among them, if there is one. ``is_altered``: whether its columns have
    changed since it was made.
    """

    def __init__(self, name: str, read: int | None = None, day_at: int | None = None) -> None:
        self.name = name
        self.read = read
        self.day_at = day_at
        self.is_altered = False
        self.held: dict[int | None, Rows] = {NO_SNAPSHOT: Counter()}
        self.commits: dict[int, Commit] = {}
        self.seen = Metadata(None, {})
        self.order: dict[int, int] = {}
        self._came_from: dict[int, int | None] = {}

    @property
    def catalog(self) -> str:
        return self.name.partition(".")[0]

    @property
    def head(self) -> int | None:
        return self.seen.head

    @property
    def rows(self) -> Rows:
        return self.held[self.head]

    def projected(self, rows: Rows) -> Rows:
        """Rows in the columns that models read."""
        found: Rows = Counter()
        for row, n in rows.items():
            found[row[: self.read]] += n
        return found

    def observe(self, seen: Metadata) -> None:
        """Take over metadata after a step that moved no rows of a new snapshot."""
        assert seen.head in self.held, f"{self.name} has a snapshot {seen.head} that no step has made"
        self._see(seen)

    def record(self, seen: Metadata, rows: Rows, commit: Commit) -> None:
        """Take over metadata after a step or a run that left these rows, with or without a commit.

        What it committed on the way to its last commit counts as part of that one.
        """
        if seen.head in self.held:
            assert self.held[seen.head] == rows, f"{self.name} did not get the commit that a step should have made"
        else:
            assert seen.head is not None
            self.held[seen.head] = rows
            self.commits[seen.head] = commit
            self.order[seen.head] = len(self.order)
            between = seen.parents[seen.head]
            while between in seen.parents and between not in self.commits:
                self.commits[between] = NOTHING
                self.order[between] = self.order[seen.head]
                between = seen.parents[between]
        self._see(seen)

    def _see(self, seen: Metadata) -> None:
        self._came_from.update(seen.parents)
        self.seen = seen

    def ancestors(self, snapshot: int | None) -> list[int]:
        """A snapshot and those it comes from, newest first, as far as they have not expired."""
        found = []
        while snapshot in self.seen.parents:
            found.append(snapshot)
            snapshot = self.seen.parents[snapshot]
        return found

    def since(self, position: int | None) -> list[int] | None:
        """The commits from a position to the head, oldest first and expired ones too; None where none lead there."""
        found = []
        snapshot = self.head
        while snapshot is not None and snapshot != position:
            found.append(snapshot)
            snapshot = self._came_from[snapshot]
        return found[::-1] if snapshot == position else None

    def rewrites(self, commits: Iterable[int]) -> bool:
        """Whether some of these commits changed or deleted rows, or may have."""
        return any(self.commits[each].added is None for each in commits)

    def added(self, commits: Iterable[int]) -> Rows:
        """The rows of the commits that only added some."""
        rows: Rows = Counter()
        for each in commits:
            rows += self.commits[each].added or Counter()
        return rows

    def common_ancestor(self, position: int) -> int | None:
        ours = set(self.ancestors(self.head))
        return next((each for each in self.ancestors(position) if each in ours), None)

    def replaced(self, position: int) -> list[bool]:
        """Whether the table began anew after a position; both, where it did and that can no longer be seen."""
        if self.head is None:
            return [True]
        line = [self.head]
        while (parent := self._came_from[line[-1]]) is not None:
            line.append(parent)
        is_new = self.order[line[-1]] > self.order[position]
        return [True] if is_new and line[-1] in self.seen.parents else [False, True] if is_new else [False]


@dataclass(frozen=True)
class Failure:
    """A run fails, and says these words. ``ancestor``: the snapshot of ``table`` to go on from, if that would do."""

    words: str
    table: Table | None = None
    ancestor: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run may come to: these rows, by a rebuild or not, and these positions; or a failure."""

    rows: Rows = field(default_factory=Counter)
    positions: dict[str, int | None] = field(default_factory=dict)
    is_rebuild: bool = False
    failure: Failure | None = None


REWRITTEN = "was rewritten since"
BROKEN = "does not lead from the checkpoint of"
UNREADABLE = "cannot be read by"
GONE = "cannot process a window of"


class Rebuild:
    """A policy has the model rebuilt."""


Seen = Delta | Failure | Rebuild


def seen_of(table: Table, position: int | None, macros: tuple[str, ...], choice: ModelChoice) -> list[Seen]:
    """What a model may see of a table since a position.

    That is more than one thing where snapshots have expired: then a run may find the rows all the same, or fail.
    """
    if "changes" not in macros and "changelog" not in macros:
        return [Delta(table.head, table.projected(table.rows))]
    commits = table.since(position)
    if commits is None:
        assert position is not NO_SNAPSHOT
        return [_broken(table, position, choice, is_replaced=each) for each in table.replaced(position)]
    if position is NO_SNAPSHOT:
        commits = [commit for commit in commits if commit in table.seen.parents]
    has_gap = any(commit not in table.seen.parents for commit in commits)
    takings = [commits] if has_gap else _within(table, commits, choice.limit)
    return [seen for taken in takings for seen in _seen_within(table, position, macros, choice, commits, taken)]


def _seen_within(
    table: Table,
    position: int | None,
    macros: tuple[str, ...],
    choice: ModelChoice,
    commits: list[int],
    taken: list[int],
) -> list[Seen]:
    """What a model may see that takes so many of the commits since a position."""
    has_gap = any(commit not in table.seen.parents for commit in commits)
    end = taken[-1] if taken else table.head
    if position is NO_SNAPSHOT:
        return [whole(table, end)]
    expired = _broken(table, position, choice, is_replaced=False)
    if "changes" in macros and choice.on_source_rewrite == "full_refresh" and table.rewrites(commits):
        return [expired, Rebuild()] if has_gap else [Rebuild()]
    if "changes" in macros and choice.on_source_rewrite == "fail" and table.rewrites(taken):
        return [expired, Failure(REWRITTEN)] if has_gap else [Failure(REWRITTEN)]
    ignores = "changes" in macros and choice.on_source_rewrite == "ignore"
    before, now = table.held[position], table.held[end]
    came, went = table.projected(now - before), table.projected(before - now)
    new = table.projected(table.added(taken)) if ignores else came
    found = Delta(end, table.projected(now), new, came, went)
    may_be: list[Seen] = [found]
    is_expired = position not in table.seen.parents
    if has_gap or (table.rewrites(taken) and not ignores and is_expired):
        may_be.append(expired)
    if (table.is_altered or is_expired) and any(table.commits[each].is_overwrite for each in taken):
        may_be.append(Failure(UNREADABLE))  # there may be delete files, beside which Iceberg does not show such rows
    return may_be


def within_window(
    table: Table, position: int | None, macros: tuple[str, ...], choice: ModelChoice, window: tuple[date, date]
) -> list[Seen]:
    """What a model may see of a table that processes the days of a window again, as it has consumed the table."""
    commits = table.since(position)
    if commits is None:
        assert position is not NO_SNAPSHOT
        return [_broken(table, position, choice, is_replaced=each) for each in table.replaced(position)]
    has_gap = any(commit not in table.seen.parents for commit in commits)
    rebuilds = "changes" in macros and choice.on_source_rewrite == "full_refresh" and table.rewrites(commits)
    may_be: list[Seen] = []
    if position is not NO_SNAPSHOT and (has_gap or position not in table.seen.parents):
        may_be = [_broken(table, position, choice, is_replaced=False), Failure(GONE)]
    if rebuilds:
        return [*may_be, Rebuild()]
    if position is NO_SNAPSHOT or position in table.seen.parents:
        end = table.projected(table.held[position])
        first, last, at = *window, table.day_at
        assert at is not None
        inside = Counter({row: n for row, n in end.items() if first <= row[at] <= last})
        may_be.append(Delta(position, end, inside, inside))
    return may_be


def whole(table: Table, end: int | None) -> Delta:
    """What the first build of a model sees of a table."""
    rows = table.projected(table.held[end])
    return Delta(end, rows, rows, rows)


def _within(table: Table, commits: list[int], limit: int | None) -> list[list[int]]:
    """The commits that a run takes which takes so many that moved rows; those that moved none are for free.

    More than one answer where it is not known of all whether they did.
    """
    if limit is None:
        return [commits]
    unsure = [commit for commit in commits if table.commits[commit].may_be_empty]
    found: list[list[int]] = []
    for moved in itertools.product((False, True), repeat=len(unsure)):
        taken = _taken(table, commits, limit, dict(zip(unsure, moved, strict=True)))
        if taken not in found:
            found.append(taken)
    return found


def _taken(table: Table, commits: list[int], limit: int, moved_by: dict[int, bool]) -> list[int]:
    taken, moved = [], 0
    for commit in commits:
        added = table.commits[commit].added
        moved += moved_by.get(commit, added is None or bool(added))
        if moved > limit:
            break
        taken.append(commit)
    while taken and taken[-1] not in table.held:  # the first of two commits of one run, of which the second is too many
        taken.pop()
    return taken


def _broken(table: Table, position: int, choice: ModelChoice, *, is_replaced: bool) -> Failure | Rebuild:
    policy = choice.on_history_break or ("full_refresh" if is_replaced else "fail")
    return Rebuild() if policy == "full_refresh" else Failure(BROKEN, table, table.common_ancestor(position))


@dataclass(frozen=True)
class State:
    """Up to where a model has read its relations, by ``source`` and ``parent``.

    ``adopted``: a position was set by hand, after which the table need not be what a rebuild would give.
    """

    positions: dict[str, int | None]
    adopted: bool = False


@dataclass
class Model:
    """A model and its table. ``state`` is None before the first build.

    ``states``: those that the snapshots of its table were committed with. ``mirrored``: the state that was last written
    beside the table, and its head then.
    """

    name: str
    choice: ModelChoice
    inputs: dict[str, Table]
    table: Table
    state: State | None = None
    states: dict[int | None, State] = field(default_factory=dict)
    mirrored: tuple[int | None, State] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the table is always what a rebuild from the relations would give."""
        kind = self.choice.kind
        if kind.leaves_emptied:
            return False
        if "changelog" in (*kind.source, *kind.parent):
            return True
        return kind.name in ("append", "merge", "days") and self.choice.on_source_rewrite in ("fail", "full_refresh")

    def outcomes(self, *, full_refresh: bool) -> list[Outcome]:
        """What a run of the model may come to."""
        kind = self.choice.kind
        rebuilt = self._whole({name: table.head for name, table in self.inputs.items()})
        if self.state is None or full_refresh:
            return [rebuilt]
        positions, macros = self.state.positions, {"source": kind.source, "parent": kind.parent}
        seen = [seen_of(table, positions[name], macros[name], self.choice) for name, table in self.inputs.items()]
        return [self._outcome(each, rebuilt) for each in itertools.product(*seen)]

    def window_outcomes(self, window: tuple[date, date]) -> list[Outcome]:
        """What a run of the model may come to that processes the days of a window again, first and last."""
        rebuilt = self._whole({name: table.head for name, table in self.inputs.items()})
        if self.state is None:
            return [rebuilt]
        ((name, table),) = self.inputs.items()
        macros = self.choice.kind.source or self.choice.kind.parent
        seen = within_window(table, self.state.positions[name], macros, self.choice, window)
        return [self._outcome((each,), rebuilt) for each in seen]

    def _outcome(self, seen: tuple[Seen, ...], rebuilt: Outcome) -> Outcome:
        if any(isinstance(each, Rebuild) for each in seen):
            return rebuilt
        failures = [each for each in seen if isinstance(each, Failure)]
        if failures:
            return Outcome(failure=failures[0] if len(failures) == 1 else replace(failures[0], ancestor=None))
        deltas = [each for each in seen if isinstance(each, Delta)]
        rows = self.choice.kind.fold(self.table.rows, *deltas)
        positions = {name: each.position for name, each in zip(self.inputs, deltas, strict=True)}
        if self.is_exact and self.state is not None and not self.state.adopted:
            expected = self._whole(positions).rows
            assert self._without_empty_days(rows) == expected, f"the oracle is at odds with itself on {self.name}"
        return Outcome(rows, positions)

    def _whole(self, ends: dict[str, int | None]) -> Outcome:
        """A build from the relations as they were at these snapshots."""
        seen = [whole(table, ends[name]) for name, table in self.inputs.items()]
        return Outcome(self.choice.kind.fold(Counter(), *seen), ends, is_rebuild=True)

    def _without_empty_days(self, rows: Rows) -> Rows:
        """A day whose rows have all gone stays as a count of 0, as insert_overwrite takes no partition away."""
        if not self.choice.kind.name.startswith("days"):
            return rows
        return Counter({row: n for row, n in rows.items() if row[1] != 0})

    def ran(self, seen: Metadata, outcome: Outcome) -> None:
        """Take over what a run has done that succeeded as expected."""
        old, head = self.table.rows, self.table.head
        appends = outcome.is_rebuild or "incremental_strategy" not in self.choice.kind.config
        before = Counter() if outcome.is_rebuild else old
        # a merge commits its INSERT, also one of no rows
        commit = Commit(outcome.rows - before) if appends else Commit(None, may_be_empty=outcome.rows == old)
        self.table.record(seen, outcome.rows, commit)
        adopted = self.state is not None and self.state.adopted and not outcome.is_rebuild
        state = State(outcome.positions, adopted)
        if seen.head != head:
            self.states[seen.head] = state
        if seen.head != head or state != self.state:
            self.mirrored = (seen.head, state)
        self.state = state

    def adopt(self, name: str, position: int) -> None:
        """A position was set by hand."""
        assert self.state is not None
        self.state = State({**self.state.positions, name: position}, adopted=True)
        self.mirrored = (self.table.head, self.state)

    def rolled_back(self, seen: Metadata) -> None:
        """The table was rolled back to a snapshot that a run has committed; its checkpoint goes back with it."""
        self.table.observe(seen)
        self.state = self.states[seen.head]
        if self.mirrored is not None and self.mirrored[0] == seen.head:
            self.state = self.mirrored[1]
