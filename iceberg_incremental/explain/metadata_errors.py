"""The errors of reading metadata: unreachable catalogs, and tables that are not Iceberg tables."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ConfigError, MetadataAccessError, NotIcebergError, ViewError
from ..table.history import TableName
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
