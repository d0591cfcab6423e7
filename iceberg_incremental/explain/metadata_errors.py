"""The errors of catalogs: unreachable metadata, other kinds of tables, and requests that are not carried out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import ConfigError, MetadataAccessError, NotIcebergError, NotKeptError, StatementError, ViewError
from ..table.history import MAIN, History, TableName
from .caller import by_caller

_OF_CATALOGS = frozenset({"psycopg2", "thrift", "boto3", "pyarrow"})
"""The modules that the extra ``catalogs`` installs."""


def unknown_reader(mode: str, modes: Sequence[str]) -> ConfigError:
    """The profile names an unknown metadata reader."""
    return ConfigError(
        f"metadata_reader is {mode!r}.",
        expected=f"{', '.join(modes)}.",
        fix=f"set it to one of {', '.join(modes)}.",
    ).named("unknown-reader")


def no_configuration(catalog: str, reason: str) -> MetadataAccessError:
    """PyIceberg's properties of a catalog are unknown; ``reason`` reads after 'because'."""
    return MetadataAccessError(
        f"PyIceberg has no configuration for catalog {catalog}, because {reason}.",
        fix=f"set PyIceberg's properties under pyiceberg: {catalog}: in the profile, or set metadata_reader: spark.",
    ).named("no-configuration")


def unreachable(what: str, shown: str, missing_module: str | None) -> MetadataAccessError:
    """PyIceberg cannot read a catalog or a table. ``shown``: the cause, without credentials."""
    if missing_module is None:
        way = by_caller(
            "run again when this machine can reach it, or set metadata_reader: auto in the profile, so that Spark "
            "reads what PyIceberg cannot",
            'run again when this machine can reach it, or pass metadata_reader="auto", so that Spark reads what '
            "PyIceberg cannot",
            "check the properties of the catalog in .pyiceberg.yaml, the environment and --catalog-property, and "
            "repeat the same command when this machine can reach it",
        )
        remedy = f"{way}."
    else:
        is_ours = missing_module.partition(".")[0] in _OF_CATALOGS
        package = "'dbt-spark-iceberg[catalogs]'" if is_ours else missing_module
        remedy = f"pip install {package}"
    return MetadataAccessError(f"PyIceberg cannot reach {what}: {shown}", fix=remedy).named("unreachable")


def unreadable_by_spark(table: TableName, error: Exception) -> MetadataAccessError:
    """A statement that reads a table's metadata failed."""
    fix = () if "  To fix" in str(error) else "run again when the catalog and its files are reachable."
    what = f"Spark cannot read the metadata of {table}: {error}"
    return MetadataAccessError(what, fix=fix).named("unreadable-by-spark")


def dropped_meanwhile(table: TableName) -> MetadataAccessError:
    """A table was dropped after its history was loaded."""
    return MetadataAccessError(
        f"{table} was dropped while its metadata was being read.",
        fix="run again.",
    ).named("dropped-meanwhile")


def changed_meanwhile(table: TableName, head: int) -> MetadataAccessError:
    """A table changed while Spark was reading its metadata."""
    return MetadataAccessError(
        f"{table} changed while Spark was reading its metadata: main was at snapshot {head}, which no longer exists.",
        fix="run again.",
    ).named("changed-meanwhile")


def columns_unknown(table: TableName, start: int, end: int, schemas: tuple[object, object]) -> MetadataAccessError:
    """Columns may have changed in a range, and Spark does not show which ones.

    ``schemas``: the ids, None if unknown.
    """
    at_start, at_end = ("an unknown schema" if schema is None else f"schema {schema}" for schema in schemas)
    return MetadataAccessError(
        f"The net changes of {table} from snapshot {start} to {end} cannot be read, because its schema changed.",
        expected="the same schema at both snapshots, since Spark's metadata tables have only the names of columns.",
        found=f"{at_start} and {at_end}.",
        fix="let PyIceberg read the metadata (metadata_reader: auto, and where Spark's settings do not suffice, its "
        f"properties under pyiceberg: {table.catalog}: in the profile); or rebuild the model with --full-refresh.",
    ).named("columns-unknown")


def view(table: TableName) -> ViewError:
    """The name belongs to a view."""
    return ViewError(f"{table} is a view; expected an Iceberg table.")


def other_format(table: TableName, provider: str | None) -> NotIcebergError:
    """The name belongs to a table of another format, or without a ``provider``, possibly to a view."""
    kind = "a view or a table of another format" if provider is None else f"a table of format {provider}"
    return NotIcebergError(f"{table} is {kind}; expected an Iceberg table.")


_OTHER_DATABASE = "set the model's database to an Iceberg catalog"
_OTHER_TARGET = "name a target in an Iceberg catalog"
_DOWNGRADE = re.compile(r"Cannot downgrade v\d+ table to v\d+")
RUN_NEEDS = "create, write to and drop branches, and set properties that start with `ip.`, of"
"""What a run does with its table in the catalog."""
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


def refused_request(table: TableName, doer: str, said: str, needs: str = RUN_NEEDS) -> ConfigError:
    """The catalog does not allow this user, or anybody, something that a run or a clone needs."""
    return ConfigError(
        f"Catalog {table.catalog} refuses a request of {doer}.",
        expected=f"a catalog that lets this user read the sources, and {needs} {table}.",
        found=said,
        state="No row was published.",
        fix="grant the missing right, allow the request in the catalog's settings, or use another catalog.",
    ).named("refused-request")


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
