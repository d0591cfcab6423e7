"""The names of datasets, according to OpenLineage's naming conventions.

A dataset's name is the location of its table. A symlink contains the table's name in the catalog. OpenLineage's Spark
listener uses the same names, so the events of both form one graph.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from iceberg_incremental.metadata.catalog_properties import kind_of
from iceberg_incremental.secrets import mask
from iceberg_incremental.table.history import TableName

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>.*)", re.DOTALL)
_OBJECT_STORES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    "gs": "gs",
    **dict.fromkeys(("abfs", "abfss"), "abfss"),
    **dict.fromkeys(("wasb", "wasbs"), "wasbs"),
}
"""The URI schemes of object stores, each with the scheme that the conventions use."""


def dataset_name(location: str) -> tuple[str, str]:
    """The namespace and name of a dataset, from the location of its table."""
    scheme, authority, path = _split(location)
    if scheme == "file":
        return scheme, path or "/"
    if scheme in _OBJECT_STORES:
        return f"{_OBJECT_STORES[scheme]}://{authority}", path.lstrip("/") or "/"
    return f"{scheme}://{authority}", path or "/"


def symlink(table: TableName, catalog: Mapping[str, str]) -> tuple[str, str] | None:
    """The namespace and name of a table in its catalog. None if Spark's settings do not contain them.

    ``catalog``: Spark's settings of the catalog. Glue needs the AWS account, which is not in the settings.
    """
    namespace = _catalog_namespace(kind_of(catalog), catalog)
    return None if namespace is None else (namespace, f"{table.namespace}.{table.name}")


def catalog_uri(catalog: Mapping[str, str]) -> str | None:
    """The URI of a catalog without credentials and parameters. None without a URI."""
    uri = catalog.get("uri")
    return mask(uri.partition("?")[0]) if uri else None


def _catalog_namespace(kind: str, catalog: Mapping[str, str]) -> str | None:
    uri, warehouse = catalog_uri(catalog), catalog.get("warehouse")
    if kind == "hadoop" and warehouse:
        scheme, authority, path = _split(warehouse)
        return f"file:{path}" if scheme == "file" else f"{_OBJECT_STORES.get(scheme, scheme)}://{authority}{path}"
    if kind == "hive" and uri:
        return f"hive://{_split(uri)[1]}"
    return uri if kind in ("rest", "jdbc") else None


def _split(location: str) -> tuple[str, str, str]:
    """The scheme, authority and path of a location, without trailing slashes. A path without a scheme is local."""
    found = _URI.fullmatch(location)
    if found is None:
        return "file", "", location.rstrip("/")
    return found["scheme"].lower(), found["authority"] or "", found["path"].rstrip("/")
