"""The expected results of runs, in plain Python, which shares no code with the product."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date

from .histories import ModelChoice
from .kinds import Delta, Kind, Rows, TwiceError
from .star_kinds import Columns, named, written
from .tables import NO_SNAPSHOT, Commit, Metadata, Table


@dataclass(frozen=True)
class Failure:
    """A run fails with these words. ``ancestor``: the snapshot of ``table`` to continue from, if that helps."""

    words: str
    table: Table | None = None
    ancestor: int | None = None


Records = dict[str, int]


@dataclass(frozen=True)
class Outcome:
    """A possible outcome of a run: rows, positions and whether it is a rebuild; or a failure.

    ``records``: the number of rows that the run reports to have read from each relation, by the kind of the range.
    ``columns``: those of a table that has all columns of its source.
    """

    rows: Rows = field(default_factory=Counter)
    positions: dict[str, int | None] = field(default_factory=dict)
    records: dict[str, Records] = field(default_factory=dict)
    columns: Columns = ()
    is_rebuild: bool = False
    failure: Failure | None = None


REWRITTEN = "was rewritten since"
BROKEN = "does not lead from the checkpoint of"
UNREADABLE = "cannot read the rows that"
GONE = "cannot reprocess a window of"
TWICE = "unique_key"
SCHEMA_CHANGED = "on_schema_change"
PARTITIONED = ("would replace the wrong rows", "The partitioning of")
TOO_NARROW = "do not fit the values of"
ROW_IDS_REPEATED = "were deleted from"


class Rebuild:
    """A policy rebuilds the model."""


Seen = Delta | Failure | Rebuild


def seen_of(table: Table, position: int | None, macros: tuple[str, ...], choice: ModelChoice) -> list[Seen]:
    """The changes that a model may read from a table since a position.

    If snapshots have expired, there are several possibilities: a run may still find the rows, or fail.
    """
    if "changes" not in macros and "changelog" not in macros:
        return [Delta(table.head, table.projected(table.rows, choice.kind))]
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
    """The changes that a model may read if it reads these commits since a position."""
    has_gap = any(commit not in table.seen.parents for commit in commits)
    end = taken[-1] if taken else table.head
    if position is NO_SNAPSHOT:
        return [whole(table, end, choice.kind)]
    expired = _broken(table, position, choice, is_replaced=False)
    if "changes" in macros and choice.on_source_rewrite == "full_refresh" and table.rewrites(commits):
        return [expired, Rebuild()] if has_gap else [Rebuild()]
    if "changes" in macros and choice.on_source_rewrite == "fail" and table.rewrites(taken):
        return [*([expired] if has_gap else []), Failure(REWRITTEN), *_remaining(table, position, end, choice)]
    ignores = "changes" in macros and choice.on_source_rewrite == "ignore"
    before, now = table.held[position], table.held[end]
    added, removed = table.projected(now - before, choice.kind), table.projected(before - now, choice.kind)
    new = table.projected(table.added(taken), choice.kind) if ignores else added
    found = Delta(end, table.projected(now, choice.kind), new, added, removed)
    may_be: list[Seen] = [found]
    is_expired = position not in table.seen.parents
    # whether a policy rebuilds the table is decided for all commits, before the limit of a run
    judged = commits if isinstance(expired, Rebuild) else taken
    if has_gap or (table.rewrites(judged) and not ignores and is_expired):
        may_be.append(expired)
    if (table.is_altered or is_expired) and any(table.commits[each].is_overwrite for each in taken):
        may_be.append(Failure(UNREADABLE))  # there may be delete files, with which Iceberg does not show such rows
    return may_be


def _remaining(table: Table, position: int | None, end: int | None, choice: ModelChoice) -> list[Seen]:
    """The possible reads of a range that deletes only rows that it has added. The oracle does not know files."""
    before, now = table.held[position], table.held[end]
    if before - now or position not in table.seen.parents:
        return []
    added = table.projected(now - before, choice.kind)
    return [Delta(end, table.projected(now, choice.kind), added, added)]


def within_window(
    table: Table, position: int | None, macros: tuple[str, ...], choice: ModelChoice, window: tuple[date, date]
) -> list[Seen]:
    """The changes that a model may read if it processes the days of a window again, from the rows that it has read."""
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
        end = table.projected(table.held[position], choice.kind)
        first, last, at = *window, table.day_at
        assert at is not None
        inside = Counter({row: n for row, n in end.items() if first <= row[at] <= last})
        may_be.append(Delta(position, end, inside, inside))
    return may_be


def whole(table: Table, end: int | None, kind: Kind) -> Delta:
    """The rows that the first build of a model reads from a table."""
    rows = table.projected(table.held[end], kind)
    return Delta(end, rows, rows, rows)


def _within(table: Table, commits: list[int], limit: int | None) -> list[list[int]]:
    """The commits that a run reads with a limit. Commits that moved no rows do not count.

    There is more than one result if it is unknown whether some commits moved rows.
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
    while taken and taken[-1] not in table.held:  # the second commit of its run exceeds the limit
        taken.pop()
    return taken


def _broken(table: Table, position: int, choice: ModelChoice, *, is_replaced: bool) -> Failure | Rebuild:
    policy = choice.on_history_break or ("full_refresh" if is_replaced else "fail")
    return Rebuild() if policy == "full_refresh" else Failure(BROKEN, table, table.common_ancestor(position))


@dataclass(frozen=True)
class State:
    """The positions up to which a model has read its relations, by ``source`` and ``parent``.

    ``adopted``: whether a position was set manually, so that the table need not equal a rebuild.
    """

    positions: dict[str, int | None]
    adopted: bool = False


@dataclass
class Model:
    """A model and its table. ``state`` is None before the first build.

    ``states``: the last state at each snapshot that was the head after a run. A run may move it without a commit.
    ``source``: the source that it reads, maybe through a parent. ``refused``: the error that settings may cause.
    ``partitions``: those of its table, if it overwrites partitions. ``is_evolved``: whether another writer has changed
    them. ``columns``: as in an Outcome.
    """

    name: str
    choice: ModelChoice
    inputs: dict[str, Table]
    table: Table
    source: Table
    refused: str | None = None
    state: State | None = None
    states: dict[int | None, State] = field(default_factory=dict)
    partitions: list[str] = field(default_factory=list)
    is_evolved: bool = False
    columns: Columns = ()

    @property
    def overwrites(self) -> bool:
        """Whether it overwrites partitions."""
        return self.choice.kind.config.get("incremental_strategy") == "insert_overwrite"

    @property
    def is_exact(self) -> bool:
        """Whether the table always equals a rebuild from the relations."""
        kind = self.choice.kind
        if kind.leaves_emptied or not kind.is_exact:
            return False
        if "changelog" in (*kind.source, *kind.parent):
            return True
        return kind.name in ("append", "merge", "days") and self.choice.on_source_rewrite in ("fail", "full_refresh")

    def outcomes(self, *, full_refresh: bool) -> list[Outcome]:
        """The possible outcomes of a run of the model."""
        kind = self.choice.kind
        rebuilt = self._rebuilt()
        if self.state is None or full_refresh:
            return [*rebuilt, *self._refused(is_rebuild=True)]
        positions, macros = self.state.positions, {"source": kind.source, "parent": kind.parent}
        seen = [seen_of(table, positions[name], macros[name], self.choice) for name, table in self.inputs.items()]
        return [*self._outcomes(itertools.product(*seen), rebuilt), *self._refused()]

    def window_outcomes(self, window: tuple[date, date]) -> list[Outcome]:
        """The possible outcomes of a run of the model that processes a window again, given its first and last day."""
        rebuilt = self._rebuilt()
        if self.state is None:
            return [*rebuilt, *self._refused(is_rebuild=True)]
        ((name, table),) = self.inputs.items()
        macros = self.choice.kind.source or self.choice.kind.parent
        seen = within_window(table, self.state.positions[name], macros, self.choice, window)
        return [*self._outcomes(((each,) for each in seen), rebuilt), *self._refused()]

    def _refused(self, *, is_rebuild: bool = False) -> list[Outcome]:
        words = [each for each in (self.refused, self.choice.kind.excuse) if each is not None]
        if not is_rebuild and self.is_evolved:
            words += PARTITIONED
        if not is_rebuild and self.source.was_widened:
            words.append(TOO_NARROW)
        if self.source.may_repeat_row_ids:
            words.append(ROW_IDS_REPEATED)
        return [Outcome(failure=Failure(each)) for each in words]

    def _rebuilt(self) -> list[Outcome]:
        """The possible outcomes of a rebuild."""
        ends = {name: table.head for name, table in self.inputs.items()}
        if not self.choice.kind.is_star:
            return [self._whole(ends)]
        (table,) = self.inputs.values()
        found = []
        for columns in table.columns_at(table.head):
            rows, _ = written(Counter(), columns, table.rows, columns, self.choice.kind) or (Counter(), ())
            records = self._records([whole(table, table.head, self.choice.kind)])
            found.append(Outcome(rows, ends, records, columns, is_rebuild=True))
        return found

    def _outcomes(self, seen: Iterable[tuple[Seen, ...]], rebuilt: list[Outcome]) -> list[Outcome]:
        found: list[Outcome] = []
        for each in seen:
            failures = [one for one in each if isinstance(one, Failure)]
            if any(isinstance(one, Rebuild) for one in each):
                found += rebuilt
            elif failures:
                failure = failures[0] if len(failures) == 1 else replace(failures[0], ancestor=None)
                found.append(Outcome(failure=failure))
            else:
                deltas = [one for one in each if isinstance(one, Delta)]
                found += self._star(deltas[0]) if self.choice.kind.is_star else [self._applied(deltas)]
        return found

    def _applied(self, deltas: list[Delta]) -> Outcome:
        try:
            rows = self.choice.kind.fold(self.table.rows, *deltas)
        except TwiceError:
            return Outcome(failure=Failure(TWICE))
        positions = {name: each.position for name, each in zip(self.inputs, deltas, strict=True)}
        if self.is_exact and self.state is not None and not self.state.adopted:
            expected = self._whole(positions).rows
            assert self._without_empty_days(rows) == expected, f"the oracle is at odds with itself on {self.name}"
        return Outcome(rows, positions, self._records(deltas))

    def _records(self, deltas: Iterable[Delta]) -> dict[str, Records]:
        """The counts that must be exact: those of whole tables, and of ranges that only add rows."""
        counted = [{"full": each.end.total(), "append": each.new.total()} for each in deltas]
        return dict(zip(self.inputs, counted, strict=True))

    def _star(self, delta: Delta) -> list[Outcome]:
        """The possible results for a table with all columns of its source."""
        ((name, table),) = self.inputs.items()
        positions, records = {name: delta.position}, self._records([delta])
        before = Counter(named(dict(row), self.columns) for row in self.table.rows.elements())
        found = [Outcome(self.table.rows, positions, records, self.columns)] if not delta.new else []
        for now in table.columns_at(delta.position):
            result = written(before, self.columns, delta.new, now, self.choice.kind)
            if result is None:
                found.append(Outcome(failure=Failure(SCHEMA_CHANGED)))
            else:
                found.append(Outcome(result[0], positions, records, result[1]))
        return found

    def _whole(self, ends: dict[str, int | None]) -> Outcome:
        """A build from the relations at these snapshots."""
        seen = [whole(table, ends[name], self.choice.kind) for name, table in self.inputs.items()]
        try:
            rows = self.choice.kind.fold(Counter(), *seen)
        except TwiceError:
            return Outcome(failure=Failure(TWICE))
        return Outcome(rows, ends, self._records(seen), is_rebuild=True)

    def _without_empty_days(self, rows: Rows) -> Rows:
        """A day whose rows are all deleted remains as a count of 0, since insert_overwrite removes no partition."""
        if not self.choice.kind.name.startswith("days"):
            return rows
        return Counter({row: n for row, n in rows.items() if row[1] != 0})

    def ran(self, seen: Metadata, outcome: Outcome) -> None:
        """Record the result of a run that succeeded as expected."""
        old = self.table.rows
        appends = outcome.is_rebuild or "incremental_strategy" not in self.choice.kind.config
        before = Counter() if outcome.is_rebuild else old
        # a merge commits its INSERT, even without rows
        commit = Commit(outcome.rows - before) if appends else Commit(None, may_be_empty=outcome.rows == old)
        self.table.record(seen, outcome.rows, commit)
        adopted = self.state is not None and self.state.adopted and not outcome.is_rebuild
        self.state = self.states[seen.head] = State(outcome.positions, adopted)
        if outcome.is_rebuild:
            self.is_evolved, self.partitions = False, ["day"] if self.overwrites else []
        self.columns = outcome.columns

    def adopt(self, name: str, position: int) -> None:
        """Record that a position was set manually."""
        assert self.state is not None
        self.state = self.states[self.table.head] = State({**self.state.positions, name: position}, adopted=True)

    def rolled_back(self, seen: Metadata) -> None:
        """Record that the table was rolled back to one of the ``states``, together with its checkpoint."""
        self.table.observe(seen)
        self.state = self.states[seen.head]
