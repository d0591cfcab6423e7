"""The errors of reading metadata: what cannot be reached, and what is no Iceberg table."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ConfigError, MetadataAccessError, NotIcebergError, ViewError
from ..table.history import TableName
from .caller import by_caller
from .entries import indexed

_TO_FIX = "  To fix"
_EXTRA_OF_MODULE = {"psycopg2": "postgres", "thrift": "hive", "boto3": "glue", "pyarrow": "s3", "s3fs": "s3"}
"""The extra of this package by which a module is installed."""


@indexed
def unknown_reader(mode: str, modes: Sequence[str]) -> ConfigError:
    """The profile asks for a reader that there is not."""
    return ConfigError(f"metadata_reader is {mode!r}; expected one of {', '.join(modes)}.")


@indexed
def no_configuration(catalog: str, reason: str) -> MetadataAccessError:
    """PyIceberg's properties of a catalog are not known; ``reason`` reads after 'because'."""
    return MetadataAccessError(
        f"PyIceberg has no configuration for catalog {catalog}, because {reason}. Give PyIceberg's properties under"
        f" pyiceberg: {catalog}: in the profile, or set metadata_reader: spark."
    )


@indexed
def unreachable(what: str, shown: str, missing_module: str | None) -> MetadataAccessError:
    """PyIceberg cannot read a catalog or a table. ``shown``: the cause, without credentials."""
    if missing_module is None:
        way = by_caller(
            "run again when this machine reaches it, or set metadata_reader: auto in the profile, so that Spark reads "
            "what PyIceberg cannot",
            'run again when this machine reaches it, or pass metadata_reader="auto", so that Spark reads what '
            "PyIceberg cannot",
            "check the properties of the catalog in .pyiceberg.yaml, the environment and --catalog-property, and "
            "repeat the same command when this machine reaches it",
        )
        remedy = f"\n{_TO_FIX}: {way}."
    else:
        extra = _EXTRA_OF_MODULE.get(missing_module.partition(".")[0])
        install = missing_module if extra is None else f"it: pip install 'dbt-spark-iceberg[{extra}]'"
        remedy = f". Install {install}"
    return MetadataAccessError(f"PyIceberg cannot reach {what}: {shown}{remedy}")


@indexed
def unreadable_by_spark(table: TableName, error: Exception) -> MetadataAccessError:
    """A statement that reads a table's metadata failed."""
    found = f"Spark cannot read the metadata of {table}: {error}"
    if _TO_FIX not in found:
        found += f"\n{_TO_FIX}: run again when the catalog and its files can be reached."
    return MetadataAccessError(found)


@indexed
def dropped_meanwhile(table: TableName) -> MetadataAccessError:
    """A table is gone that was there when its history was loaded."""
    return MetadataAccessError(f"{table} was dropped while its metadata were read. Run again.")


@indexed
def changed_meanwhile(table: TableName, head: int) -> MetadataAccessError:
    """The head of a table is not among the snapshots that were read after it."""
    return MetadataAccessError(
        f"{table} changed while Spark read its metadata: main was at snapshot {head}, which is gone. Run again."
    )


@indexed
def columns_unknown(table: TableName, start: int, end: int, schemas: tuple[object, object]) -> MetadataAccessError:
    """Spark does not say the columns of both ends of a range. ``schemas``: their ids, None where unknown."""
    at_start, at_end = ("unknown" if schema is None else schema for schema in schemas)
    return MetadataAccessError(
        f"Net changes of {table} from snapshot {start} to {end} need the columns of both.\n"
        "  Expected: one schema at both, as Spark's metadata tables know columns by name only.\n"
        f"  Found: schema {at_start} and schema {at_end}.\n"
        "  To fix: let PyIceberg read the metadata, by its properties under "
        f"pyiceberg: {table.catalog}: in the profile; or rebuild the model with --full-refresh."
    )


def view(table: TableName) -> ViewError:
    """The name is a view's."""
    return ViewError(f"{table} is a view; expected an Iceberg table.")


def not_iceberg(table: TableName, provider: str | None) -> NotIcebergError:
    """The name is that of a table of another format; without a ``provider`` it may be a view too."""
    kind = "a view or a table of another format" if provider is None else f"a table of format {provider}"
    return NotIcebergError(f"{table} is {kind}; expected an Iceberg table.")
