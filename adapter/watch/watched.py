"""The status of the models from metadata alone, and the changes since the last check."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping

from iceberg_incremental.table.history import TableName

from ..operations.show_status import StatusReader
from ..status.model_status import ModelStatus
from .profile_tables import ProfileTables
from .project import Project

_PATIENCE = 10.0
"""The maximum time in seconds that ``close`` waits for another thread that reads metadata."""


class Watched:
    """The selected models at the last check.

    ``statuses``: the status of each model. ``last_changed``: the times in seconds since 1970 at which changes of tables
    were last observed, by canonical name; missing for tables without changes since the first check. Both are replaced
    as a whole, so that other threads read consistent values. ``reading``: a lock that is held while metadata is read.
    """

    def __init__(self, project: Project, lake: ProfileTables) -> None:
        self._project = project
        self._lake = lake
        self._tables = {model: {project.table_of(model), *project.reads_of(model)} for model in project.nodes}
        self._seen: frozenset[TableName] | None = None
        self._locations: Mapping[TableName, str] = {}
        self.reading = threading.Lock()
        self.statuses: Mapping[str, ModelStatus] = {}
        self.last_changed: Mapping[str, float] = {}

    @property
    def models(self) -> Collection[str]:
        """The unique ids of the models."""
        return self._tables.keys()

    def look(self, again: Collection[str] = ()) -> None:
        """Check the catalogs, and update the status of models with changed tables, and of those in ``again``."""
        with self.reading:
            self._look(again)

    def close(self) -> None:
        """Close the connection to Spark, if there is one. If a read does not end in time, the connection stays open."""
        if self.reading.acquire(timeout=_PATIENCE):
            try:
                self._lake.close()
            finally:
                self.reading.release()

    def _look(self, again: Collection[str]) -> None:
        now, before, seen = time.time(), self._locations, self._seen
        tables = {model: self._tables_of(model) for model in self._tables}
        wanted = frozenset[TableName]().union(*tables.values())
        locations = self._lake.reader.locations(wanted)
        known = before.keys() & wanted
        if again or (seen is not None and known != locations.keys() & seen):
            self._lake.reopen()  # after an access error, the reader no longer uses PyIceberg for the catalog
        if seen is None:
            outdated = set(tables)
        else:
            # A table that is checked for the first time may have changed since the status that named it.
            outdated = {model for model, read in tables.items() if read - seen} | set(again)
            changed = {table for table in wanted & seen if locations.get(table) != before.get(table)}
            self.last_changed = {**self.last_changed, **{str(table): now for table in changed}}
            outdated |= {model for model, read in tables.items() if read & changed}
        if outdated:
            self._judge(outdated & self._tables.keys())
        self._seen, self._locations = wanted, locations  # last, so that after an error, the next check repeats this one

    def _tables_of(self, model: str) -> set[TableName]:
        """A model's table and all tables that it reads, including those that were found behind views."""
        status = self.statuses.get(model)
        named = () if status is None else (*(source.source for source in status.sources), *status.views)
        return {*self._tables[model], *(table for name in named if (table := TableName.parse(name)) is not None)}

    def _judge(self, models: Collection[str]) -> None:
        project = self._project
        look = StatusReader(self._lake.reader, project.tables, project.scope)
        found = look.statuses(project.nodes[model] for model in sorted(models))
        self.statuses = {**self.statuses, **{status.model: status for status in found}}
