"""The SQLite file of the embedded lakehouse's catalog. It is read without Spark."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.sql import namespaces_around

from ...as_dbt import dbt_error

if sys.platform != "win32":
    import fcntl

logger = AdapterLogger("Spark")

_LOCK_FILE = "start.lock"
_TABLES = ("iceberg_tables", "iceberg_namespace_properties")


def is_made(file: Path) -> bool:
    """Whether the file has the tables of Iceberg's catalog, with the newest schema."""
    columns = [row[0] for row in _rows(file, "select name from pragma_table_info('iceberg_tables')")]
    return "iceberg_type" in columns and _tables(file).issuperset(_TABLES)


def schemas(file: Path, catalog: str) -> list[str]:
    """The schemas of a catalog, including those within others. Raises DbtRuntimeError."""
    sql = (
        "select table_namespace from iceberg_tables where catalog_name = :catalog "
        "union select namespace from iceberg_namespace_properties where catalog_name = :catalog"
    )
    names = (str(name) for (name,) in _rows(file, sql, {"catalog": catalog}))
    return list(dict.fromkeys(each for name in names for each in namespaces_around(name)))


def relations(file: Path, catalog: str, schema: str) -> dict[str, bool]:
    """The tables and views of a schema, each with whether it is a view. Raises DbtRuntimeError."""
    sql = (
        "select table_name, coalesce(iceberg_type, 'TABLE') = 'VIEW' from iceberg_tables where catalog_name = :catalog "
        "and table_namespace = :schema"
    )
    rows = _rows(file, sql, {"catalog": catalog, "schema": schema})
    return {str(name): bool(is_view) for name, is_view in rows}


def require_sound(file: Path) -> None:
    """Raise DbtRuntimeError if the file is damaged, before Spark or PyIceberg fails because of it."""
    found = [str(row[0]) for row in _rows(file, "pragma quick_check(1)")]
    if found not in ([], ["ok"]):
        raise _damaged(file, found[0])


def require_name(file: Path, catalog: str) -> None:
    """Raise DbtRuntimeError if the file has only catalogs with other names, whose tables use the same folders."""
    tables = _tables(file).intersection(_TABLES)
    names = sorted({str(row[0]) for table in tables for row in _rows(file, f"select catalog_name from {table}")})
    if not names or catalog in names:
        return
    held = " and ".join(f"`{name}`" for name in names)
    raise DbtRuntimeError(
        f"The lakehouse in {file.parent} contains the catalog {held}, but not `{catalog}`, the catalog of the profile. "
        f"Two catalogs in one folder would overwrite each other's tables. Set `catalog: {names[0]}` in the profile, or "
        "set `warehouse` to another folder."
    )


def begin_new(file: Path, warehouse: str) -> None:
    """Log the folder of a new lakehouse, if the lakehouse does not exist yet. ``warehouse``: as in the profile.

    If the folder is otherwise empty, a .gitignore excludes the lakehouse from Git. If there is a lakehouse in the
    working directory, a warning states that it is not used.
    """
    if file.exists():
        return
    logger.info(f"Creating a new lakehouse in {file.parent}")
    if {each.name for each in file.parent.iterdir()} <= {_LOCK_FILE}:
        (file.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    elsewhere = Path.cwd() / Path(warehouse).expanduser() / file.name
    if elsewhere.exists():
        logger.warning(
            f"There is also a lakehouse in {elsewhere.parent}, which this command does not use: a relative `warehouse` "
            "is resolved from the dbt project's folder. To use that lakehouse, set its absolute path as `warehouse`."
        )


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Within the block, other processes that start on the lakehouse wait, so that only one process sets it up."""
    with (folder / _LOCK_FILE).open("w") as lock:
        _lock(lock.fileno())
        yield


def _lock(number: int) -> None:
    """Lock an open file until it is closed, if the platform and the file system support locks."""
    if sys.platform != "win32":
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.info("Waiting for another process that is creating the lakehouse")
            fcntl.flock(number, fcntl.LOCK_EX)
        except OSError as error:
            logger.debug(f"The file system does not support locks: {error}")


def _tables(file: Path) -> set[str]:
    return {str(row[0]) for row in _rows(file, "select name from sqlite_master where type = 'table'")}


def _rows(file: Path, sql: str, parameters: Mapping[str, str] | None = None) -> list[tuple[object, ...]]:
    """The rows of a query. Empty if the file does not exist."""
    if not file.exists():
        return []
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=60)
        ) as connection:
            return connection.execute(sql, parameters or {}).fetchall()
    except sqlite3.OperationalError as error:
        raise dbt_error(
            f"The catalog of the lakehouse cannot be read: {file}",
            expected="a SQLite file that this user can read.",
            found=f"{error}.",
            fix="correct the permissions of the file, or run again when no other program locks it.",
        ) from error
    except sqlite3.DatabaseError as error:
        raise _damaged(file, str(error)) from error


def _damaged(file: Path, found: str) -> DbtRuntimeError:
    return dbt_error(
        f"The catalog of the lakehouse is damaged: {file}",
        expected="a SQLite file, which names the current metadata file of each table.",
        found=f"{found.rstrip('.')}.",
        state=f"The files of the tables in {file.parent} are not affected.",
        fix=[
            "restore the file from a backup, if there have been no commits since the backup",
            "recover it with SQLite's shell: rename it to damaged.db, and run `sqlite3 damaged.db .recover | sqlite3 "
            f"{file.name}`",
            "move it away, so that the catalog is empty, and register each table with its newest metadata file: `CALL "
            "<catalog>.system.register_table(table => '<schema>.<table>', metadata_file => '<folder of the "
            "table>/metadata/<newest>.metadata.json')`",
        ],
    )
