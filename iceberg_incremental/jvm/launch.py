"""Starts Spark's JVM, and connects PySpark to it."""

from __future__ import annotations

import atexit
import json
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
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from ..errors import IncrementalError
from ..explain.java_errors import no_spark_home
from . import jars, java
from .archive import Archive, archive_of, refusal
from .command import environment, spark_command
from .java import Java
from .workload import Workload

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


_INTERVAL = 0.02
"""The interval in seconds at which to look for the JVM's port."""
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"

_lock = threading.Lock()
_starting = threading.Lock()
_to_make: dict[Path, Archive] = {}
"""The archives to make after this process."""


class JvmEndedError(IncrementalError):
    """The JVM ended before it was ready. Its output shows why."""


@dataclass(frozen=True)
class LaunchPlan:
    """How to start a JVM. ``archive``: the archive that it can use, or why it can use none."""

    command: list[str]
    archive: Archive | str


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
    with _starting:
        if active_context() is None:
            placed = jars.in_place(settings, os.environ)
            gateway = open_gateway(placed, None, logging.getLogger("iceberg_incremental"))
            from pyspark import SparkConf, SparkContext

            SparkContext(conf=SparkConf().setAll(list(placed.items())), gateway=gateway)
    from pyspark.sql import SparkSession

    return SparkSession.builder.config(map=dict(settings)).getOrCreate()


def active_context() -> SparkContext | None:
    """The SparkContext of this process. None if there is none."""
    context: SparkContext | None = _kept("_active_spark_context")
    return context


def _kept(name: str) -> Any:
    """What PySpark keeps for the process. None if nothing, or if PySpark, which takes long, is not imported yet."""
    return getattr(getattr(sys.modules.get("pyspark"), "SparkContext", None), name, None)


def open_gateway(
    settings: Mapping[str, str], output: IO[bytes] | None, log: Log, workload: Workload = Workload.LONG
) -> JavaGateway:
    """Start Spark's JVM with its settings, and connect PySpark to it. A JVM that this process has started is used.

    ``output``: a file for the output of the JVM; None for that of this process. The JVM ends with this process.
    Raises IncrementalError.
    """
    gateway: JavaGateway | None = _kept("_gateway")  # for all contexts of the process
    if gateway is not None:
        return gateway
    if _PORT in os.environ:
        return _launched_by_pyspark()
    require_spark_home(os.environ)
    other = other_start(os.environ)
    try:
        found, rejected = java.find()
    except IncrementalError:
        if other is None:
            raise
        found, rejected = None, []  # Spark's scripts may know one
    report = log.info if rejected else log.debug
    report("; ".join([*rejected, f"Spark runs on {found}"]))
    plan = None if found is None or other is not None else planned(found, settings, workload)
    reason = other if plan is None else plan.archive
    if isinstance(reason, str):
        log.info(f"Spark starts slowly, since it cannot use a class data archive: {reason}")
    if plan is None:
        os.environ.update({} if found is None else {"JAVA_HOME": str(found.home)})
        from pyspark import SparkConf

        kwargs = {} if output is None else {"stdout": output, "stderr": output}
        return _launched_by_pyspark(SparkConf().setAll(list(settings.items())), kwargs)
    return connect(_started(plan, output, log))


def _launched_by_pyspark(*arguments: object) -> JavaGateway:
    from pyspark.java_gateway import launch_gateway

    gateway: JavaGateway = launch_gateway(*arguments)  # type: ignore[no-untyped-call]
    return gateway


def planned(found: Java, settings: Mapping[str, str], workload: Workload = Workload.LONG) -> LaunchPlan:
    """How to start Spark's JVM with its settings. Raises IncrementalError if Spark's launcher rejects them."""
    command = spark_command(found, spark_home(), settings, workload)
    return LaunchPlan(command, archive_of(found, command))


def connect(jvm: Jvm) -> JavaGateway:
    """Connect PySpark to a JVM."""
    with _lock:
        os.environ |= {_PORT: str(jvm.port), _SECRET: jvm.secret}
        try:
            gateway = _launched_by_pyspark()
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
    import_module("pyspark.sql")  # which this process needs next, while the JVM starts
    while not info.exists():
        if process.poll() is not None:
            raise JvmEndedError(f"Spark's JVM ended with the exit code {process.returncode}")
        time.sleep(_INTERVAL)
    content = info.read_bytes()
    port, length = struct.unpack_from("!ii", content)
    return Jvm(process, port, content[8 : 8 + length].decode())


def spark_home() -> Path:
    """The folder of the installed PySpark."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")
    return Path(found.origin).parent


def require_spark_home(environment: Mapping[str, str]) -> None:
    """Raise IncrementalError if SPARK_HOME is set, but does not contain Spark's scripts, by which PySpark starts it."""
    home = environment.get("SPARK_HOME")
    if home and not (Path(home) / "bin" / "spark-submit").exists():
        raise no_spark_home(home)


def other_start(environment: Mapping[str, str]) -> str | None:
    """Why PySpark must start the JVM by Spark's scripts. None if it need not."""
    home = Path(environment.get("SPARK_HOME") or spark_home())
    confs = Path(environment.get("SPARK_CONF_DIR") or home / "conf")
    if "PYSPARK_SUBMIT_ARGS" in environment:
        return "PYSPARK_SUBMIT_ARGS is set"
    if home.resolve() != spark_home().resolve():
        return f"Spark is the one in {home}"
    if (confs / "spark-env.sh").exists():
        return f"{confs} contains a spark-env.sh"
    return None if os.name == "posix" else "this is Windows"


def _started(plan: LaunchPlan, output: IO[bytes] | None, log: Log) -> Jvm:
    """Start a JVM, with its archive if it exists. Otherwise, or if the JVM refuses it, let another process make it."""
    archive = plan.archive
    with tempfile.TemporaryDirectory(prefix="spark-") as name:
        folder = Path(name)
        if isinstance(archive, str):
            return start(plan.command, folder, output)
        if not archive.exists:
            jvm = start(plan.command, folder, output)
            _make_at_exit(archive, log)
            return jvm
        archive.used()
        lines, (first, *others) = folder / "archive.log", plan.command
        try:
            jvm = start([first, *archive.in_use(lines), *others], folder, output)
            refused = refusal(lines)
        except JvmEndedError as error:  # a damaged archive can end the JVM
            jvm = start(plan.command, folder, output)
            refused = str(error)
        if refused:
            archive.failed(refused)
            log.info(
                f"Spark starts slowly, since Java refuses the class data archive {archive.file}: {refused}. "
                "`dbt-spark-iceberg warm-up` makes another one"
            )
        return jvm


def _make_at_exit(archive: Archive, log: Log) -> None:
    """Let another process make an archive after this one, if nothing prevents it."""
    if hindrance := archive.hindrance() or archive.last_failure():
        log.info(f"Spark starts slowly, since it has no class data archive: {hindrance}")
        return
    if not _to_make:
        atexit.register(_make_in_background)
    _to_make[archive.file] = archive
    log.info(f"Later starts of Spark will be faster: after this run, a background process writes {archive.file}")


def _make_in_background() -> None:
    """Start processes of low priority that make archives, and that outlive this process."""
    for archive in _to_make.values():
        with suppress(OSError):
            process = subprocess.Popen(
                [sys.executable, "-m", "iceberg_incremental.jvm.training"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                text=True,
            )
            assert process.stdin is not None
            process.stdin.write(json.dumps(asdict(archive), default=str))
            process.stdin.close()
