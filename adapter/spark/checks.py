"""The requirements of the adapter for Spark and Iceberg. Each failed check raises an error with a fix."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_common.exceptions import DbtRuntimeError

from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.jvm.launch import JvmEndedError
from iceberg_incremental.spark.java import exists, java_class

from ..as_dbt import dbt_error, of_dbt
from ..profile.lakehouse import CATALOG_CLASS, EXTENSIONS, RUNTIMES, minor_version, named_runtimes, names_jars, packages
from .messages import describe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_SPARK = (4, 0)
OLDEST_CONNECT_CLIENT = (4, 1)
_CATALOG_KEY = re.compile(r"^spark\.sql\.catalog\.([^.]+)$")
SESSION_CATALOG = "spark_catalog"
_EXTENSIONS = "spark.sql.extensions"
# The settings of Spark's own Thrift server and of Kyuubi, which adds a prefix to its settings in Spark.
_SINGLE_SESSION = ("spark.sql.hive.thriftServer.singleSession", "spark.kyuubi.engine.single.spark.session")
ICEBERG_CLASSES = "org.apache.iceberg.spark."
START_MARK = "dbt starts Spark"
"""The text in Spark's log that marks each start."""

# Patterns for the lines of output that show why the JVM or Spark's launcher ended, and the fixes.
_REASON = re.compile(
    r"^(Error|Exception|Caused by|Invalid|Could not|Unrecognized)\b|unresolved dep|heap size", re.IGNORECASE
)
_AFTER_REASON = ("Error: Could not create the Java Virtual Machine", "Error: A fatal exception has occurred")
_MOST_REASONS = 3
_REMEDIES = {
    "heap": "Set `spark.driver.memory` in the profile's server_side_parameters to an amount that fits, for example 2g.",
    "unresolved dependency": "The jars are from Maven Central. Check that it is reachable and has these versions, "
    "or set a mirror as `spark.jars.repositories` in server_side_parameters.",
}


def no_python(model: str, method: str) -> DbtRuntimeError:
    """The error for a Python model on a connection that only sends SQL to a server."""
    return dbt_error(
        f"{model} is a Python model, which `method: {method}` does not support.",
        expected="a connection with a Spark session that runs the code: `method: session` or `connect`.",
        found=f"`method: {method}`, which only sends SQL.",
        fix="write the model in SQL, or use a target with one of these methods.",
    )


def require_function_catalog(catalog: str, function: str) -> None:
    """Raise DbtRuntimeError for a function in an Iceberg catalog."""
    if catalog != SESSION_CATALOG:
        raise dbt_error(
            f"{function} would be created in the catalog `{catalog}`.",
            expected=f"`{SESSION_CATALOG}`, since Iceberg catalogs have tables and views, but no functions.",
            fix=f"set `+database: {SESSION_CATALOG}` under `functions:` in dbt_project.yml (functions persist only if "
            "spark_catalog uses a Hive metastore); or write a macro instead of the function.",
        )


def no_function_parameters(function: str) -> DbtRuntimeError:
    """The error for a function with arguments, which Iceberg's SQL extensions up to version 1.12 cannot parse."""
    return dbt_error(
        f"{function} has arguments, which Iceberg's SQL extensions cannot parse.",
        expected="a function without arguments, or a later version of the Iceberg runtime.",
        found="an UnsupportedOperationException from their parser.",
        fix="write a macro instead of the function.",
    )


def no_grants(relation: str) -> DbtRuntimeError:
    """The error for the config ``grants`` if Spark has no GRANT statement, like open-source Spark."""
    return dbt_error(
        f"{relation} was built, but its `grants` were not applied.",
        expected="the statements GRANT and SHOW GRANTS, from an extension or a service that checks privileges.",
        found="Spark cannot parse SHOW GRANTS.",
        fix="remove the config `grants`, or set it only for targets that support it. Manage privileges in the catalog.",
    )


def require_pyspark() -> str:
    """The version of PySpark. Raises DbtRuntimeError unless a supported version is installed."""
    version = _full_pyspark()
    if version is None:
        try:
            import pyspark

            version = pyspark.__version__
        except ImportError as error:
            raise DbtRuntimeError(
                "`method: session` needs PySpark, which is not installed. "
                "Install it: pip install 'dbt-spark-iceberg[session]'"
            ) from error
    require_spark(version)
    return version


def require_connect() -> None:
    """Raise DbtRuntimeError unless Spark's Connect client and its dependencies are installed."""
    try:
        import pyspark.sql.connect.client
    except ImportError as error:
        raise DbtRuntimeError(
            f"`method: connect` needs Spark's Connect client, which cannot be imported: {describe(error)}\n"
            f"Install it: pip install '{'pyspark[connect]' if _full_pyspark() else 'dbt-spark-iceberg[connect]'}'"
        ) from error
    import pyspark

    require_connect_client(pyspark.__version__)


def _full_pyspark() -> str | None:
    """The version of the full PySpark. None if it is not installed. Spark's thin client would overwrite its files."""
    try:
        return importlib.metadata.version("pyspark")
    except importlib.metadata.PackageNotFoundError:
        return None


def require_connect_client(version: str) -> None:
    """Raise DbtRuntimeError for a Connect client without gRPC status codes, which are needed to classify errors."""
    oldest = ".".join(map(str, OLDEST_CONNECT_CLIENT))
    if _numbers(minor_version(version)) < OLDEST_CONNECT_CLIENT:
        raise dbt_error(
            "Spark's Connect client is too old for `method: connect`.",
            expected=f"{oldest} or later; the server may be older.",
            found=f"{version}.",
            fix=f"pip install 'pyspark-client>={oldest},<4.2', or, if PySpark is installed, pip install "
            f"'pyspark[connect]>={oldest},<4.2'.",
        )


def require_spark(version: str) -> None:
    """Raise DbtRuntimeError if a Spark version such as ``3.5.1`` is too old."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found and (int(found[1]), int(found[2])) < OLDEST_SPARK:
        oldest = ".".join(map(str, OLDEST_SPARK))
        raise DbtRuntimeError(
            f"Spark {version} is too old: dbt-spark-iceberg needs Spark {oldest} or later. "
            "Upgrade Spark (with `method: session`: pip install 'pyspark>=4.0')."
        )


def require_runtime(version: str, own: Mapping[str, str], *, embedded: bool) -> None:
    """Raise DbtRuntimeError if Spark would start with a wrong Iceberg runtime, or without a required one.

    ``own``: the user's settings. ``embedded``: whether the embedded lakehouse requires a runtime. Each runtime supports
    only one minor version of Spark.
    """
    minor, named = minor_version(version), named_runtimes(own)
    if named and minor not in named:
        known = f'set spark.jars.packages: "{packages(version)}"; or ' if minor in RUNTIMES else ""
        raise dbt_error(
            f"The Iceberg runtime in server_side_parameters is not for Spark {version}.",
            expected=f"iceberg-spark-runtime-{minor}_2.13.",
            found=f"iceberg-spark-runtime-{named[0]}_2.13.",
            fix=f"{known}install the matching Spark: pip install 'pyspark=={named[0]}.*'.",
        )
    if embedded and minor not in RUNTIMES and not names_jars(own):
        raise no_runtime(version)


def no_runtime(version: str) -> DbtRuntimeError:
    """The error for a Spark version without an Iceberg runtime."""
    last = max(RUNTIMES, key=_numbers)
    major, minor = _numbers(last)
    return dbt_error(
        f"There is no Iceberg runtime for Spark {version} yet.",
        expected=f"Spark {' or '.join(RUNTIMES)}.",
        found=f"Spark {version}.",
        fix=f"pip install 'pyspark>={min(RUNTIMES, key=_numbers)},<{major}.{minor + 1}'. If Iceberg has released a "
        f"runtime for Spark {minor_version(version)} since, set it in the profile's server_side_parameters:\n"
        f'    spark.jars.packages: "{packages(version, "<version>")}"',
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def make_warehouse(folder: Path | None) -> None:
    """Create the folder of the embedded lakehouse, if there is one. Raises DbtRuntimeError if this fails."""
    if folder is None:
        return
    fix = "Set `warehouse` in the profile to a folder that can be created or written to."
    if folder.exists() and not folder.is_dir():
        raise DbtRuntimeError(f"`warehouse` is {folder}, which is a file: expected a folder. {fix}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DbtRuntimeError(f"`warehouse` is {folder}, which cannot be created: {error.strerror}. {fix}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DbtRuntimeError(f"`warehouse` is {folder}, which cannot be written to. {fix}")


def reasons(log: Path) -> list[str]:
    """The lines in Spark's log that show why the last start failed."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.rpartition(START_MARK)[2].splitlines()]
    return [line for line in lines if _REASON.search(line) and not line.startswith(_AFTER_REASON)][:_MOST_REASONS]


def start_error(error: Exception, log: Path | None) -> DbtRuntimeError:
    """The error for a Spark that did not start. ``log``: the file with the JVM's output, if there is one."""
    found = reasons(log) if log is not None and log.exists() else []
    seen = "".join(f"\n  {line}" for line in found)
    seen += "".join(f"\n{fix}" for word, fix in _REMEDIES.items() if any(word in line for line in found))
    seen += f"\nSpark's whole output is in {log}." if log is not None else ""
    condition = getattr(error, "getCondition", lambda: None)()
    if condition == "JAVA_GATEWAY_EXITED" or isinstance(error, JvmEndedError):
        return DbtRuntimeError(f"Spark's JVM ended before it was ready.{seen}")
    if isinstance(error, IncrementalError):
        return of_dbt(error)
    return DbtRuntimeError(f"Spark did not start: {describe(error)}{seen}")


def require_iceberg(session: SparkSession) -> None:
    """Raise DbtRuntimeError unless the Iceberg runtime is on the classpath and its SQL extension is enabled."""
    require_spark(version := session.version)
    if not exists(java_class(session, "org.apache.iceberg.IcebergBuild")):
        if minor_version(version) not in RUNTIMES:
            raise no_runtime(version)
        iceberg = packages(version).split(",")[0]
        raise DbtRuntimeError(
            f"Spark {version} has no Iceberg runtime on its classpath. Add to the profile's server_side_parameters:\n"
            f'  spark.jars.packages: "{iceberg}"\n'
            "or set the path of the jar as `spark.jars`. A Spark process keeps the jars that it was started with."
        )
    require_extension({_EXTENSIONS: session.conf.get(_EXTENSIONS, "") or ""}, "Add it to server_side_parameters")


def require_extension(settings: Mapping[str, str], fix: str = "Start the server with this setting") -> None:
    """Raise DbtRuntimeError unless Iceberg's SQL extension is among the Spark settings."""
    if EXTENSIONS not in settings.get(_EXTENSIONS, ""):
        raise DbtRuntimeError(f'Iceberg\'s SQL extension is not enabled. {fix}:\n  {_EXTENSIONS}: "{EXTENSIONS}"')


def require_own_sessions(settings: Mapping[str, str]) -> None:
    """Raise DbtRuntimeError if a server shares one session between all connections.

    A run sets properties for its next commit, and creates temporary views, which would then affect all dbt threads.
    """
    if single := [key for key in _SINGLE_SESSION if settings.get(key, "false").lower() == "true"]:
        raise dbt_error(
            "The Spark server shares one session between all connections. The settings and temporary views of one "
            "model would affect the commits of another.",
            expected="a session for each connection, which is Spark's default.",
            found=f"{single[0]}=true.",
            fix="start the server without this setting. If clients share temporary views, create them as global ones.",
        )


def catalogs(settings: Mapping[str, str]) -> dict[str, str]:
    """The catalogs that Spark's settings configure: their classes by name."""
    return {found[1]: value for key, value in settings.items() if (found := _CATALOG_KEY.match(key))}


def unreachable(catalog: str, reason: str) -> DbtRuntimeError:
    """The error for a configured catalog that is unreachable."""
    return DbtRuntimeError(
        f"The catalog `{catalog}` is unreachable: {reason}\n"
        f"Spark is running, and the catalog is configured. Check that the service at spark.sql.catalog.{catalog}.uri "
        "is running and accepts this user."
    )


def refused_setting(key: str, reason: str) -> DbtRuntimeError:
    """The error for a setting with a value that Spark rejects. The value is omitted, because it may be a secret."""
    return dbt_error(
        f"Spark rejects the value of {key} in the profile's server_side_parameters.",
        found=reason,
        fix="correct the value in profiles.yml.",
    )


def require_catalog(catalog: str, settings: Mapping[str, str]) -> None:
    """Raise DbtRuntimeError unless the Spark settings configure a catalog."""
    configured = catalogs(settings)
    if catalog in configured:
        return
    known = ", ".join(f"`{name}`" for name in sorted(configured)) or "none"
    if catalog == SESSION_CATALOG:
        wanted, fix = "not an Iceberg catalog", "org.apache.iceberg.spark.SparkSessionCatalog"
    else:
        wanted, fix = "not configured in Spark", CATALOG_CLASS
    raise DbtRuntimeError(
        f"The catalog `{catalog}` is {wanted}. Configured catalogs: {known}. Set `catalog` in the profile, or "
        "`database` of the model or source, to one of these; or configure the catalog in the profile's "
        "server_side_parameters, for example:\n"
        f'  spark.sql.catalog.{catalog}: "{fix}"\n'
        f"  spark.sql.catalog.{catalog}.type: rest\n"
        f"  spark.sql.catalog.{catalog}.uri: ..."
    )
