"""Where the models stand, by metadata alone, and what has changed since the last look."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping

from iceberg_incremental.table.history import TableName

from ..operations.show_status import Look
from ..status.status import ModelStatus
from .lake import ProfileTables
from .project import Project

_PATIENCE = 10.0
"""Seconds for which the end waits for another thread that reads metadata."""


class Watched:
    """The selected models, as they stood at the last look.

    ``standings``: by model. ``last_changed``: when each table was last seen to change, by its canonical name, in
    seconds since the epoch; a table that has not changed since the first look is missing. Both are replaced as a whole,
    so that another thread reads either the old ones or the new ones. ``reading``: held while metadata are read.
    """

    def __init__(self, project: Project, lake: ProfileTables) -> None:
        self._project = project
        self._lake = lake
        self._tables = {model: {project.table_of(model), *project.reads_of(model)} for model in project.nodes}
        self._all = frozenset[TableName]().union(*self._tables.values())
        self._locations: Mapping[TableName, str] | None = None
        self.reading = threading.Lock()
        self.standings: Mapping[str, ModelStatus] = {}
        self.last_changed: Mapping[str, float] = {}

    @property
    def models(self) -> Collection[str]:
        """The unique ids of the models."""
        return self._tables.keys()

    def look(self, again: Collection[str] = ()) -> None:
        """Ask the tables' catalogs; judge the models again of which a table has changed, and those in ``again``."""
        with self.reading:
            self._look(again)

    def close(self) -> None:
        """Close the connection to Spark, if there is one. Where a read does not end, the process ends it."""
        if self.reading.acquire(timeout=_PATIENCE):
            try:
                self._lake.close()
            finally:
                self.reading.release()

    def _look(self, again: Collection[str]) -> None:
        now, before = time.time(), self._locations
        locations = self._lake.reader.locations(self._all)
        if again or (before is not None and before.keys() != locations.keys()):
            self._lake.reopen()  # a catalog that was out of reach is Spark's to read, until it is tried again
        if before is None:
            stale = set(self._tables)
        else:
            changed = {table for table in self._all if locations.get(table) != before.get(table)}
            self.last_changed = {**self.last_changed, **{str(table): now for table in changed}}
            stale = {model for model, tables in self._tables.items() if tables & changed} | set(again)
        if stale:
            self._judge(stale & self._tables.keys())
        self._locations = locations  # not before: where judging fails, the next look finds the same changes

    def _judge(self, models: Collection[str]) -> None:
        project = self._project
        look = Look(self._lake.reader, project.tables, project.scope)
        found = look.statuses(project.nodes[model] for model in sorted(models))
        self.standings = {**self.standings, **{status.model: status for status in found}}
