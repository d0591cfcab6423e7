"""The file system with which the embedded Spark writes local files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dbt.adapters.spark_iceberg.profile.lakehouse import CATALOG_CLASS
from dbt.adapters.spark_iceberg.spark.in_process.session import SessionConnection
from iceberg_incremental.spark.java import java_class

pytestmark = pytest.mark.core

NAMES = ["plain", "with space", "a/b", "a:b", "100%", "%2F", "#?&=", "Zürich", "雪", "'quoted'"]


def test_hadoop_starts_no_process_for_each_file(outside: SessionConnection, tmp_path: Path):
    java = java_class(outside.session, "org.apache.hadoop.fs.FileSystem")
    path = java_class(outside.session, "java.net.URI").create(tmp_path.as_uri())
    used = java.get(path, outside.session._jsparkSession.sessionState().newHadoopConf())
    assert used.getClass().getName() == "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"


def test_files_of_any_name_are_written_read_listed_and_deleted(outside: SessionConnection, tmp_path: Path):
    """In a folder behind a symbolic link, with each character of a partition's name and of a folder's."""
    spark = outside.session
    folder = tmp_path / "the real folder ü"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    for key, value in {"": CATALOG_CLASS, ".type": "hadoop", ".warehouse": str(tmp_path / "link" / "a b%20c")}.items():
        spark.conf.set(f"spark.sql.catalog.linked{key}", value)
    spark.sql("create table linked.s.t (id int, name string) using iceberg partitioned by (name)")
    rows = list(enumerate(NAMES))
    spark.createDataFrame(rows, "id int, name string").writeTo("linked.s.t").append()
    assert [(row.id, row.name) for row in spark.table("linked.s.t").orderBy("id").collect()] == rows
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert len([file for file in files if file.suffix == ".parquet"]) == len(NAMES)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o644}
    (orphan,) = folder.rglob("data")
    left = orphan / "left.parquet"
    left.touch()
    os.utime(left, (0, 0))
    found = spark.sql("call linked.system.remove_orphan_files(table => 's.t', dry_run => true)")
    assert [Path(row[0]).name for row in found.collect()] == [left.name]
    assert [row.namespace for row in spark.sql("show namespaces in linked").collect()] == ["s"]
    spark.sql("drop table linked.s.t purge")
    spark.sql("drop namespace linked.s")
    assert [file for file in folder.rglob("*.parquet") if file != left] == []
