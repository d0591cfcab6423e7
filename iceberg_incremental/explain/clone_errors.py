"""The errors of clones."""

from __future__ import annotations

from ..errors import ConcurrentRunError, ConfigError, SourceMissingError
from ..table.clone import NO_REMOVAL
from ..table.history import TableName
from .entries import indexed


@indexed
def no_origin(origin: TableName, clone: TableName) -> SourceMissingError:
    """The table to clone does not exist."""
    return SourceMissingError(
        f"{clone} cannot be cloned from {origin}.\n"
        "  Expected: an Iceberg table.\n"
        "  Found: no table of this name.\n"
        "  To fix: correct the name, or build the table first."
    )


@indexed
def origin_changed(origin: TableName, clone: TableName) -> ConcurrentRunError:
    """Other writers committed to the table during each attempt to clone it."""
    return ConcurrentRunError(
        f"{clone} could not be cloned from {origin}, because other writers committed to {origin} during each attempt.\n"
        f"  Expected: no commit to {origin} while it is cloned.\n"
        "  Found: a newer snapshot each time.\n"
        "  To fix: clone again, or set clone_as to 'table', which copies the rows."
    )


@indexed
def same_folder(origin: TableName, clone: TableName, folder: str) -> ConfigError:
    """The folders of a clone and its origin would be the same or nested."""
    return ConfigError(
        f"{clone} cannot be cloned from {origin} into {folder}.\n"
        "  Expected: separate folders. Otherwise, remove_orphan_files on one table deletes files of the other one.\n"
        f"  Found: the folder of {origin}, or a folder inside or above it.\n"
        "  To fix: make location_root depend on the target, for example with `{{ target.schema }}`."
    )


@indexed
def not_registered(origin: TableName, catalog: str, said: str) -> ConfigError:
    """The catalog cannot register tables by their metadata files."""
    return ConfigError(
        f"{origin} cannot be cloned without a copy.\n"
        f"  Expected: a catalog that registers tables by their metadata files, as REST, JDBC, Hive and Glue do.\n"
        f"  Found: catalog {catalog}, which reports: {said.splitlines()[0][:300]}\n"
        "  To fix: set clone_as to 'table', which copies the rows, or to 'view'."
    )


@indexed
def no_longer_kept(origin: TableName, clone: TableName, first: TableName) -> ConfigError:
    """The table to clone is itself a clone, and its origin no longer keeps the clone's files."""
    return ConfigError(
        f"{clone} cannot be cloned from {origin}.\n"
        f"  Expected: a table whose files are kept.\n"
        f"  Found: a clone of {first}. This origin no longer keeps the clone's files, so they can be deleted at any "
        "time.\n"
        f"  To fix: clone {first} instead, or first create the clone {origin} again."
    )


@indexed
def removes_files(clone: TableName, origin: TableName) -> ConfigError:
    """The properties of a clone let Iceberg remove files of its origin."""
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in NO_REMOVAL.items())
    return ConfigError(
        f"{clone} may remove files of {origin}, from which it was cloned.\n"
        f"  Expected: the table properties {properties}.\n"
        "  Found: another value of one of them, which a user or a hook has set since.\n"
        f"  To fix: alter table {clone.sql} set tblproperties ({properties}); if a hook sets the property, remove it "
        "from the hook."
    )


@indexed
def same_table(origin: TableName, clone: TableName) -> ConfigError:
    """A table would be replaced by a clone of itself."""
    return ConfigError(
        f"{clone} cannot be replaced by a clone of {origin}: they are the same table under two names.\n"
        "  Expected: two tables.\n"
        "  Found: two names of one table, which differ in case or in the Spark catalog.\n"
        "  To fix: use another schema for the clone."
    )
