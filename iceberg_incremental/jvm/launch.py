"""Starts Spark's JVM, and connects PySpark to it."""

from __future__ import annotations

import atexit
import logging
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from ..errors import IncrementalError
from . import jars, java
from .archive import Archive, archive_of
from .command import environment, spark_command

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark.sql import SparkSession


_INTERVAL = 0.02
"""The interval in seconds at which to look for the JVM's port."""
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"

_lock = threading.Lock()
_to_make: dict[Path, tuple[Archive, str]] = {}
"""The archives to make after this process, and the first entries of their class paths."""


class JvmEndedError(IncrementalError):
    """The JVM ended before it was ready. Its output shows why."""


@dataclass(frozen=True)
class Jvm:
    """A JVM that waits for PySpark's calls."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str

    def end(self) -> int:
        """End the JVM as Spark does when its Python process ends, wait for it, and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait()


class Log(Protocol):
    """Where lines about the start are reported."""

    def debug(self, line: str, /) -> None:
        """Report a line that explains what is as usual."""

    def info(self, line: str, /) -> None:
        """Report a line for the user."""


def local_spark(settings: Mapping[str, str]) -> SparkSession:
    """A SparkSession in this process, whose JVM starts from a class data archive. ``settings``: Spark's settings.

    A Spark that runs already is used, as by ``SparkSession.builder.getOrCreate()``. Raises IncrementalError if there is
    no suitable Java, or if the JVM does not start.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        placed = jars.in_place(settings, {}, os.environ)
        gateway = open_gateway(placed, None, logging.getLogger("iceberg_incremental"))
        SparkContext(conf=SparkConf().setAll(list(placed.items())), gateway=gateway)
    return SparkSession.builder.config(map=dict(settings)).getOrCreate()


def open_gateway(settings: Mapping[str, str], output: IO[bytes] | None, log: Log) -> JavaGateway:
    """Start Spark's JVM with its settings, and connect PySpark to it.

    ``output``: a file for the output of the JVM; None for that of this process. The JVM ends with this process.
    Raises IncrementalError.
    """
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    if _PORT in os.environ:
        return launch_gateway()  # type: ignore[no-untyped-call]
    found, rejected = java.find()
    report = log.info if rejected else log.debug
    report("; ".join([*rejected, f"Spark runs on {found}"]))
    if _by_pyspark(os.environ):
        os.environ["JAVA_HOME"] = str(found.home)
        kwargs = {} if output is None else {"stdout": output, "stderr": output}
        gateway: JavaGateway = launch_gateway(SparkConf().setAll(list(settings.items())), kwargs)  # type: ignore[no-untyped-call]
        return gateway
    command = spark_command(found, spark_home(), settings)
    archive = archive_of(found, command)
    jvm = _started(command, archive, output, log)
    if archive is not None and not archive.exists:
        _make_at_exit(archive, settings.get(jars.CLASS_PATH, ""), log)
    return connect(jvm)


def connect(jvm: Jvm) -> JavaGateway:
    """Connect PySpark to a JVM."""
    from pyspark.java_gateway import launch_gateway

    with _lock:
        os.environ |= {_PORT: str(jvm.port), _SECRET: jvm.secret}
        try:
            gateway: JavaGateway = launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            del os.environ[_PORT], os.environ[_SECRET]
    gateway.proc = jvm.process
    return gateway


def start(command: Sequence[str], folder: Path, output: IO[bytes] | None) -> Jvm:
    """Start a JVM by Spark's command, and wait until it is ready. ``folder``: an empty one for the connection's data.

    Raises JvmEndedError.
    """
    info = folder / "connection"
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,  # the JVM ends when this pipe is closed, which happens at the latest with this process
        stdout=output,
        stderr=output,
        env={**environment(spark_home()), "_PYSPARK_DRIVER_CONN_INFO_PATH": str(info)},
        start_new_session=True,  # Ctrl-C must not end the JVM before this process has cancelled its statements
    )
    while not info.exists():
        if process.poll() is not None:
            raise JvmEndedError(f"Spark's JVM ended with the exit code {process.returncode}")
        time.sleep(_INTERVAL)
    content = info.read_bytes()
    port, length = struct.unpack_from("!ii", content)
    return Jvm(process, port, content[8 : 8 + length].decode())


def spark_home() -> Path:
    """The folder of the installed PySpark."""
    import pyspark

    return Path(pyspark.__file__).parent


def _by_pyspark(environment: Mapping[str, str]) -> bool:
    """Whether Spark's shell scripts must start the JVM: those of another Spark, or with the user's own script."""
    named = ("SPARK_HOME", "PYSPARK_SUBMIT_ARGS")
    confs = Path(environment.get("SPARK_CONF_DIR") or spark_home() / "conf")
    return os.name != "posix" or any(name in environment for name in named) or (confs / "spark-env.sh").exists()


def _started(command: list[str], archive: Archive | None, output: IO[bytes] | None, log: Log) -> Jvm:
    """Start a JVM, with the archive if it exists. An archive that the JVM refuses is removed."""
    with tempfile.TemporaryDirectory(prefix="spark-") as name:
        folder = Path(name)
        if archive is None or not archive.exists:
            return start(command, folder, output)
        warnings = folder / "archive.log"
        try:
            jvm = start([command[0], *archive.in_use(warnings), *command[1:]], folder, output)
            refused = warnings.read_text(encoding="utf-8", errors="replace").strip() if warnings.exists() else ""
        except JvmEndedError as error:  # a damaged archive can end the JVM
            jvm = start(command, folder, output)
            refused = str(error)
        if refused:
            archive.discard()
            reason = refused.partition("\n")[0]
            log.info(f"Spark starts slowly, since Java refuses the class data archive {archive.file}: {reason}")
        return jvm


def _make_at_exit(archive: Archive, class_path: str, log: Log) -> None:
    """Let another process make an archive after this one, if nothing prevents it."""
    if hindrance := archive.hindrance():
        log.info(f"Spark starts slowly, since it has no class data archive: {hindrance}")
        return
    if not _to_make:
        atexit.register(_make_in_background)
    _to_make[archive.file] = archive, class_path
    log.info(f"Later starts of Spark will be faster: after this run, a background process writes {archive.file}")


def _make_in_background() -> None:
    """Start processes of low priority that make archives, and that outlive this process."""
    for archive, first in _to_make.values():
        with suppress(OSError):
            subprocess.Popen(
                [sys.executable, "-m", "iceberg_incremental.jvm.training", first],
                env={**os.environ, "JAVA_HOME": str(archive.java.home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
