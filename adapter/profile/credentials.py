"""The profile: the fields of dbt-spark, and additional fields for Spark Connect and Iceberg."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from dbt.adapters.spark.connections import SparkCredentials
from dbt_common.dataclass_schema import StrEnum, ValidationError
from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.secrets import mask
from iceberg_incremental.spelling import near_misses

from ..as_dbt import dbt_error
from . import lakehouse
from .remote import PORT as CONNECT_PORT
from .remote import Remote

ANSI = "spark.sql.ansi.enabled"
# The fields that dbt itself reads from a target, and its aliases for fields of dbt-spark.
_OF_DBT = ("type", "threads", "target", "name", "pass", "dbname", "username")

# The start of a URL. A single letter before the colon is a drive on Windows.
_URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]+:/")

# Fields that Spark's connection string also contains.
_IN_REMOTE = {"host", "port", "token", "use_ssl", "user"}

# The types in JSON Schema, as terms for YAML values.
_KINDS = {
    "string": "text (in quotes, if it looks like a number)",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
}


class Method(StrEnum):
    """The connection methods: those of dbt-spark, and Spark Connect."""

    THRIFT = "thrift"
    HTTP = "http"
    ODBC = "odbc"
    SESSION = "session"
    CONNECT = "connect"


class MetadataReaderMode(StrEnum):
    """How table metadata is read."""

    AUTO = "auto"
    PYICEBERG = "pyiceberg"
    SPARK = "spark"


@dataclass
class SparkIcebergCredentials(SparkCredentials):
    """A profile of type ``spark_iceberg``.

    ``catalog``: dbt's ``database``, a Spark catalog. ``warehouse``: with ``method: session``, the folder of the
    embedded lakehouse; a relative path starts at the folder of the dbt project. ``remote``: with ``method: connect``,
    Spark's connection string, instead of ``host``, ``port``, ``token``, ``use_ssl`` and ``user``. ``session_factory``:
    with ``method: session`` or ``connect``, a Python function that returns the session, as ``package.module:function``.
    ``pyiceberg``: PyIceberg's properties by catalog, if they cannot be derived from Spark's settings.
    """

    _ALIASES: ClassVar[dict[str, str]] = {"catalog": "database"}

    method: Method = Method.SESSION  # type: ignore[assignment]
    # YAML may also contain numbers and booleans, which are converted to text.
    server_side_parameters: dict[str, Any] = field(default_factory=dict)
    # Seconds. dbt-spark's default of 5 would delay every statement that does not end immediately.
    poll_interval: float = 0.2  # type: ignore[assignment]
    # dbt-spark sends a statement again if the connection is lost while it runs. An INSERT could run twice.
    query_retries: int = 0
    warehouse: str | None = None
    remote: str | None = None
    session_factory: str | None = None
    metadata_reader: MetadataReaderMode = MetadataReaderMode.AUTO
    pyiceberg: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def validate(cls, data: Any) -> None:
        """Raise ValidationError for an invalid value. Unlike dbt's, the error names the field.

        A value of a wrong type is not shown, because it may be a secret.
        """
        try:
            super().validate(data)
        except ValidationError as error:
            if not error.path:
                raise
            name = ".".join(map(str, error.path))
            if error.validator == "enum":
                wrong = f"is {error.instance!r}: expected one of {', '.join(map(repr, error.validator_value))}"
            else:
                kinds = [each.get("type") for each in error.schema.get("anyOf", [error.schema])]
                expected = " or ".join(_KINDS[kind] for kind in kinds if kind in _KINDS)
                wrong = f"is of type {type(error.instance).__name__}: expected {expected}"
            raise ValidationError(f"`{name}` {wrong}. Correct it in profiles.yml.") from error

    @classmethod
    def __pre_deserialize__(cls, data: Any) -> Any:
        """Add the fields that only dbt-spark's profile requires, and raise an error for misspelled fields."""
        ours = {each.name for each in fields(cls) if not each.name.startswith("_")} | cls._ALIASES.keys()
        if wrong := near_misses(data, ours | {"threads"}, _OF_DBT):
            lines = (f"  - `{name}`: did you mean `{meant}`?" for name, meant in wrong.items())
            listing = "\n".join(lines)
            raise DbtRuntimeError(f"The profile has unknown fields:\n{listing}")
        _require_method(data)
        _require_one_session(data)
        if data.get("method") == Method.CONNECT:
            if data.get("remote") and (twice := sorted(_IN_REMOTE & data.keys())):
                raise DbtRuntimeError(
                    f"The profile has `remote` together with {_names(twice)}: expected one or the other. "
                    "`remote` contains all of these values: sc://host:port/;use_ssl=true;token=…;user_id=…"
                )
            data = {"port": CONNECT_PORT, **data}
        return super().__pre_deserialize__({"method": "session", **data})

    def __post_init__(self) -> None:
        """Check the profile. dbt-spark's own checks run without the fields that they do not support."""
        if self.schema is None:
            raise DbtRuntimeError(
                "The profile has no `schema`. Add the schema that dbt builds in, for example `schema: analytics`."
            )
        self._require_levels(self.schema)
        self.catalogs_known = False
        # A profile does not know its project. The adapter sets this folder.
        self.project_folder = Path.cwd()
        session = self.method == Method.SESSION
        if self.warehouse is not None and not session:
            raise DbtRuntimeError(
                "`warehouse` is for the embedded lakehouse, which needs `method: session`, but "
                f"the profile has `method: {self.method}`. "
                "Remove `warehouse`, and set `catalog` to the server's catalog."
            )
        self._require_folder()
        self._take_remote()
        self._require_host()
        if not session and self.host is None and self.session_factory is None:
            other = ", or set `remote` to Spark's connection string" if self.method == Method.CONNECT else ""
            raise DbtRuntimeError(
                f"`method: {self.method}` needs a `host`. Add the host name of the Spark server{other}."
            )

        self.server_side_parameters = {
            key: str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in self.server_side_parameters.items()
        }
        catalog, host = self._catalog(), self.host
        ansi = self.server_side_parameters.get(ANSI)
        self.database, self.host = None, host or "localhost"
        try:
            super().__post_init__()
        except DbtRuntimeError as error:
            # The error names an extra of dbt-spark. This package has extras with the same names.
            raise DbtRuntimeError(error.msg.replace("dbt-spark[", "dbt-spark-iceberg[")) from error.__cause__
        self.database = catalog
        self._require_other_catalog()
        if session:
            self.host = host
        if ansi is not None:
            self.server_side_parameters[ANSI] = ansi
        if not self.has_own_session:
            # A server's session opens its catalogs when it connects, so a later SET would have no effect.
            self.server_side_parameters.setdefault(f"spark.sql.catalog.{catalog}.cache-enabled", "false")

    def _require_levels(self, schema: str) -> None:
        """Raise DbtRuntimeError for a schema with a level without a name, or one that begins with the catalog."""
        levels = schema.split(".")
        if not all(level.strip() for level in levels) or (levels[1:] and levels[0] == self._catalog()):
            raise DbtRuntimeError(
                f"`schema` is {schema!r}: expected only the name of a schema, such as analytics, or the levels of a "
                "namespace, such as analytics.daily. Set the catalog with `catalog`."
            )

    def _require_folder(self) -> None:
        """Raise DbtRuntimeError unless ``warehouse`` is a path. A URL would become a folder named ``s3:``."""
        if self.warehouse is not None and (not self.warehouse.strip() or _URL.match(self.warehouse)):
            raise DbtRuntimeError(
                f"`warehouse` is {mask(self.warehouse)!r}: expected the path of a folder on this machine, such as "
                "./lakehouse, for the catalog's SQLite file and the tables. For tables in object storage, remove "
                "`warehouse`, and configure your own catalog in server_side_parameters."
            )

    def _require_other_catalog(self) -> None:
        """Raise DbtRuntimeError if the embedded lakehouse has the name of Spark's own catalog."""
        if self.catalog_file is not None and self.catalog.lower() == "spark_catalog":
            raise dbt_error(
                f"`catalog` is {self.catalog!r}, and `warehouse` is set.",
                expected="a name of its own for the catalog of the embedded lakehouse, since Spark has a catalog with "
                "this name already.",
                fix=f"set another name, such as `catalog: {lakehouse.DEFAULT_CATALOG}`, or remove `catalog`.",
            )

    def _take_remote(self) -> None:
        """Set ``host`` and the other fields from ``remote``."""
        if self.remote is None:
            return
        if self.method != Method.CONNECT:
            raise DbtRuntimeError(
                f"`remote` needs `method: connect`, but the profile has `method: {self.method}`. "
                "Remove `remote`, or set `method: connect`."
            )
        server = Remote.parse(self.remote)
        self.host, self.port, self.use_ssl = server.host, server.port, server.use_ssl
        self.token, self.user = server.token, server.user

    def _require_host(self) -> None:
        """Raise DbtRuntimeError unless ``host`` is a name or address, for a Spark Connect server."""
        host = self.host or ""
        with_port = host.count(":") == 1  # an IPv6 address has more
        if self.method == Method.CONNECT and (with_port or "/" in host):
            raise DbtRuntimeError(
                f"`host` is {mask(host)!r}: expected only the name or address of the server, such as "
                "spark.example.com, without a scheme, port or path. Set `port` and `use_ssl` separately, or set "
                "`remote` to Spark's connection string, sc://…."
            )

    def _catalog(self) -> str:
        if self.database:
            if "." in self.database:
                raise DbtRuntimeError(
                    f"`catalog` is {self.database!r}: expected only the name of a catalog, without dots, as in "
                    "spark.sql.catalog.<name>. Set the schema with `schema`."
                )
            return self.database
        if self.warehouse is not None:
            return lakehouse.DEFAULT_CATALOG
        fix = "Add the Spark catalog that dbt builds in, for example `catalog: lake`"
        if self.method == Method.SESSION:
            fix += ", or use the embedded lakehouse with `warehouse: ./lakehouse`"
        raise DbtRuntimeError(f"The profile has no `catalog`. {fix}.")

    @property
    def type(self) -> str:
        """The adapter's type in a profile."""
        return "spark_iceberg"

    @property
    def unique_field(self) -> str:
        """The value that identifies an installation in dbt's anonymous usage statistics."""
        return self.host or self.warehouse or str(self.database)

    @property
    def catalog(self) -> str:
        """The Spark catalog that dbt builds in: dbt's ``database``."""
        return str(self.database)

    @property
    def has_own_session(self) -> bool:
        """Whether each connection has a PySpark session instead of only a cursor."""
        return self.method in (Method.SESSION, Method.CONNECT)

    @property
    def remote_server(self) -> Remote:
        """The Spark Connect server."""
        headers = Remote.parse(self.remote).headers if self.remote else {}
        return Remote(str(self.host), self.port, self.use_ssl, self.token or None, self.user or None, headers)

    @property
    def folder(self) -> Path | None:
        """The embedded lakehouse's folder as an absolute path, or None if there is none.

        A relative ``warehouse`` starts at ``project_folder``.
        """
        return None if self.warehouse is None else self.project_folder / Path(self.warehouse).expanduser()

    @property
    def catalog_file(self) -> Path | None:
        """The embedded lakehouse's SQLite file; None if the catalog is elsewhere."""
        elsewhere = {f"spark.sql.catalog.{self.catalog}{key}" for key in ("", ".type", ".catalog-impl", ".uri")}
        if self.folder is None or elsewhere & self.server_side_parameters.keys():
            return None
        return self.folder / lakehouse.CATALOG_FILE

    def spark_confs(self, spark_version: str) -> Mapping[str, str]:
        """The Spark settings of the profile, including those of the embedded lakehouse."""
        own = self.server_side_parameters
        if self.folder is None:
            return own
        return lakehouse.spark_confs(self.folder, self.catalog, spark_version, own)

    def _connection_keys(self) -> tuple[str, ...]:
        """The fields for `dbt debug` and for the variable `target` in Jinja: fields that are set and not secret."""
        keys = (
            "method",
            "session_factory",
            "host",
            "port",
            "database",
            "schema",
            "warehouse",
            "cluster",
            "endpoint",
            "organization",
            "use_ssl",
            "metadata_reader",
        )
        databricks = {"cluster", "endpoint", "organization"}
        hidden = {
            Method.SESSION: databricks | {"host", "port", "use_ssl"},
            Method.CONNECT: databricks | {"warehouse"},
        }.get(self.method, {"warehouse", "use_ssl"})
        if self.session_factory is not None:
            hidden = hidden | _IN_REMOTE
        return tuple(key for key in keys if key not in hidden and getattr(self, key) is not None)


def _require_method(data: Mapping[str, Any]) -> None:
    """Raise DbtRuntimeError for a profile with a server but without ``method``, whose default starts a local Spark.

    With an explicit ``method: session``, a host is accepted, because dbt-spark requires one.
    """
    given = [name for name in ("host", "port") if data.get(name) is not None]
    if data.get("method") is None and given:
        raise dbt_error(
            f"The profile has {_names(given)}, but no `method`.",
            expected="the method by which dbt connects to this server.",
            found="the default, `method: session`, which starts Spark on this machine and connects to no server.",
            fix="set `method: thrift` for a Thrift server or Kyuubi, `method: connect` for Spark Connect, or `method: "
            f"http`; or remove {_names(given)}.",
        )


def _require_one_session(data: Mapping[str, Any]) -> None:
    """Raise DbtRuntimeError for a profile with ``session_factory`` and with fields that describe another session."""
    if data.get("session_factory") is None:
        return
    method = data.get("method") or Method.SESSION
    if method not in (Method.SESSION, Method.CONNECT):
        raise dbt_error(
            f"The profile has `session_factory` and `method: {method}`.",
            expected="`method: connect` if the function returns a session of Spark Connect, or `method: session` if it "
            "returns a session with Spark's driver in this process.",
            fix="change `method`, or remove `session_factory`.",
        )
    others = _IN_REMOTE | {"remote", "warehouse"}
    if given := sorted(name for name in others if data.get(name) is not None):
        raise dbt_error(
            f"The profile has `session_factory` together with {_names(given)}.",
            expected="one or the other, because the function decides where Spark and its catalogs are.",
            fix=f"remove {_names(given)}, or remove `session_factory`.",
        )


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def project_folder(config: Any) -> Path:
    """The absolute path of the dbt project's folder. `dbt debug` passes a profile, which does not contain it."""
    from dbt.flags import get_flags

    root = getattr(config, "project_root", None) or getattr(get_flags(), "PROJECT_DIR", None)
    # Links are resolved, including that of the file. A scheduler may run dbt in a temporary folder of links to the
    # project's files, and a lakehouse in this folder would be lost.
    return (Path(root or ".").resolve() / "dbt_project.yml").resolve().parent
