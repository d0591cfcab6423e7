"""Making a clone of a table: a new entry in the catalog for the files of another table, without a copy of any.

No statement that could remove or overwrite a file of the origin is sent before the clone has a folder of its own. Until
it is complete, it has another name, under which nobody looks for it; what a crash has left there is dropped.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from ..capture.target_checkpoint import target_checkpoint
from ..errors import CheckpointError, StatementError
from ..explain import clone_errors
from ..maintenance.folders import listed_with
from ..metadata import MetadataReader
from ..spark.port import Spark
from ..sql import sql_name, sql_properties, sql_string
from ..table.clone import (
    KeepingBranch,
    folders_of,
    keeping_branch,
    properties_of,
    refs_to_drop,
    unfinished,
)
from ..table.history import History, TableName
from .commit_conflicts import retry_conflicts

_ATTEMPTS = 5
"""How often the origin is looked at again because others have committed to it."""
_PATH_BASED = "cannot be relocated"
"""What Iceberg says of a table whose place is its name, as in a Hadoop catalog."""


class CloneMaker:
    """Makes clones by one connection."""

    def __init__(self, spark: Spark, reader: MetadataReader) -> None:
        self._spark = spark
        self._reader = reader

    def make(self, origin: TableName, clone: TableName, kept: timedelta, location: str | None = None) -> str:
        """Make a clone, but for its name; returns the statement that gives it that.

        ``kept``: for how long the origin keeps the files. ``location``: the clone's folder, by default the one that its
        catalog chooses.

        Raises SourceMissingError where there is no origin; ConfigError where the catalog registers no tables, or the
        clone's folder would be that of the origin; ConcurrentRunError where others commit to the origin all the time;
        StatementError as Spark does.
        """
        to = unfinished(clone)
        folder = self._new_folder(to, location)
        folders = {clone: [folder], origin: self._reader.folders(origin)}
        if listed_with(clone, folders) or listed_with(origin, folders):
            raise clone_errors.same_folder(origin, clone, folder)
        history = self._registered(origin, clone, to, kept)
        try:
            for statement in finishing(history, to, folder, kept, _now_ms()):
                self._spark.send(statement)
        except StatementError as error:
            if _PATH_BASED not in str(error):
                raise
            self._spark.send(f"DROP TABLE {to.sql}")
            raise clone_errors.not_registered(origin, to.catalog, str(error)) from error
        return f"ALTER TABLE {to.sql} RENAME TO {sql_name(clone.namespace)}.{sql_name(clone.name)}"

    def _new_folder(self, table: TableName, location: str | None) -> str:
        """A folder for a table, as its catalog chooses it: that of a table without rows, which is dropped again."""
        self._spark.send(f"DROP TABLE IF EXISTS {table.sql}")
        where = "" if location is None else f" LOCATION {sql_string(location)}"
        self._spark.send(f"CREATE TABLE {table.sql} (ip_unread INT) USING iceberg{where}")
        folder = self._reader.folders(table)[0]
        self._spark.send(f"DROP TABLE {table.sql}")
        return folder

    def _registered(self, origin: TableName, clone: TableName, to: TableName, kept: timedelta) -> History:
        """Register the origin's metadata under another name; returns the origin as it is registered, and kept."""
        for _ in range(_ATTEMPTS):
            history = self._reader.load(origin)
            if history is None:
                raise clone_errors.no_origin(origin, clone)
            branch = keeping_branch(history, clone, kept, _now_ms())
            if branch is not None and not self._is_kept(origin, branch):
                continue
            self._keep_beside(history, clone, kept)
            self._register(origin, to)
            registered = self._reader.load(to)
            if registered is not None and registered.current_snapshot_id == history.current_snapshot_id:
                return replace(registered, table=origin)
            self._spark.send(f"DROP TABLE IF EXISTS {to.sql}")
        raise clone_errors.origin_changed(origin, clone)

    def _is_kept(self, origin: TableName, branch: KeepingBranch) -> bool:
        """Whether the origin keeps its snapshots by a branch now; not where an expiry was faster."""
        try:
            retry_conflicts(self._spark.send, branch.sql(origin))
        except StatementError:
            history = self._reader.load(origin)
            if history is not None and history.current_snapshot_id == branch.head:
                raise
            return False
        return True

    def _keep_beside(self, origin: History, clone: TableName, kept: timedelta) -> None:
        """Keep the deletions that the origin's checkpoint names: the clone's next run copies them."""
        with suppress(CheckpointError):  # the clone's own run says it
            checkpoint = target_checkpoint(origin, self._reader).checkpoint
            if checkpoint is None or checkpoint.sequence is None or checkpoint.sequence.deletions is None:
                return
            deletions = checkpoint.sequence.deletions
            table = TableName.parse(deletions.table)
            history = None if table is None else self._reader.load(table)
            if history is not None and deletions.snapshot_id in history.snapshots:
                branch = keeping_branch(history, clone, kept, _now_ms(), head=deletions.snapshot_id)
                if branch is not None:
                    retry_conflicts(self._spark.send, branch.sql(history.table))

    def _register(self, origin: TableName, to: TableName) -> None:
        log = f"{origin.sql}.metadata_log_entries"
        ((metadata,),) = self._spark.rows(f"select file from {log} order by timestamp desc, file desc limit 1")
        call = (
            f"CALL {sql_name(to.catalog)}.system.register_table("
            f"table => {sql_string(f'{sql_name(to.namespace)}.{sql_name(to.name)}')}, "
            f"metadata_file => {sql_string(metadata)})"
        )
        try:
            self._spark.send(call)
        except StatementError as error:
            if "UnsupportedOperation" in str(error):
                raise clone_errors.not_registered(origin, to.catalog, str(error)) from error
            raise


def finishing(origin: History, to: TableName, folder: str, kept: timedelta, now_ms: int) -> list[str]:
    """The statements that make a registered table one of its own. ``origin``: as it was registered.

    The folder comes first: a commit before that would be written into the origin's. The first commit may still remove
    old metadata files of the origin, by the origin's own property: those that the origin's next commit removes.
    """
    alter = f"ALTER TABLE {to.sql}"
    found = [
        f"{alter} SET LOCATION {sql_string(folder)}",
        f"{alter} SET TBLPROPERTIES {sql_properties(properties_of(origin, kept, now_ms))}",
    ]
    if folders := folders_of(origin):
        found.append(f"{alter} UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(sql_string, folders))})")
    for name, is_branch in refs_to_drop(origin).items():
        found.append(f"{alter} DROP {'BRANCH' if is_branch else 'TAG'} IF EXISTS {sql_name(name)}")
    return found


def _now_ms() -> int:
    return int(time.time() * 1000)
