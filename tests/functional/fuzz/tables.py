"""A table of a history: its rows at each of its snapshots, including expired ones, and the effect of each commit.

Iceberg's own metadata show the snapshots and their parents. The steps and the models determine the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .kinds import Kind, Rows
from .star_kinds import Columns

NO_SNAPSHOT = None


@dataclass(frozen=True)
class Metadata:
    """A table's metadata from Iceberg: the head, the parent of each existing snapshot, and the checkpoint."""

    head: int | None
    parents: dict[int, int | None]
    checkpoint: str | None = None


@dataclass(frozen=True)
class Commit:
    """The effect of a commit: its rows, if it only added rows. None if it changed or deleted rows, or may have.

    ``is_overwrite``: whether it added them with an overwrite. ``may_be_empty``: whether it may have moved no row.
    """

    added: Rows | None
    is_overwrite: bool = False
    may_be_empty: bool = False


NOTHING = Commit(Counter())
REWRITE = Commit(None)


class Table:
    """The current and former rows of a table. ``read``: the number of columns that models read, or None for all.

    ``day_at``: the index of the event time among them, if any. ``is_altered``: whether the columns have changed
    since it was created. ``was_widened``: whether ``v`` ever got a wider type. ``may_repeat_row_ids``: whether it has
    row ids, and a file twice, whose rows copy-on-write may copy with the same ids.
    """

    def __init__(self, name: str, read: int | None = None, day_at: int | None = None) -> None:
        self.name = name
        self.read = read
        self.day_at = day_at
        self.is_altered, self.was_widened, self.may_repeat_row_ids = False, False, False
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

    def projected(self, rows: Rows, kind: Kind) -> Rows:
        """Rows, reduced to the columns that models of a kind read."""
        found: Rows = Counter()
        for row, n in rows.items():
            found[row if kind.is_star else row[: self.read]] += n
        return found

    def columns_at(self, snapshot: int | None) -> list[Columns]:
        """The columns that a reader of a snapshot may find."""
        raise NotImplementedError

    def observe(self, seen: Metadata) -> None:
        """Record the metadata after a step that made no new snapshot."""
        assert seen.head in self.held, f"{self.name} has a snapshot {seen.head} that no step has made"
        self._see(seen)

    @property
    def may_count_too_many(self) -> bool:
        """Whether the row count from the metadata may be too high without a sign of it."""
        return False

    def record(self, seen: Metadata, rows: Rows, commit: Commit) -> None:
        """Record the metadata and the rows after a step or a run, with or without a commit.

        Its earlier commits count as parts of its last one.
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
        """A snapshot and its existing ancestors, newest first."""
        found = []
        while snapshot in self.seen.parents:
            found.append(snapshot)
            snapshot = self.seen.parents[snapshot]
        return found

    def since(self, position: int | None) -> list[int] | None:
        """The commits from a position to the head, oldest first, including expired ones. None if none lead there."""
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
        """The rows of the commits that only added rows."""
        rows: Rows = Counter()
        for each in commits:
            rows += self.commits[each].added or Counter()
        return rows

    def common_ancestor(self, position: int) -> int | None:
        ours = set(self.ancestors(self.head))
        return next((each for each in self.ancestors(position) if each in ours), None)

    def replaced(self, position: int) -> list[bool]:
        """Whether the table was replaced after a position. Both answers, if it was and this is no longer visible."""
        if self.head is None:
            return [True]
        line = [self.head]
        while (parent := self._came_from[line[-1]]) is not None:
            line.append(parent)
        is_new = self.order[line[-1]] > self.order[position]
        return [True] if is_new and line[-1] in self.seen.parents else [False, True] if is_new else [False]
