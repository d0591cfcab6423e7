"""Clones a table: creates a new catalog entry for the files of another table, without copying the files.

Until the clone has its own folder, no statement is executed that could remove or overwrite a file of the origin. An
incomplete clone has a name that is unique to the attempt, so concurrent attempts do not interfere. A failed attempt
drops its incomplete clone, and the branches that it created in the origins. If an attempt crashed, a later attempt
drops the incomplete clone, and the branches expire.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from ..capture.target_checkpoint import target_checkpoint
from ..errors import CheckpointError, IncrementalError, NotIcebergError, StatementError, message
from ..explain import clone_errors, metadata_errors
from ..maintenance.folders import listed_with
from ..metadata import MetadataReader
from ..spark.port import Spark
from ..sql import sql_name, sql_properties, sql_string
from ..table.clone import (
    KeepingBranch,
    clone_of,
    clone_token,
    folders_of,
    is_left_unfinished,
    keeping_branch,
    properties_of,
    refs_to_drop,
    unfinished,
)
from ..table.history import History, TableName
from .commit_conflicts import attempts, explaining_refusals
from .sql_refs import SqlRefs

logger = logging.getLogger(__name__)

_NEEDS = "register, rename and drop tables, branch the cloned table, and set the location and properties of"
_PATH_BASED = "cannot be relocated"
"""Part of Iceberg's message for a table whose location is determined by its name, as in a Hadoop catalog."""


@dataclass
class _Attempt:
    """One attempt to create a clone. ``to``: its temporary name. ``kept``: how long the origin keeps its files.

    ``branches``: the branches that the attempt has created, or tried to create, by table. ``is_renaming``: whether the
    clone is complete, and may have its name.
    """

    origin: TableName
    clone: TableName
    to: TableName
    token: str
    kept: timedelta
    branches: dict[TableName, str] = field(default_factory=dict)
    is_renaming: bool = False

    def branch(self, history: History, now_ms: int, head: int | None = None) -> KeepingBranch | None:
        """The branch that keeps a table's snapshots for the clone, as in ``keeping_branch``."""
        return keeping_branch(history, self.clone, self.token, self.kept, now_ms, head)


class CloneMaker:
    """Creates clones over one connection."""

    def __init__(self, spark: Spark, reader: MetadataReader) -> None:
        self._spark = spark
        self._reader = reader
        self._refs = SqlRefs(spark, reader)

    def make(
        self,
        origin: TableName,
        clone: TableName,
        kept: timedelta,
        location: str | None = None,
        make_way: Callable[[], object] = lambda: None,
    ) -> None:
        """Create a clone under a temporary name, and rename it once it is complete.

        ``kept``: how long the origin keeps the files. ``location``: the clone's folder, by default chosen by its
        catalog. ``make_way``: drops the table that the clone replaces. It is called when the clone is complete.

        If the clone fails for any reason, everything that was created is removed, and a warning names what could not
        be removed. Raises SourceMissingError if the origin does not exist; ConfigError if the catalog cannot register
        tables, if the clone's folder would be the origin's, or if the origin is a clone whose files are no longer kept;
        NotKeptError if the catalog does not keep branches; ConcurrentRunError if other writers keep committing to the
        origin; and StatementError.
        """
        self._drop_left(clone)
        token = clone_token(_now_ms(), secrets.token_hex(3))
        attempt = _Attempt(origin, clone, unfinished(clone, token), token, kept)
        try:
            with explaining_refusals(clone, f"the clone {clone}", _NEEDS):
                self._make(attempt, location)
                make_way()
                attempt.is_renaming = True
                self._spark.send(f"ALTER TABLE {attempt.to.sql} RENAME TO {clone.sql_in_catalog}")
        except BaseException:
            self._remove(attempt)
            raise

    def _remove(self, attempt: _Attempt) -> None:
        """Remove what a failed attempt has created. Warns about what may remain, because the first error is reported.

        If the clone was renamed although this failed, nothing is removed, because the clone needs the branches.
        """
        drops = [f"DROP TABLE IF EXISTS {attempt.to.sql}"]
        drops += (f"ALTER TABLE {of.sql} DROP BRANCH IF EXISTS {sql_name(it)}" for of, it in attempt.branches.items())
        try:
            if attempt.is_renaming and not self._is_listed(attempt.to):
                return
            while drops:
                self._refs.alter(drops[0])
                del drops[0]
        except IncrementalError as error:
            logger.warning(
                message(
                    f"The clone {attempt.clone} failed, and what it created may remain.",
                    found=error.msg.strip(),
                    fix=f"if {attempt.clone} is not complete, run {'; '.join(f'`{each}`' for each in drops)}. "
                    "Otherwise, files of the cloned table are kept until the branch expires.",
                )
            )

    def _is_listed(self, table: TableName) -> bool:
        return any(str(row[1]).lower() == table.name.lower() for row in self._tables_beside(table))

    def _tables_beside(self, table: TableName) -> Sequence[Sequence[Any]]:
        return self._spark.rows(f"SHOW TABLES IN {table.namespace_sql}")

    def _make(self, attempt: _Attempt, location: str | None) -> None:
        origin, to = attempt.origin, attempt.to
        folder = self._new_folder(to, location)
        folders = {to: [folder], **self._folders(origin)}
        if listed_with(to, folders) or any(to in listed_with(each, folders) for each in folders):
            raise clone_errors.same_folder(origin, attempt.clone, folder)
        history, now_ms = self._registered(attempt)
        try:
            for statement in finishing(history, to, folder, attempt.kept, now_ms):
                self._spark.send(statement)
        except StatementError as error:
            if _PATH_BASED not in str(error):
                raise
            raise clone_errors.not_registered(origin, to.catalog, str(error)) from error

    def _drop_left(self, clone: TableName) -> None:
        """Drop the incomplete clones of this name that crashed attempts left behind, but none of a current attempt."""
        for row in self._tables_beside(clone):
            if is_left_unfinished(clone, str(row[1]), _now_ms()):
                with suppress(StatementError):  # a remaining incomplete clone is harmless
                    self._spark.send(f"DROP TABLE IF EXISTS {replace(clone, name=str(row[1])).sql}")

    def _new_folder(self, table: TableName, location: str | None) -> str:
        """The folder of a new table, by default chosen by its catalog. Creates and drops this table without rows."""
        where = "" if location is None else f" LOCATION {sql_string(location)}"
        self._spark.send(f"CREATE TABLE {table.sql} (ip_unread INT) USING iceberg{where}")
        folder = self._reader.folders(table)[0]
        self._spark.send(f"DROP TABLE {table.sql}")
        return folder

    def _folders(self, origin: TableName) -> Mapping[TableName, Sequence[str]]:
        """The folders of an origin. If it is itself a clone, also those of its own origin, and so on."""
        found: dict[TableName, Sequence[str]] = {}
        table: TableName | None = origin
        while table is not None and table not in found:
            history = None
            with suppress(NotIcebergError):
                found[table], history = self._reader.folders(table), self._reader.load(table)
            of = None if history is None else clone_of(history)
            table = None if of is None else of.origin
        return found

    def _registered(self, attempt: _Attempt) -> tuple[History, int]:
        """Register the origin's metadata under another name.

        Returns the registered origin, and the time (ms) from which its files are kept.
        """
        origin, to = attempt.origin, attempt.to
        for _ in attempts():  # while other writers commit to the origin
            history, now_ms = self._reader.load(origin), _now_ms()
            if history is None:
                raise clone_errors.no_origin(origin, attempt.clone)
            of = clone_of(history)
            if of is not None and of.kept_until_ms is not None and of.kept_until_ms <= now_ms:
                raise clone_errors.no_longer_kept(origin, attempt.clone, of.origin)
            branch = attempt.branch(history, now_ms)
            if branch is not None and not self._is_kept(attempt, origin, branch):
                continue
            self._keep_deletions(attempt, history, now_ms)
            self._register(origin, to)
            registered = self._reader.load(to)
            if registered is not None and registered.current_snapshot_id == history.current_snapshot_id:
                return replace(registered, table=origin), now_ms
            self._spark.send(f"DROP TABLE IF EXISTS {to.sql}")
        raise clone_errors.origin_changed(origin, attempt.clone)

    def _is_kept(self, attempt: _Attempt, origin: TableName, branch: KeepingBranch) -> bool:
        """Whether the branch now keeps the origin's snapshots. False if they expired first."""
        try:
            self._keep(attempt, origin, branch)
        except StatementError:
            history = self._reader.load(origin)
            if history is not None and history.current_snapshot_id == branch.head:
                raise
            return False
        return True

    def _keep(self, attempt: _Attempt, table: TableName, branch: KeepingBranch) -> None:
        """Create or move the branch of an attempt. Raises StatementError, and NotKeptError if it does not exist."""
        attempt.branches[table] = branch.name  # before the statement, which may fail although it has created the branch
        self._refs.alter(branch.sql(table))
        if not self._refs.has(table, branch.name):
            history = self._reader.load(table)
            if history is None:
                raise clone_errors.no_origin(table, attempt.clone)
            raise metadata_errors.keeps_no_branches(history, f"The clone {attempt.clone}", branch.name)

    def _keep_deletions(self, attempt: _Attempt, origin: History, now_ms: int) -> None:
        """Keep the snapshot of the origin's table of recorded deletions, which the clone's next run copies."""
        with suppress(CheckpointError):  # the clone's own run reports this
            checkpoint = target_checkpoint(origin, self._reader).checkpoint
            if checkpoint is None or checkpoint.sequence is None or checkpoint.sequence.deletions is None:
                return
            deletions = checkpoint.sequence.deletions
            table = TableName.parse(deletions.table)
            history = None if table is None else self._reader.load(table)
            if history is None:
                return
            # if the snapshot has expired, the current one is kept: a compaction may have moved the rows to it
            known = deletions.snapshot_id in history.snapshots
            branch = attempt.branch(history, now_ms, head=deletions.snapshot_id if known else None)
            if branch is not None:
                self._keep(attempt, history.table, branch)

    def _register(self, origin: TableName, to: TableName) -> None:
        log = f"{origin.sql}.metadata_log_entries"
        ((metadata,),) = self._spark.rows(f"select file from {log} order by timestamp desc, file desc limit 1")
        call = (
            f"CALL {sql_name(to.catalog)}.system.register_table("
            f"table => {sql_string(to.sql_in_catalog)}, "
            f"metadata_file => {sql_string(metadata)})"
        )
        try:
            self._spark.send(call)
        except StatementError as error:
            if "UnsupportedOperation" in str(error):
                raise clone_errors.not_registered(origin, to.catalog, str(error)) from error
            raise


def require_two(reader: MetadataReader, origin: TableName, existing: TableName) -> None:
    """Raise ConfigError if both names refer to the same table, for example because they differ only in case."""
    try:
        is_one = reader.folders(origin)[:1] == reader.folders(existing)[:1] != ()
    except NotIcebergError:
        is_one = str(origin).lower() == str(existing).lower()
    if is_one:
        raise clone_errors.same_table(origin, existing)


def finishing(origin: History, to: TableName, folder: str, kept: timedelta, now_ms: int) -> list[str]:
    """The statements that make a registered table independent. ``origin``: its state at registration.

    The folder is set first, because any commit before this would write to the origin's folder. If the origin's
    properties require it, the first commit still removes old metadata files of the origin. The origin's next commit
    would remove the same files.
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
