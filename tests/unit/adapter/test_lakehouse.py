from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dbt.adapters.spark_iceberg.profile.lakehouse import RUNTIMES, packages, spark_confs

HERE = Path("/data/lake house")


def test_the_catalog_is_in_the_folder():
    confs = spark_confs(HERE, "lake", "4.1.4", {})
    assert confs["spark.sql.catalog.lake"] == "org.apache.iceberg.spark.SparkCatalog"
    assert confs["spark.sql.catalog.lake.type"] == "jdbc"
    assert confs["spark.sql.catalog.lake.uri"] == "jdbc:sqlite:file:/data/lake%20house/catalog.db"
    assert confs["spark.sql.catalog.lake.jdbc.schema-version"] == "V1"
    assert confs["spark.sql.catalog.lake.cache-enabled"] == "false"
    assert confs["spark.sql.defaultCatalog"] == "lake"
    assert confs["spark.sql.catalogImplementation"] == "in-memory"


@pytest.mark.parametrize(
    ("spark", "runtime"),
    [
        ("4.0.1", "iceberg-spark-runtime-4.0_2.13:1.11.0"),
        ("4.1.4", "iceberg-spark-runtime-4.1_2.13:1.12.0"),
        ("4.1.1-amzn-0", "iceberg-spark-runtime-4.1_2.13:1.12.0"),
    ],
)
def test_the_jars_match_the_spark_version(spark, runtime):
    assert packages(spark).startswith(f"org.apache.iceberg:{runtime},org.xerial:sqlite-jdbc:")


def test_the_extra_installs_a_spark_with_an_iceberg_runtime():
    (needed,) = (
        each
        for each in map(Requirement, importlib.metadata.requires("dbt-spark-iceberg") or ())
        if each.name == "pyspark"
    )
    minors = [f"{major}.{minor}" for major in (3, 4, 5) for minor in range(10)]
    assert [each for each in minors if f"{each}.1" in needed.specifier] == list(RUNTIMES)


@pytest.mark.parametrize("own", ["spark.jars", "spark.jars.packages", "spark.driver.extraClassPath"])
def test_the_users_jars_replace_the_default_jars(own):
    confs = spark_confs(HERE, "lake", "4.1.4", {own: "mine"})
    assert {key: value for key, value in confs.items() if "jars" in key or "ClassPath" in key} == {own: "mine"}


def test_the_users_settings_win():
    own = {"spark.master": "local[1]", "spark.sql.catalog.lake.uri": "jdbc:postgresql://db/lake", "spark.x": "y"}
    confs = spark_confs(HERE, "lake", "4.1.4", own)
    assert own.items() <= confs.items()
