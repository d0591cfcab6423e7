"""The errors of catalogs that accept a request but do not do what it asks for, such as creating a branch."""

from __future__ import annotations

import re

from ..errors import ConfigError, NotKeptError, StatementError
from ..table.history import MAIN, History, TableName
from .caller import by_caller

_OTHER_DATABASE = "set the model's database to an Iceberg catalog"
_OTHER_TARGET = "name a target in an Iceberg catalog"
_DOWNGRADE = re.compile(r"Cannot downgrade v\d+ table to v\d+")
_NESSIE = "nessie."
"""The prefix of the properties that Nessie adds to the tables that it returns."""


def other_catalog(history: History) -> str:
    """The advice to use a catalog that keeps what this one does not."""
    catalog = history.table.catalog
    if not any(key.startswith(_NESSIE) for key in history.properties):
        return "use a catalog that keeps a table's branches, tags, snapshots and format version"
    native = f"spark.sql.catalog.{catalog}.type: nessie, with uri: …/api/v2, ref and warehouse"
    in_spark = f"the server is Nessie, so use its own protocol instead of REST: set {native}"
    return by_caller(
        in_spark,
        in_spark,
        "the server is Nessie, and its REST protocol, which PyIceberg uses, does not keep them. Write this table with "
        "a PySpark job or a dbt model over a catalog of type: nessie",
    )


def keeps_no_branches(history: History, model: str, branch: str) -> NotKeptError:
    """The catalog accepted a new branch, but the table does not have it."""
    table = history.table
    return NotKeptError(
        f"{model} cannot stage its rows, because catalog {table.catalog} does not keep branches of tables.",
        expected=f"branch {branch} of {table}, whose creation the catalog reported as successful.",
        found=f"{_refs(history)} when the table was read again.",
        state="No row was written.",
        fix=f"{other_catalog(history)}.",
    ).named("keeps-no-branches")


def keeps_no_tags(history: History, model: str, tag: str) -> NotKeptError:
    """The catalog accepted a new tag of a source, but the table does not have it."""
    table = history.table
    return NotKeptError(
        f"{model} does not hold its position in {table}, because catalog {table.catalog} does not keep tags of tables.",
        expected=f"tag {tag}, whose creation the catalog reported as successful, since `hold_source` is set.",
        found=f"{_refs(history)} when the table was read again.",
        fix=f"{other_catalog(history)}; or remove `hold_source`. This run continues.",
    ).named("keeps-no-tags")


def of_build(error: StatementError, table: TableName, model: str) -> ConfigError | None:
    """The error for a table that its catalog cannot build as configured. None for other errors of the statement."""
    if "Cannot open table: path is not set" in error.msg:
        return no_iceberg_catalog(table, model)
    found = _DOWNGRADE.search(error.msg)
    return None if found is None else older_format_version(table, model, found[0])


def no_iceberg_catalog(table: TableName, model: str) -> ConfigError:
    """The catalog of the model's table is Spark's own, which does not keep Iceberg tables."""
    setting = f"spark.sql.catalog.{table.catalog}"
    return ConfigError(
        f"The catalog of {model} does not keep Iceberg tables.",
        expected="an Iceberg catalog.",
        found=f"{table.catalog}, which is Spark's own, without Iceberg.",
        fix=f"{by_caller(_OTHER_DATABASE, _OTHER_TARGET, _OTHER_TARGET)}, or set {setting} to "
        "org.apache.iceberg.spark.SparkSessionCatalog in Spark's configuration.",
    ).named("no-iceberg-catalog")


def older_format_version(table: TableName, model: str, found: str) -> ConfigError:
    """The model's config asks for an older format version than its table has."""
    return ConfigError(
        f"{table} cannot be rebuilt in an older format version.",
        expected="the format version of the table or a newer one. Iceberg converts a table only to newer versions.",
        found=f"{found}.",
        fix=f"correct format-version in {by_caller('tblproperties', 'properties', 'properties')}. To convert the "
        f"table all the same, rename it (ALTER TABLE {table.sql} RENAME TO …), build it again, and drop the old table "
        "once nothing needs its snapshots.",
    ).named("older-format-version")


def other_format_version(history: History, model: str, asked: int) -> NotKeptError:
    """The catalog built the table in an older format version than requested."""
    found = history.format_version
    return NotKeptError(
        f"{model} was built, but catalog {history.table.catalog} created {history.table} in an older format version.",
        expected=f"format version {asked}, which CREATE TABLE requested.",
        found=f"format version {found}. The rows and the checkpoint of this run are in the table.",
        fix=f"set the table property format-version to {found}; or {other_catalog(history)}.",
    ).named("other-format-version")


def _refs(history: History) -> str:
    """The branches and tags of a table, as text."""
    others = sorted(name for name in history.refs if name != MAIN)
    return f"only main and {', '.join(others)}" if others else "only main"
