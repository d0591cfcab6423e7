"""Net changes without dbt: the ranges of a history, read in every way, against the difference of what the table held.

It takes a second where a run of dbt takes ten, and asks for ranges between any two snapshots of a table, so this is
where bugs in reading net changes are found first.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from dbt.adapters.spark_iceberg.incremental.capture.cuts import Cut, Cuts
from dbt.adapters.spark_iceberg.incremental.capture.outcome import outcome
from dbt.adapters.spark_iceberg.incremental.expose import relations
from dbt.adapters.spark_iceberg.incremental.metadata import MetadataReader
from dbt.adapters.spark_iceberg.incremental.plan.policy import Policy
from dbt.adapters.spark_iceberg.incremental.plan.ranges import CHANGE_TYPE, NetChanges, Nothing, Range, position_at
from dbt.adapters.spark_iceberg.incremental.table.history import TableName
from dbt.adapters.spark_iceberg.staged_scans import StagedScans
from tests.functional.incremental.shop import Shop

from .histories import History
from .kinds import Rows
from .pipeline import Pipeline, WrongResultError
from .reading import Reading, read_as
from .tally import Tally

_THREADS = 3
_NEAR = 4
"""Commits: how many lie in most of the ranges that are read."""


@dataclass(frozen=True)
class Question:
    """What is asked of a range. ``came``, ``went``: the rows by which its ends differ."""

    start: int
    end: int
    reading: Reading
    macro: str
    sql: str
    came: Rows
    went: Rows

    def is_answered(self, found: Rows) -> bool:
        """Whether these rows are right. Keys may be more than those that changed."""
        if self.macro == "keys":
            changed = {row[0] for row in (*self.came, *self.went)}
            return changed <= {row[0] for row in found}
        came = Counter({row[:-1]: n for row, n in found.items() if row[-1] == "came"})
        went = Counter({row[:-1]: n for row, n in found.items() if row[-1] == "went"})
        return (came, went) == (self.came, Counter() if self.macro == "changes" else self.went)


class Ranges:
    """A history without models, whose ranges are read."""

    def __init__(self, shop: Shop, history: History, seed: int, reader: MetadataReader, tally: Tally) -> None:
        self.pipeline = Pipeline(shop, [history], seed, tally)
        self.shop, self.history, self.seed, self.reader, self.tally = shop, history, seed, reader, tally
        (self.played,) = self.pipeline.played
        self.source = self.played.source

    def play(self, most: int) -> None:
        """Play the history, and read some of its ranges. Raises WrongResultError for one that is read wrongly."""
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
        planned = self._planned(start, end)
        before, now = (self._columns(each, end) for each in (start, end))
        came, went = now - before, before - now
        for at, reading in enumerate(Reading):
            with read_as({self.history.name: reading}, self.tally):
                changelog = relations.changelog_sql(planned, ["id"] if self.history.variant.keyed else [], scans)
                side = f"if({CHANGE_TYPE} in ('INSERT', 'UPDATE_AFTER'), 'came', 'went')"
                sql = f"select * except ({CHANGE_TYPE}), {side} from {changelog} as c"
                yield Question(start, end, reading, "changelog", sql, came, went)
                if at == start % len(Reading):
                    changes = relations.changes_sql(planned, scans)
                    keys = relations.changed_keys_sql(planned, ["id"], scans)
                    yield Question(start, end, reading, "changes", f"select *, 'came' from {changes} as c", came, went)
                    yield Question(start, end, reading, "keys", f"select id from {keys} as c", came, went)

    def _planned(self, start: int, end: int) -> Range:
        catalog, schema, name = self.source.name.split(".")
        history = self.reader.load(TableName(catalog, schema, name))
        assert history is not None
        position = position_at(history.table_uuid, history.snapshots[start])
        cut = Cut(history, history.snapshots[end])
        found = outcome(Cuts(lambda: self.reader), cut, position, Policy(), changelog=True)
        assert isinstance(found, Range), found
        self.tally.add(self.tally.checks, _shown(found))
        return found

    def _columns(self, snapshot: int, end: int) -> Rows:
        """The rows of a snapshot in the columns of the range's end."""
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
            f"Came: {dict(asked.came)}\nWent: {dict(asked.went)}\nFound: {None if found is None else dict(found)}"
        )
        line = self.source.ancestors(self.source.head)[::-1]
        return WrongResultError("\n".join([what, "What was done:", *self.played.log, f"Snapshots: {line}"]))


def _shown(planned: Range) -> str:
    if not isinstance(planned, NetChanges):
        return "ranges with nothing new" if isinstance(planned, Nothing) else "ranges of appends"
    net = planned.net
    if net.segments:
        return "ranges by segments"
    return f"ranges by {net.way.value}" + (" and row lineage" if net.untouched_since is not None else "")
