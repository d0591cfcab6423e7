"""The changes of the sources of a query that is updated incrementally, as a run reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from ..expose.groups import broadcast
from ..expose.plain_sql import Source
from ..query.plan import IncrementalQuery
from ..query.rules.changed import Changes
from ..query.states import KeyView
from ..query.text.clock import ClockStates
from ..spark.port import Spark, holding
from ..table.history import TableName


class SourceChanges:
    """The changes of some sources. ``prefix``: the prefix of the names of the views. ``clock``: if the SQL reads it."""

    def __init__(
        self, sources: Mapping[TableName, Source], spark: Spark, prefix: str, clock: ClockStates | None = None
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._spark = spark
        self._prefix = prefix

    def of(self, kept: IncrementalQuery, sql: Callable[[Source], str]) -> Changes:
        """The changes of a query's blocks. ``sql``: returns the relation of a source's changes."""
        states = {
            table: source.states(sql(source) if source.has_changed else "") for table, source in self._sources.items()
        }
        return kept.changes(states, self._prefix, broadcast, self._clock)

    def affected(self, kept: IncrementalQuery, held: ExitStack) -> tuple[Changes, list[KeyView]]:
        """The views of the affected keys. The last view has the keys of the result.

        If changes must be found by comparing rows, and the views read them more than once, Spark holds the changes.
        """
        name, exact = f"{self._prefix}_keys", self._spark.scans
        changed = [source for source in self._sources.values() if source.has_changed]
        touched = {source.table: source.touched_sql(exact) for source in changed}
        rows = {source.table: touched[source.table] or source.changes_sql(exact) for source in changed}
        changes = self.of(kept, lambda source: rows[source.table])
        views = kept.affected(changes, name)
        texts = "".join(view.sql for view in views)
        compared = [table for table, sql in rows.items() if touched[table] is None and texts.count(sql) > 1]
        if not compared:
            return changes, views
        for number, table in enumerate(compared):
            view = f"{self._prefix}_changes_{number}"
            held.enter_context(holding(self._spark, view, f"select * from {rows[table]}"))
            rows[table] = view
        changes = self.of(kept, lambda source: rows[source.table])
        return changes, kept.affected(changes, name)
