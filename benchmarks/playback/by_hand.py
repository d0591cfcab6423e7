"""Hand-written methods of processing new rows without dbt models.

Each method is created when the history has landed, and its table contains the history. It is called once per day.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from ..lake import CATALOG, Lake

EVENT_COLUMNS = "event_id, account_id, title_id, lower(device) as device, seconds, event_at, event_date"
_SUMS = "select account_id, event_date, sum(seconds) as seconds, count(*) as plays from"
_GROUPS = "group by account_id, event_date"


class Increment(ABC):
    """Processes the commits of a table since the last call."""

    def __init__(self, lake: Lake, source: str, target: str = "") -> None:
        self.lake = lake
        self.source = source
        self.target = target
        self._head = lake.head(source)

    def __call__(self) -> None:
        """Process the new rows."""
        start, self._head = self._head, self.lake.head(self.source)
        self.process(start, self._head)

    @abstractmethod
    def process(self, start: int, end: int) -> None:
        """Process the commits after the snapshot ``start`` up to the snapshot ``end``."""

    def added(self, start: int, end: int) -> str:
        """SQL of the appended rows in the range."""
        return f"{self.source} with (`start-snapshot-id` = '{start}', `end-snapshot-id` = '{end}')"

    def changelog(self, start: int, end: int) -> str:
        """Create Iceberg's changelog view of the range. Returns its name."""
        options = f"map('start-snapshot-id', '{start}', 'end-snapshot-id', '{end}')"
        self.lake.sql(
            f"call {CATALOG}.system.create_changelog_view("
            f"table => '{self.source}', changelog_view => 'changes', options => {options})"
        )
        return "changes"


class InsertRange(Increment):
    """Events, minimum cost: one statement inserts the new rows into the table."""

    def process(self, start: int, end: int) -> None:
        """See Increment.process."""
        rows = self.added(start, end)
        self.lake.sql(f"insert into {self.target} select {EVENT_COLUMNS} from {rows} where seconds > 0")


class SumRange(Increment):
    """Account days, minimum cost: the new rows are read and summed, but not written."""

    def process(self, start: int, end: int) -> None:
        """See Increment.process."""
        sums = self.lake.spark.sql(f"{_SUMS} {self.added(start, end)} {_GROUPS}")
        sums.write.format("noop").mode("overwrite").save()


class MergeChangedEvents(Increment):
    """Events: MERGE of the inserted rows of a changelog view."""

    def process(self, start: int, end: int) -> None:
        """See Increment.process."""
        changes = f"{self.changelog(start, end)} where _change_type = 'INSERT' and seconds > 0"
        self.lake.sql(
            f"merge into {self.target} as t using (select {EVENT_COLUMNS} from {changes}) as s"
            " on t.event_id = s.event_id when matched then update set * when not matched then insert *"
        )


class MergeChangedSums(Increment):
    """Account days: MERGE that adds the sums of the inserted rows of a changelog view."""

    def process(self, start: int, end: int) -> None:
        """See Increment.process."""
        changes = f"{self.changelog(start, end)} where _change_type = 'INSERT'"
        self.lake.sql(
            f"merge into {self.target} as t using ({_SUMS} {changes} {_GROUPS}) as s"
            " on t.account_id = s.account_id and t.event_date = s.event_date"
            " when matched then update set seconds = t.seconds + s.seconds, plays = t.plays + s.plays"
            " when not matched then insert *"
        )


class StreamEvents:
    """Events: Structured Streaming from table to table, which stops when all new rows are processed."""

    def __init__(self, lake: Lake, source: str, target: str, checkpoint: Path) -> None:
        self._lake = lake
        self._target = target
        self._checkpoint = checkpoint
        reader: Any = lake.spark.readStream.format("iceberg")
        # skip the rows that have landed before, because the target already has them
        time.sleep(0.01)
        reader = reader.option("stream-from-timestamp", str(int(time.time() * 1000)))
        self._rows = reader.load(source).where("seconds > 0").selectExpr(*EVENT_COLUMNS.split(", "))

    def __call__(self) -> None:
        """Process the new rows."""
        writer = self._rows.writeStream.format("iceberg").outputMode("append").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", self._checkpoint.as_uri()).option("fanout-enabled", "true")
        writer.toTable(self._target).awaitTermination()
