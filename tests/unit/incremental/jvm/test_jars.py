from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.spark_iceberg.profile import lakehouse
from iceberg_incremental.jvm import jars

SPARK = "4.1.4"


@pytest.fixture
def confs(tmp_path: Path) -> dict[str, str]:
    """The settings of the embedded lakehouse, with a separate Ivy folder."""
    return lakehouse.spark_confs(tmp_path, "lakehouse", SPARK, {"spark.jars.ivy": str(tmp_path / "ivy")})


def files(tmp_path: Path) -> list[Path]:
    names = (each.split(":") for each in lakehouse.packages(SPARK).split(","))
    return [tmp_path / "ivy" / "jars" / f"{group}_{name}-{version}.jar" for group, name, version in names]


def fetch(tmp_path: Path) -> list[Path]:
    """Write the jars to the folder where Ivy writes them."""
    for file in files(tmp_path):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"PK\x05\x06" + bytes(18))
    return files(tmp_path)


def test_all_jars_are_missing_at_first(confs, tmp_path):
    assert jars.missing(confs) == lakehouse.packages(SPARK).split(",")
    assert jars.in_place(confs, {}) == confs


def test_existing_jars_are_passed_as_files(confs, tmp_path):
    there = fetch(tmp_path)
    assert jars.missing(confs) == []
    given = jars.in_place(confs, {})
    assert given["spark.driver.extraClassPath"] == ":".join(map(str, there))
    assert "spark.jars.packages" not in given
    assert confs["spark.jars.packages"] == lakehouse.packages(SPARK)


def test_local_files_are_written_without_processes_unless_the_user_chose_another_way(confs, tmp_path):
    fetch(tmp_path)
    name, hadoop = "spark.hadoop.fs.file.impl", "org.apache.hadoop.fs.LocalFileSystem"
    assert name not in confs  # Ivy needs the file system before it downloads the jar
    assert jars.in_place(confs, {})[name] == "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"
    assert jars.in_place({**confs, name: hadoop}, {})[name] == hadoop
    runtime, sqlite, _ = confs["spark.jars.packages"].split(",")
    assert name not in jars.in_place({**confs, "spark.jars.packages": f"{runtime},{sqlite}"}, {})


def test_an_incomplete_jar_is_fetched_again(confs, tmp_path):
    _, second, _ = fetch(tmp_path)
    second.write_bytes(b"PK\x03\x04 half of it")
    assert jars.missing(confs) == [lakehouse.packages(SPARK).split(",")[1]]
    assert jars.in_place(confs, {}) == confs


def test_another_version_is_fetched(confs, tmp_path):
    fetch(tmp_path)
    assert len(jars.missing({**confs, "spark.jars.packages": lakehouse.packages("4.0.1")})) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.jars.packages", "{},org.apache.hadoop:hadoop-aws:3.4.2"),
        ("spark.jars.repositories", "x"),
        ("spark.jars.ivySettings", "x"),
        ("spark.driver.extraClassPath", "/mine.jar"),
    ],
)
def test_the_users_settings_of_jars_are_left_to_ivy(confs, tmp_path, key, value):
    """Other packages may have dependencies."""
    fetch(tmp_path)
    own = {**confs, key: value.format(lakehouse.packages(SPARK))}
    (tmp_path / "ivy" / "jars" / "org.apache.hadoop_hadoop-aws-3.4.2.jar").write_bytes(b"PK\x05\x06" + bytes(18))
    assert jars.missing(own) == []
    assert jars.in_place(own, {}) == own


def test_executors_on_other_machines_also_need_the_jars(confs, tmp_path):
    fetch(tmp_path)
    cluster = {**confs, "spark.master": "spark://host:7077"}
    assert jars.in_place(cluster, {}) == cluster


@pytest.mark.parametrize("name", ["SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"])
def test_a_spark_with_its_own_configuration_keeps_its_class_path(confs, tmp_path, name):
    fetch(tmp_path)
    assert jars.in_place(confs, {name: "x"}) == confs


def test_without_packages_nothing_is_fetched():
    assert jars.missing({}) == []
    assert jars.in_place({"spark.master": "local"}, {}) == {"spark.master": "local"}


def test_jars_are_searched_in_the_home_folder_that_java_uses(monkeypatch, tmp_path):
    coordinates = {"spark.jars.packages": "group:name:1.0"}
    before = jars._file("group:name:1.0", coordinates)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert jars._file("group:name:1.0", coordinates) == before
