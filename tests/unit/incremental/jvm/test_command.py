"""The command that starts Spark's JVM."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iceberg_incremental.jvm import command
from iceberg_incremental.jvm.java import Java
from iceberg_incremental.jvm.workload import LONG_S, Workload, expected

JAVA = Java(Path("/java"), 21, "PATH", frozenset({"java.base"}))
VECTOR = "--add-modules=jdk.incubator.vector"


def launched(tmp_path: Path, *options: str) -> list[str]:
    return ["/other/java", "-cp", str(tmp_path / "a.jar"), *options, "org.apache.spark.deploy.SparkSubmit", "x"]


def test_a_module_that_the_java_lacks_is_not_named(tmp_path):
    assert VECTOR not in command._adapted(launched(tmp_path, VECTOR), JAVA, Workload.LONG)


@pytest.mark.parametrize("modules", [{"java.base", "jdk.incubator.vector"}, set()])
def test_a_module_is_named_if_the_java_has_it_or_lists_none(tmp_path, modules):
    java = Java(Path("/java"), 17, "PATH", frozenset(modules))
    assert VECTOR in command._adapted(launched(tmp_path, VECTOR), java, Workload.LONG)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-Xmx1g"], True),
        (["-Xmx4096m"], True),
        (["-Xmx5g"], False),
        (["-Xmx1g", "-XX:+UseG1GC"], False),
        (["-Xmx1g", "-Dx=-XX:+UseG1GC"], True),
    ],
)
def test_a_small_heap_has_the_serial_collector(tmp_path, options, expected):
    assert ("-XX:+UseSerialGC" in command._adapted(launched(tmp_path, *options), JAVA, Workload.LONG)) is expected


def test_a_collector_in_an_environment_variable_is_kept():
    """Java ends if its options name two."""
    assert command.collector([], {"JAVA_TOOL_OPTIONS": "-Dx=1 -XX:+UseG1GC"}) == []
    assert command.collector([], {"JAVA_TOOL_OPTIONS": "-Dx=1"}) == ["-XX:+UseSerialGC"]


def test_options_of_the_user_come_after_the_defaults(tmp_path):
    """Java uses the last of two values."""
    mine = "-XX:Tier4CompileThreshold=15000"
    words = command._adapted(launched(tmp_path, mine), JAVA, Workload.LONG)
    assert words.index("-XX:Tier4CompileThreshold=1000000") < words.index(mine)


def test_short_computations_need_no_second_compiler(tmp_path):
    first_only = "-XX:TieredStopAtLevel=1"
    words = command._adapted(launched(tmp_path), JAVA, Workload.SHORT)
    assert first_only in words and "-XX:ReservedCodeCacheSize=240m" in words
    assert first_only not in command._adapted(launched(tmp_path), JAVA, Workload.LONG)
    mine = launched(tmp_path, "-XX:Tier4InvocationThreshold=5000")  # it would have no effect
    assert first_only not in command._adapted(mine, JAVA, Workload.SHORT)


@pytest.mark.parametrize(
    ("noted", "found"),
    [
        (None, Workload.SHORT),
        ("3.2\n", Workload.SHORT),
        (f"{LONG_S + 1}\n", Workload.LONG),
        ("", Workload.SHORT),  # of two processes that end at the same time
    ],
)
def test_a_spark_is_expected_to_compute_as_much_as_the_last_one(tmp_path, noted, found):
    file = tmp_path / "task_seconds"
    if noted is not None:
        file.write_text(noted)
    assert expected(file) is found


@pytest.mark.parametrize(
    ("words", "expected"), [(["-Xmx2g"], 2 << 30), (["-Xmx1g", "-Xmx512M"], 512 << 20), (["-Xmx77"], 77), ([], 0)]
)
def test_the_heap_of_a_command(words, expected):
    assert command.heap(words) == expected


def test_a_class_path_names_each_existing_jar_once(tmp_path):
    for name in ("b.jar", "a.jar", "own.jar"):
        (tmp_path / name).touch()
    given = os.pathsep.join(map(str, (tmp_path / "own.jar", tmp_path / "none", tmp_path / "b.jar", tmp_path / "*")))
    assert [Path(each).name for each in command.class_path(given)] == ["own.jar", "b.jar", "a.jar"]
