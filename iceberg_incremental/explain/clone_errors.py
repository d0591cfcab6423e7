"""The errors of clones."""

from __future__ import annotations

from ..errors import ConcurrentRunError, ConfigError, SourceMissingError
from ..table.history import TableName
from .entries import indexed


@indexed
def no_origin(origin: TableName, clone: TableName) -> SourceMissingError:
    """There is no table to clone."""
    return SourceMissingError(
        f"{clone} cannot be cloned from {origin}.\n"
        "  Expected: an Iceberg table.\n"
        "  Found: no table of this name.\n"
        "  To fix: correct the name; or build the table first."
    )


@indexed
def origin_moves(origin: TableName, clone: TableName) -> ConcurrentRunError:
    """Others committed to the table during each attempt to clone it."""
    return ConcurrentRunError(
        f"{clone} could not be cloned from {origin}: others committed to it during each attempt.\n"
        "  Expected: a moment without a commit between two statements.\n"
        "  Found: a newer snapshot each time.\n"
        "  To fix: clone again; or set clone_as to 'table', which copies the rows."
    )


@indexed
def same_folder(origin: TableName, clone: TableName, folder: str) -> ConfigError:
    """A clone would have the folder of its origin, or one within the other."""
    return ConfigError(
        f"{clone} cannot be cloned from {origin} into {folder}.\n"
        "  Expected: a folder apart from that of the origin: remove_orphan_files on one table takes the files of the "
        "other for orphans.\n"
        f"  Found: a folder that {origin} has, or that lies within it or around it.\n"
        "  To fix: let location_root depend on the target, for example by `{{ target.schema }}`."
    )


@indexed
def not_registered(origin: TableName, catalog: str, said: str) -> ConfigError:
    """The catalog has no tables whose metadata file or folder can be chosen."""
    return ConfigError(
        f"{origin} cannot be cloned without a copy.\n"
        f"  Expected: a catalog that registers tables by their metadata files, as REST, JDBC, Hive and Glue do.\n"
        f"  Found: catalog {catalog}, which says: {said.splitlines()[0][:300]}\n"
        "  To fix: set clone_as to 'table', which copies the rows, or to 'view'."
    )
