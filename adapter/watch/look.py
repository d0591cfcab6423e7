"""Where the models stand, by metadata alone, and what has changed since the last look."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from ..incremental.capture.cuts import Cuts
from ..incremental.operations.show_status import statuses
from ..incremental.table.history import TableName
from .due import Standing
from .lake import Lake
from .project import Project


class Watched:
    """The selected models, as they stood at the last look.

    ``standings``: by model. ``last_changed``: when each table was last seen to change, by its canonical name, in
    seconds since the epoch; a table that has not changed since the first look is missing.
    """

    def __init__(self, project: Project, lake: Lake) -> None:
        self._project = project
        self._lake = lake
        self._reads = {model: project.reads_of(model) for model in project.nodes}
        self._tables = {model: {project.table_of(model), *reads} for model, reads in self._reads.items()}
        self._all = frozenset[TableName]().union(*self._tables.values())
        self._locations: Mapping[TableName, str] | None = None
        self.standings: dict[str, Standing] = {}
        self.last_changed: dict[str, float] = {}

    def inputs(self, model: str) -> frozenset[tuple[TableName, str]]:
        """The metadata files of what a model reads: others after each commit. Nothing for nodes of other kinds."""
        known, tables = self._locations or {}, self._reads.get(model, frozenset())
        return frozenset((table, known[table]) for table in tables if table in known)

    def look(self, again: Collection[str] = ()) -> bool:
        """Look what the tables' catalogs say; judge the models anew of which a table has changed, and ``again``.

        Whether any was judged.
        """
        now, before = time.time(), self._locations
        locations = self._lake.reader.locations(self._all)
        if again or (before is not None and before.keys() != locations.keys()):
            self._lake.reopen()  # a catalog that was out of reach is Spark's to read, until it is tried again
        self._locations = locations
        if before is None:
            stale = set(self._tables)
        else:
            changed = {table for table in self._all if locations.get(table) != before.get(table)}
            self.last_changed |= {str(table): now for table in changed}
            stale = {model for model, tables in self._tables.items() if tables & changed} | set(again)
        if stale:
            self._judge(stale & self._tables.keys())
        return bool(stale)

    def _judge(self, models: Collection[str]) -> None:
        cuts = Cuts(lambda: self._lake.reader)
        project = self._project
        nodes = [project.nodes[model] for model in sorted(models)]
        found = statuses(self._lake.reader, cuts, project.graph, project.default_catalog, project.scope, nodes)
        self.standings |= {status.model: Standing(status) for status in found}
