"""PyIceberg's properties of a catalog and its files, derived from Spark's settings. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

_PASSED_ON = ("s3.", "gcs.", "adls.", "client.region", "client.access-key-id", "py-io-impl")
_NOT_PASSED_ON = ("s3.path-style-access",)  # PyIceberg's default; it only has s3.force-virtual-addressing, the opposite
_RENAMED = {
    "adls.auth.shared-key.account.name": "adls.account-name",
    "adls.auth.shared-key.account.key": "adls.account-key",
}
_S3A = {
    "spark.hadoop.fs.s3a.access.key": "s3.access-key-id",
    "spark.hadoop.fs.s3a.secret.key": "s3.secret-access-key",
    "spark.hadoop.fs.s3a.session.token": "s3.session-token",
    "spark.hadoop.fs.s3a.endpoint.region": "s3.region",
}
_S3A_ENDPOINT = "spark.hadoop.fs.s3a.endpoint"
_S3A_TLS = "spark.hadoop.fs.s3a.connection.ssl.enabled"
_DEFAULT_FILE_SYSTEM = "spark.hadoop.fs.defaultFS"


def is_redacted(value: str) -> bool:
    """Whether a value is the placeholder that SQL's SET shows for a credential."""
    return value.endswith("(redacted)")


def with_own_values(settings: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings, with the values that Spark hides replaced by those in ``own``, which are from the profile."""
    return {key: own.get(key, value) if is_redacted(value) else value for key, value in settings.items()}


def file_properties(settings: Mapping[str, str], spark_settings: Mapping[str, str]) -> dict[str, str]:
    """FileIO properties from a catalog's own settings, completed from Spark's Hadoop settings for S3."""
    visible = {key: value for key, value in spark_settings.items() if not is_redacted(value)}
    properties = {name: visible[key] for key, name in _S3A.items() if key in visible}
    if endpoint := spark_settings.get(_S3A_ENDPOINT):
        scheme = "http" if spark_settings.get(_S3A_TLS, "true").lower() == "false" else "https"
        properties["s3.endpoint"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    for key, value in settings.items():
        if key.startswith(_PASSED_ON) and key not in _NOT_PASSED_ON:
            properties[_RENAMED.get(key, key)] = value
    return properties


def with_default_scheme(location: str, spark_settings: Mapping[str, str]) -> str:
    """A location as Hadoop resolves it. Without a scheme, it is on the default file system."""
    default = spark_settings.get(_DEFAULT_FILE_SYSTEM, "file:///").rstrip("/")
    return location if ":" in location or default.startswith("file:") else f"{default}{location}"


_SQLITE = "jdbc:sqlite:"
_POSTGRESQL = "jdbc:postgresql:"
_LIBPQ_NAMES = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "connectTimeout": "connect_timeout",
    "ApplicationName": "application_name",
    "options": "options",
}


class UnmappableUri(Exception):  # noqa: N818 (a reason, caught by the caller)
    """The URL's database cannot be accessed from here. The text is the reason, without the URL."""


def sqlalchemy_uri(jdbc_url: str, parameters: Mapping[str, str]) -> str:
    """The SQLAlchemy URL for a JDBC URL. ``parameters``: the driver's parameters (user, password, …).

    Raises UnmappableUri for a database other than a SQLite file or PostgreSQL.
    """
    if jdbc_url.startswith(_SQLITE):
        return _sqlite(jdbc_url.removeprefix(_SQLITE))
    if jdbc_url.startswith(_POSTGRESQL):
        return _postgresql(jdbc_url.removeprefix(_POSTGRESQL), parameters)
    database = ":".join(jdbc_url.split(":")[:2]) if jdbc_url.startswith("jdbc:") else "not a JDBC URL"
    raise UnmappableUri(f"its database must be SQLite or PostgreSQL, and its uri is {database}")


def _sqlite(rest: str) -> str:
    location = rest.partition("?")[0]
    path = location.removeprefix("file:")
    if not path or path.startswith(":") or "mode=memory" in rest:
        raise UnmappableUri("its SQLite database is in the memory of Spark's process")
    if path == location:
        path = quote(path)  # with file: it is already a URI, which SQLite decodes in the same way as the JDBC driver
    # mode=rw: a missing database is an error; otherwise, SQLite would create an empty one
    return f"sqlite:///file:{path}?mode=rw&uri=true"


def _postgresql(rest: str, parameters: Mapping[str, str]) -> str:
    location, _, query = rest.partition("?")
    hosts, _, database = location.removeprefix("//").rpartition("/") if "/" in location else ("", "", location)
    options = {**parameters, **dict(parse_qsl(query, keep_blank_values=True))}
    libpq = {_LIBPQ_NAMES[key]: value for key, value in options.items() if key in _LIBPQ_NAMES}
    if options.get("ssl", "false").lower() in ("", "true"):
        libpq.setdefault("sslmode", "verify-full")  # as the JDBC driver interprets it
    if schema := options.get("currentSchema"):
        libpq.setdefault("options", f"-csearch_path={schema}")
    user = quote(options.get("user", ""), safe="")
    password = quote(options.get("password", ""), safe="")
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    database = quote(unquote(database) or options.get("user", ""), safe="")
    pairs = sorted(libpq.items())
    if "," in hosts:
        pairs = [("host", host if re.search(r":\d+$", host) else f"{host}:5432") for host in hosts.split(",")] + pairs
        hosts = ""
    else:
        hosts = hosts or "localhost"  # the JDBC driver's default; libpq would use a local socket
    return f"postgresql+psycopg2://{login}{hosts}/{database}" + (f"?{urlencode(pairs)}" if pairs else "")


_PREFIX = "spark.sql.catalog."
_SESSION_CATALOG = "org.apache.iceberg.spark.SparkSessionCatalog"
_SPARK_CATALOGS = ("org.apache.iceberg.spark.SparkCatalog", _SESSION_CATALOG)
_WITH_OTHER_FORMATS = ("hive", "glue")
_TYPE_OF_IMPLEMENTATION = {
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
}
_METASTORE_URIS = ("spark.hadoop.hive.metastore.uris", "spark.hive.metastore.uris")
_METASTORE_SASL = ("spark.hadoop.hive.metastore.sasl.enabled", "spark.hive.metastore.sasl.enabled")
_METASTORE_PRINCIPAL = ("spark.hadoop.hive.metastore.kerberos.principal", "spark.hive.metastore.kerberos.principal")

# Settings of a REST catalog that have the same meaning in Spark and PyIceberg. snapshot-loading-mode is excluded,
# because a history needs all snapshots.
_REST_SETTINGS = (
    "uri",
    "warehouse",
    "prefix",
    "token",
    "credential",
    "scope",
    "audience",
    "resource",
    "oauth2-server-uri",
    "rest.sigv4-enabled",
    "rest.signing-region",
    "rest.signing-name",
)
_DELEGATION, _VENDED = "header.X-Iceberg-Access-Delegation", "vended-credentials"
_GLUE_SETTINGS = {
    "client.region": "glue.region",
    "glue.id": "glue.id",
    "glue.endpoint": "glue.endpoint",
    "client.assume-role.arn": "client.role-arn",
    "client.assume-role.session-name": "client.role-session-name",
}


@dataclass(frozen=True)
class CatalogProperties:
    """A catalog with PyIceberg's properties, which may contain credentials.

    The type ``hadoop`` is specific to this package.
    """

    catalog: str
    properties: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Unmapped:
    """A catalog that cannot be configured for PyIceberg. The reason is text that follows 'because'."""

    catalog: str
    reason: str


class _CannotMapError(Exception):
    """An error whose text is the reason."""


def map_catalog(name: str, spark_settings: Mapping[str, str]) -> CatalogProperties | Unmapped:
    """PyIceberg's properties of a catalog in a Spark session. ``spark_settings``: the settings by full name."""
    settings = _with_delegation(settings_of(name, spark_settings))
    try:
        kind = _kind(spark_settings.get(f"{_PREFIX}{name}"), settings)
        if hidden := sorted(key for key, value in settings.items() if is_redacted(value)):
            raise _CannotMapError(f"Spark does not show its {', '.join(hidden)}")
        properties = _MAPPERS[kind](settings, spark_settings)
    except (_CannotMapError, UnmappableUri) as reason:
        return Unmapped(name, str(reason))
    return CatalogProperties(name, {**file_properties(settings, spark_settings), **properties})


def settings_of(name: str, spark_settings: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings of a catalog, without their common prefix."""
    prefix = f"{_PREFIX}{name}."
    return {key.removeprefix(prefix): value for key, value in spark_settings.items() if key.startswith(prefix)}


def _with_delegation(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with the header that requests credentials from a REST catalog, if Spark hides its value.

    SQL's SET hides it because it contains the word "credential".
    """
    return {key: _VENDED if is_redacted(value) and _is_delegation(key) else value for key, value in settings.items()}


def _is_delegation(key: str) -> bool:
    return key.lower() == _DELEGATION.lower()


def kind_of(settings: Mapping[str, str]) -> str:
    """The type of a catalog from Spark's settings, such as ``rest``. For a foreign class, the class name."""
    implementation = settings.get("catalog-impl")
    if implementation is None:
        return settings.get("type", "hive").lower()  # Iceberg's default
    return _TYPE_OF_IMPLEMENTATION.get(implementation, implementation)


def _kind(spark_class: str | None, settings: Mapping[str, str]) -> str:
    if spark_class is None:
        raise _CannotMapError("Spark's settings do not contain this catalog")
    if spark_class not in _SPARK_CATALOGS:
        raise _CannotMapError(f"its class is {spark_class}, which is not Iceberg's")
    kind = kind_of(settings)
    if kind not in _MAPPERS:
        raise _CannotMapError(f"PyIceberg does not support {kind}")
    if spark_class == _SESSION_CATALOG and kind not in _WITH_OTHER_FORMATS:
        raise _CannotMapError(f"a table that is not in its {kind} catalog may be one of Spark's own, of another format")
    return kind


def _jdbc(settings: Mapping[str, str], _: Mapping[str, str]) -> dict[str, Any]:
    parameters = {key.removeprefix("jdbc."): value for key, value in settings.items() if key.startswith("jdbc.")}
    return {"type": "sql", "uri": sqlalchemy_uri(_required(settings, "uri"), parameters)}


def _rest(settings: Mapping[str, str], _: Mapping[str, str]) -> dict[str, Any]:
    _required(settings, "uri")
    properties: dict[str, Any] = {key: settings[key] for key in _REST_SETTINGS if key in settings}
    properties |= {key: value for key, value in settings.items() if key.startswith("header.")}
    if not any(map(_is_delegation, settings)):
        properties[_DELEGATION] = ""  # by default, PyIceberg requests credentials, and Spark does not
    match settings.get("rest.auth.type", "oauth2").lower():
        case "none" | "oauth2":
            pass
        case "sigv4":
            properties["rest.sigv4-enabled"] = "true"
        case "basic":
            login = {key: settings.get(f"rest.auth.basic.{key}", "") for key in ("username", "password")}
            properties["auth"] = {"type": "basic", "basic": login}
        case other:
            raise _CannotMapError(f"PyIceberg does not support rest.auth.type {other}")
    return {"type": "rest", **properties}


def _hive(settings: Mapping[str, str], spark_settings: Mapping[str, str]) -> dict[str, Any]:
    uri = settings.get("uri") or _first(spark_settings, _METASTORE_URIS)
    if not uri:
        raise _CannotMapError("neither its uri nor hive.metastore.uris is among Spark's settings")
    properties = {"type": "hive", "uri": uri}
    if (_first(spark_settings, _METASTORE_SASL) or "").lower() == "true":
        principal = _first(spark_settings, _METASTORE_PRINCIPAL) or "hive"
        properties |= {
            "hive.kerberos-authentication": "true",
            "hive.kerberos-service-name": principal.partition("/")[0],
        }
    return properties


def _glue(settings: Mapping[str, str], _: Mapping[str, str]) -> dict[str, Any]:
    return {"type": "glue", **{_GLUE_SETTINGS[key]: settings[key] for key in _GLUE_SETTINGS if key in settings}}


def _hadoop(settings: Mapping[str, str], spark_settings: Mapping[str, str]) -> dict[str, Any]:
    return {"type": "hadoop", "warehouse": with_default_scheme(_required(settings, "warehouse"), spark_settings)}


_MAPPERS: Mapping[str, Callable[[Mapping[str, str], Mapping[str, str]], dict[str, Any]]] = {
    "jdbc": _jdbc,
    "rest": _rest,
    "hive": _hive,
    "glue": _glue,
    "hadoop": _hadoop,
}


def _required(settings: Mapping[str, str], key: str) -> str:
    if not (value := settings.get(key)):
        raise _CannotMapError(f"its {key} is not set")
    return value


def _first(settings: Mapping[str, str], keys: tuple[str, ...]) -> str | None:
    return next((settings[key] for key in keys if key in settings), None)
