"""The errors of clones."""

from __future__ import annotations

from ..errors import ConcurrentRunError, ConfigError, SourceMissingError
from ..table.clone import NO_REMOVAL
from ..table.history import TableName


def no_origin(origin: TableName, clone: TableName) -> SourceMissingError:
    """The table to clone does not exist."""
    return SourceMissingError(
        f"{clone} cannot be cloned from {origin}.",
        expected="an Iceberg table.",
        found="no table of this name.",
        fix="correct the name, or build the table first.",
    ).named("no-origin")


def origin_changed(origin: TableName, clone: TableName) -> ConcurrentRunError:
    """Other writers committed to the table during each attempt to clone it."""
    return ConcurrentRunError(
        f"{clone} could not be cloned from {origin}, because other writers committed to {origin} during each attempt.",
        expected=f"no commit to {origin} while it is cloned.",
        found="a newer snapshot each time.",
        fix="clone again, or set clone_as to 'table', which copies the rows.",
    ).named("origin-changed")


def same_folder(origin: TableName, clone: TableName, folder: str) -> ConfigError:
    """The folders of a clone and its origin would be the same or nested."""
    return ConfigError(
        f"{clone} cannot be cloned from {origin} into {folder}.",
        expected="separate folders. Otherwise, remove_orphan_files on one table deletes files of the other one.",
        found=f"the folder of {origin}, or a folder inside or above it.",
        fix="make location_root depend on the target, for example with `{{ target.schema }}`.",
    ).named("same-folder")


def not_registered(origin: TableName, catalog: str, said: str) -> ConfigError:
    """The catalog cannot register tables by their metadata files."""
    return ConfigError(
        f"{origin} cannot be cloned without a copy.",
        expected="a catalog that registers tables by their metadata files, as REST, JDBC, Hive and Glue do.",
        found=f"catalog {catalog}, which reports: {said.splitlines()[0][:300]}",
        fix="set clone_as to 'table', which copies the rows, or to 'view'.",
    ).named("not-registered")


def no_longer_kept(origin: TableName, clone: TableName, first: TableName) -> ConfigError:
    """The table to clone is itself a clone, and its origin no longer keeps the clone's files."""
    return ConfigError(
        f"{clone} cannot be cloned from {origin}.",
        expected="a table whose files are kept.",
        found=f"a clone of {first}. This origin no longer keeps the clone's files, so they can be deleted at any time.",
        fix=f"clone {first} instead, or first create the clone {origin} again.",
    ).named("no-longer-kept")


def removes_files(clone: TableName, origin: TableName) -> ConfigError:
    """The properties of a clone let Iceberg remove files of its origin."""
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in NO_REMOVAL.items())
    return ConfigError(
        f"{clone} may remove files of {origin}, from which it was cloned.",
        expected=f"the table properties {properties}.",
        found="another value of one of them, which a user or a hook has set since.",
        fix=f"alter table {clone.sql} set tblproperties ({properties}); if a hook sets the property, remove it from "
        "the hook.",
    ).named("removes-files")


def same_table(origin: TableName, clone: TableName) -> ConfigError:
    """A table would be replaced by a clone of itself."""
    return ConfigError(
        f"{clone} cannot be replaced by a clone of {origin}: they are the same table under two names.",
        expected="two tables.",
        found="two names of one table, which differ in case or in the Spark catalog.",
        fix="use another schema for the clone.",
    ).named("same-table")
