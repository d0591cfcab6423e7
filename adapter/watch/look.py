"""Where the models stand, by metadata alone, and what has changed since the last look."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from ..incremental.capture.cuts import Cuts
from ..incremental.operations.show_status import statuses
from ..incremental.operations.status import ModelStatus, SourceStatus
from ..incremental.table.commits import Effect, effect
from ..incremental.table.history import History, TableName
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
        if before is not None and before.keys() - locations.keys():
            self._lake.reopen()
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
        found = statuses(self._lake.reader, cuts, project.graph, project.default_catalog, project.macros, nodes)
        self.standings |= {status.model: Standing(status, oldest_unread_ms(status, cuts)) for status in found}


def oldest_unread_ms(status: ModelStatus, cuts: Cuts) -> int | None:
    """When the oldest commit was made that a model has still to read; None where nothing is pending, or it is gone."""
    found = (_oldest_unread(source, cuts) for source in status.sources if source.pending != "nothing")
    return min((each for each in found if each is not None), default=None)


def _oldest_unread(source: SourceStatus, cuts: Cuts) -> int | None:
    table = TableName.parse(source.source)
    cut = None if table is None or source.pending in ("missing", "not readable") else cuts.of(table)
    return None if cut is None else _first_after(source.position_snapshot_id, cut.history)


def _first_after(position: int | None, history: History) -> int | None:
    if history.current is None:
        return None
    commits = history.commits_since(position, history.current)
    known = history.ancestors(history.current_snapshot_id) if commits is None else commits
    return min((each.timestamp_ms for each in known if effect(each) is not Effect.NONE), default=None)
