"""Writing the table of a dbt snapshot: the rows that dbt's statements compare, and the commit of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from ...capture.dbt_snapshot import has_same_rows
from ...capture.run import Run
from ...errors import StatementError
from ...explain import race_errors, rebuild_reasons
from ...expose.relations import inserted_sql
from ...expose.source_states import Source
from ...metadata import MetadataReader
from ...plan.versions_config import HistoryConfig
from ...publish.publisher import Published, Publisher
from ...query.states import State, TableStates
from ...spark.port import Spark, holding
from ...sql import sql_name
from ...table.history import History, Snapshot
from ..listed_files import files_at
from ..strategies.changelog import Bound, useful
from . import dbt_snapshot as sql
from . import statements
from .statements import Statements

Query = Callable[[str], str]
"""Returns a snapshot's SQL with its source table replaced by a relation for FROM."""

IDS_FOLLOW_TIMES = "ids follow times"
"""A mark in a checkpoint: the id of each version follows from its key and update time."""


class SnapshotWriter:
    """Writes the table of one run of a dbt snapshot, over the connection of its thread.

    ``query``: its SQL. ``source``: the table that its SQL reads. ``config``: the columns by which versions are found.
    ``makes_new_ids``: whether no version can have the id of an earlier version.
    """

    def __init__(
        self,
        run: Run,
        spark: Spark,
        reader: MetadataReader,
        query: Query,
        source: Source,
        config: HistoryConfig,
        *,
        makes_new_ids: bool,
    ) -> None:
        self.run = run
        self.keys: sql.ChangedKeys | None = None
        self._spark = spark
        self._reader = reader
        self._query = query
        self._source = source
        self._config = config
        self._makes_new_ids = makes_new_ids
        self._types: Mapping[str, str] = {}
        self._publisher = Publisher(spark, reader)
        self._held = ExitStack()

    @property
    def query(self) -> str:
        """The SQL for all rows, at the source's snapshot that the invocation captured."""
        return self._query(self._source.states("").new)

    def reason_to_read_whole(self) -> str | None:
        """Why the SQL cannot read the changes of its table instead of the table. None if it can.

        Raises StatementError if Spark rejects a statement.
        """
        whole = f"select * from {self._source.states('').new}"
        changed = self._query(_rows_sql(inserted_sql(f"({whole})"), State.ADDED))
        alike = self._described(f"({self.query})") == self._described(f"({changed})")
        return None if alike else "its SQL returns different columns for the changes of its table"

    def reason_to_repeat(self, keys: sql.ChangedKeys | None = None) -> str | None:
        """Why the next run must compare whole tables, given the keys of the query's rows. None if it need not.

        ``keys``: restricts the check to keys that have only added rows.
        """
        (row,) = self._spark.rows(sql.repeated_sql(self.query, self._config.unique_key, keys))
        return _flaw(*(int(str(value)) for value in row))

    def find_changes(self) -> str | None:
        """Find the keys that have changed. Returns why whole tables must be compared, or None.

        If the SQL fails here, possibly for a row that no longer exists, Spark's error is the reason.
        """
        try:
            return self._find_changes()
        except StatementError as error:
            return error.msg.splitlines()[0].rstrip(".")

    def _find_changes(self) -> str | None:
        key, changes = self._config.unique_key, self._source.ends_sql(self._spark.scans)
        if changes is None:  # the rows must be compared, which is done only once
            changes = self._view("changes")
            self._hold("changes", f"select * from {self._source.changes_sql(self._spark.scans)}")
        self._types = dict(self._described(self._seen))
        key_types = [self._types[name] for name in key]
        keys, added = self._view("keys"), self._view("added")
        self._hold("added", self._query(_rows_sql(changes, State.ADDED)))
        self._hold("keys", sql.keys_sql(key, added, self._query(_rows_sql(changes, State.REMOVED))))
        (row,) = self._spark.rows(sql.summary_sql(keys, key, key_types))
        self.keys = sql.changed_keys(keys, key, key_types, row)
        flaw = _flaw(self.keys.most_added, self.keys.nulls, self.keys.divided)
        # With new ids, ``apply`` checks the keys that have an open version: each unchanged row of the query has one.
        if flaw is None and self.keys.keys_only_added and not self._makes_new_ids:
            return self.reason_to_repeat(self.keys)
        return flaw

    def compared(self) -> dict[str, str]:
        """The views that dbt's statements compare. ``added``: the query's added rows. ``open``: the open versions."""
        assert self.keys is not None
        self._hold("open", sql.open_versions_sql(self._seen, self._config, self.keys, self._bounds()))
        return {name: self._view(name) for name in ("added", "open")}

    def apply(self, staging: str) -> Published | str:
        """Publish the changes that dbt's query finds, with the checkpoint in the commit.

        ``staging``: dbt's query for the changes. If whole tables must be compared, returns the reason instead. Raises
        ConcurrentRunError if another writer changes the table during the run.
        """
        assert self.keys is not None
        staged, config = self._view("staged"), self._config
        changes = self._spark.columns(staging)
        self._hold("staged", sql.staged_sql(staging, changes, self._types))
        given = {name.lower() for name, _ in changes} - {*sql.internal_columns(config.unique_key)}
        if not given <= {name.lower() for name in self._types}:
            return rebuild_reasons.SOURCE_ALTERED
        (row,) = self._spark.rows(sql.versions_sql(staged, config, self._view("open"), self.keys))
        found = sql.Versions(*(int(str(value)) for value in row))
        if found.total != found.distinct:
            return "two changes are for the same version of a row"
        reason = self.reason_to_repeat(self.keys) if found.known and self._makes_new_ids else None
        if reason is not None:
            return reason
        if not found.total:
            return self.advance()
        existing = None if self._makes_new_ids else self._seen
        places = self._places(self.keys) if found.new and existing is not None else ()
        listed = [sql_name(name) if name.lower() in given else f"null as {sql_name(name)}" for name in self._types]
        new = sql.new_sql(staged, config, listed, existing, places)
        self.run.state.reading = self.run.plan.recorded_reading
        first = self._statements(new, found)
        published = self._publisher.apply(self.run, first.sql, first.settings, first.then, first.check)
        return replace(published, rows=found.total)

    def _places(self, keys: sql.ChangedKeys) -> tuple[tuple[Bound, ...], ...]:
        """Where the table can have versions with the ids of new ones. Empty if they can be anywhere."""
        if self.run.plan.recorded_reading != IDS_FOLLOW_TIMES:
            return ()
        updated_at = self._types[self._config.names.dbt_updated_at]
        query = sql.places_sql(self._view("staged"), self._config, updated_at, keys)
        return sql.places(self._config, updated_at, keys, self._spark.rows(query))

    def _statements(self, new: str, found: sql.Versions) -> Statements:
        """The statements that write the versions. ``new``: the query for the new versions."""
        plan, names, staged, config = self.run.plan, list(self._types), self._view("staged"), self._config
        assert plan.target is not None
        branch, check = plan.name.branch_sql(plan.branch), self._require_unmoved
        insert = statements.insert_sql(branch, names, new)
        if not found.ended:
            return Statements(insert, check)
        if not statements.are_deleted(plan.target):
            close = sql.close_sql(branch, staged, config, self._bounds())
            return Statements(insert, check, lambda *_: close) if found.new else Statements(close, check)
        queries = [new] if found.new else []
        queries.append(sql.ended_sql(staged, config, names, self._view("open")))

        def insert_all(_: History, commit: Snapshot) -> str:
            self._require_unmoved()
            statements.require_deleted(commit, found.ended, lambda: race_errors.rows_changed(plan.model))
            return statements.insert_sql(branch, names, *queries)

        delete = sql.delete_sql(branch, staged, config, self._bounds())
        return Statements(delete, check, insert_all, statements.SEPARATELY)

    def note_ids(self, ids: str | None) -> None:
        """Record in the checkpoint whether ids of versions contain their update times, which avoids later queries.

        ``ids``: dbt's expression for ids over the columns of the table. None if the run builds the table.
        """
        table = self.run.plan.name.sql
        if ids is None or self._spark.rows(sql.other_ids_sql(table, self._config, ids))[0][0] == 0:
            self.run.state.reading = IDS_FOLLOW_TIMES

    def create(self, statement: str, properties: Mapping[str, Any]) -> Published:
        """Build the table with a CREATE TABLE AS statement, with the checkpoint in its commit.

        ``properties``: the properties that the user has configured for the table.
        """
        return self._publisher.rebuild(self.run, statement, properties)

    def publish(self, statement: str) -> Published:
        """Publish the changes of a statement on the run's branch.

        Raises ConcurrentRunError if another writer changes the table during the run.
        """
        return self._publisher.apply(self.run, statement, {}, None, self._require_unmoved)

    def advance(self) -> Published:
        """Move the checkpoint past commits of the source without changes. Raises ConcurrentRunError."""
        self._require_unmoved()
        self.run.state.reading = self.run.plan.recorded_reading
        return self._publisher.advance(self.run)

    def release(self) -> None:
        """Release the rows that Spark holds."""
        self._held.close()

    def _require_unmoved(self) -> None:
        """Raise ConcurrentRunError if another writer has changed the table since it was compared."""
        plan = self.run.plan
        now = self._reader.load(plan.name)
        if now is None:
            raise race_errors.target_gone(plan.name, plan.model)
        if not has_same_rows(plan, now):
            raise race_errors.own_rows_changed(now, plan.model)

    def _view(self, name: str) -> str:
        return f"{self.run.plan.branch}_{name}"

    def _hold(self, name: str, query: str) -> None:
        self._held.enter_context(holding(self._spark, self._view(name), query))

    def _described(self, relation: str) -> list[tuple[str, str]]:
        """The columns of a relation with their types."""
        return self._spark.columns(f"select * from {relation}")

    @property
    def _seen(self) -> str:
        """The table at the snapshot for which the run was planned."""
        plan = self.run.plan
        seen = None if plan.target is None else plan.target.current
        assert seen is not None
        return plan.name.at_sql(seen.snapshot_id, has_other_names=seen.has_other_names, as_name=True)

    def _bounds(self) -> Sequence[Bound]:
        """The bounds of the changed keys that avoid reading many files of the table."""
        target = self.run.plan.target
        assert target is not None
        assert self.keys is not None
        return useful(self.keys.bounds, files_at(self._reader, target, target.current_snapshot_id))


def _flaw(most_rows: int, nulls: int, divided: int) -> str | None:
    """Why keys do not identify rows. ``most_rows``: of one key. ``nulls``, ``divided``: as in ``ChangedKeys``."""
    if nulls:
        return rebuild_reasons.NULL_KEYS
    if divided:
        return rebuild_reasons.DIVIDED_KEYS
    return rebuild_reasons.REPEATED_KEYS if most_rows > 1 else None


def _rows_sql(changes: str, state: State) -> str:
    """The added or removed rows of a relation of changes, as a relation for FROM."""
    found = TableStates("", changes=changes).sql(state)
    assert found is not None
    return found
