"""Net changes without dbt: reads ranges of a history in all ways, and compares them with the expected difference.

A range takes a second, whereas a dbt run takes ten. Any two snapshots of a table form a range. So these tests are the
fastest to find bugs in reading net changes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from iceberg_incremental.capture.cuts import Cut, Cuts
from iceberg_incremental.capture.source_policy import outcome
from iceberg_incremental.expose import relations
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.plan.policy import Policy
from iceberg_incremental.plan.ranges import CHANGE_TYPE, NetChanges, Nothing, Range, position_at
from iceberg_incremental.plan.refusals import Refusal
from iceberg_incremental.spark.staged_scans import StagedScans
from iceberg_incremental.table.history import TableName
from tests.functional.incremental.shop import Shop

from .histories import History
from .kinds import Row, Rows
from .pipeline import Pipeline, WrongResultError
from .reading import Reading, read_as
from .tally import Tally

_THREADS = 3
_NEAR = 4
"""The number of commits in most ranges that are read."""

LEFT = "of what is left of additions"


@dataclass(frozen=True)
class Changes:
    """The difference between the ends of a range.

    ``touched``: the ids of rows that a commit of the range wrote, possibly unchanged, or deleted.
    """

    added: Rows
    removed: Rows
    touched: set[int | None]


@dataclass(frozen=True)
class Question:
    """A query of a range, and the name of its macro."""

    start: int
    end: int
    reading: Reading
    macro: str
    sql: str
    changes: Changes

    def is_answered(self, found: Rows) -> bool:
        """Whether these rows are correct. Keys may include those of rows that were set to their own values."""
        added, removed = self.changes.added, self.changes.removed
        if self.macro == "keys":
            return {row[0] for row in (*added, *removed)} <= {row[0] for row in found} <= self.changes.touched
        if self.macro == "signed changes":
            sums: Counter[Row] = Counter()
            for row, n in found.items():
                sums[row[:-1]] += n * row[-1]
            return (+sums, -sums) == (added, removed)
        by_side = {
            side: Counter({row[:-1]: n for row, n in found.items() if row[-1] == side}) for side in ("came", "went")
        }
        return by_side == {"came": added, "went": Counter() if self.macro == "changes" else removed}


class Ranges:
    """A history without models, whose ranges are read."""

    def __init__(self, shop: Shop, history: History, seed: int, reader: MetadataReader, tally: Tally) -> None:
        self.pipeline = Pipeline(shop, [history], seed, tally)
        self.shop, self.history, self.seed, self.reader, self.tally = shop, history, seed, reader, tally
        (self.played,) = self.pipeline.played
        self.source = self.played.source

    def play(self, most: int) -> None:
        """Play the history, and read some of its ranges. Raises WrongResultError if a result is wrong."""
        self.pipeline.steps_only()
        scans = StagedScans(self.shop.session)
        try:
            self._ask(scans, most)
        finally:
            scans.close()

    def _ask(self, scans: StagedScans, most: int) -> None:
        line = [each for each in reversed(self.source.ancestors(self.source.head)) if each in self.source.held]
        chosen = random.Random(f"{self.seed}/pairs/{self.history.number}")
        far = [(start, line[-1]) for start in line[:-1]]
        asked = chosen.sample(far, min(most // 3, len(far)))
        near = [(start, end) for at, end in enumerate(line) for start in line[max(0, at - _NEAR) : at]]
        others = [pair for pair in near if pair not in asked]
        asked += chosen.sample(others, min(most - len(asked), len(others)))
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(self._answer, [each for pair in asked for each in self._questions(scans, *pair)]):
                pass

    def _questions(self, scans: StagedScans, start: int, end: int) -> Iterator[Question]:
        planned, changes = self._planned(start, end, changelog=True), self._changes(start, end)
        assert isinstance(planned, Range), planned
        remaining = self._remaining(start, end)
        side = f"if({CHANGE_TYPE} in ('INSERT', 'UPDATE_AFTER'), 'came', 'went')"
        for at, reading in enumerate(Reading):
            with read_as({self.history.name: reading}, self.tally):
                changelog = relations.changelog_sql(planned, ["id"] if self.history.variant.keyed else [], scans)
                asked = {"changelog": f"select * except ({CHANGE_TYPE}), {side} from {changelog} as c"}
                if at == start % len(Reading):
                    asked["changes"] = f"select *, 'came' from {relations.changes_sql(planned, scans)} as c"
                    asked["signed changes"] = f"select * from {relations.signed_sql(planned, scans)} as c"
                    asked["keys"] = f"select id from {relations.changed_keys_sql(planned, ['id'], scans)} as c"
                if remaining is not None:
                    asked["additions"] = f"select *, 'came' from {relations.changes_sql(remaining, scans)} as c"
            for macro, sql in asked.items():
                yield Question(start, end, reading, macro, sql, changes)

    def _remaining(self, start: int, end: int) -> Range | None:
        """The range under ``fail``, if it can be read although commits changed or deleted rows; otherwise None."""
        planned = self._planned(start, end, changelog=False)
        return planned if isinstance(planned, NetChanges | Nothing) else None

    def _planned(self, start: int, end: int, *, changelog: bool) -> Range | Refusal:
        catalog, schema, name = self.source.name.split(".")
        history = self.reader.load(TableName(catalog, schema, name))
        assert history is not None
        position = position_at(history.table_uuid, history.snapshots[start])
        cut = Cut(history, history.snapshots[end])
        found = outcome(Cuts(lambda: self.reader), cut, position, Policy(), changelog=changelog)
        if isinstance(found, Range):
            self.tally.add(self.tally.checks, _shown(found))
        return found

    def _changes(self, start: int, end: int) -> Changes:
        held, line = self.source.held, self.source.ancestors(end)
        touched: set[int | None] = set()
        for commit in line[: line.index(start)]:
            now, before = held[commit], held[self.source.seen.parents[commit]]
            touched |= {row[0] for row in (*(now - before), *(before - now))} | self.source.touched[commit]
        before, now = (self._columns(each, end) for each in (start, end))
        return Changes(now - before, before - now, touched)

    def _columns(self, snapshot: int, end: int) -> Rows:
        """The rows of a snapshot, in the columns of the end of the range."""
        width = len(self.source.columns_at(end)[-1])
        found: Rows = Counter()
        for row, n in self.source.held[snapshot].items():
            found[row[:width]] += n
        return found

    def _answer(self, asked: Question) -> None:
        try:
            found = Counter(self.shop.sql(asked.sql))
        except Exception as error:
            raise self._wrong(asked, f"breaks off: {error!r}") from error
        if not asked.is_answered(found):
            raise self._wrong(asked, "is wrong", found)

    def _wrong(self, asked: Question, what: str, found: Rows | None = None) -> WrongResultError:
        what = (
            f"{asked.macro} from {asked.start} to {asked.end}, read {asked.reading.value}, {what}.\n"
            f"Moves {self.history.number} of seed {self.seed} ({self.history.variant})\nSQL: {asked.sql}\n"
            f"Expected: {asked.changes}\nFound: {None if found is None else dict(found)}"
        )
        line = self.source.ancestors(self.source.head)[::-1]
        return WrongResultError("\n".join([what, "What was done:", *self.played.log, f"Snapshots: {line}"]))


def _shown(planned: Range) -> str:
    if not isinstance(planned, NetChanges):
        return "with nothing new" if isinstance(planned, Nothing) else "of appends"
    net = planned.net
    if net.start_id is None:
        return LEFT
    if net.segments:
        return "by segments"
    return f"by {'ends' if net.by_ends else 'files'}" + (" and row lineage" if net.untouched_since is not None else "")
