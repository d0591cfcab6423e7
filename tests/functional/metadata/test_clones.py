"""Clones in catalogs of every type, made with SQL alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from iceberg_incremental.errors import ConfigError, StatementError
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.open import open_reader
from iceberg_incremental.publish.clones import CloneMaker, require_two
from iceberg_incremental.table.history import TableName

from .conftest import Spark
from .test_readers import CATALOGS, READERS, prepared

WEEK = timedelta(days=7)


@dataclass(frozen=True)
class ByThrift:
    """The part of the Spark connection that clones need."""

    spark: Spark

    def send(self, sql: str) -> None:
        self.rows(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        try:
            return [tuple(row) for row in self.spark.run(sql)]
        except Exception as error:
            raise StatementError(str(error)) from error


@dataclass(frozen=True)
class Lake:
    spark: Spark
    reader: MetadataReader
    maker: CloneMaker

    def rows(self, table: TableName) -> Sequence[tuple[Any, ...]]:
        return sorted(tuple(row) for row in self.spark.run(f"select * from {table.sql}"))

    def files(self, table: TableName) -> set[str]:
        return {row[0] for row in self.spark.run(f"select file_path from {table.sql}.files")}

    def clone(self, origin: TableName, clone: TableName) -> None:
        self.maker.make(origin, clone, WEEK)


@pytest.fixture(params=READERS)
def lake(request: pytest.FixtureRequest, spark: Spark) -> Lake:
    reader = open_reader(request.param, lambda: spark.settings, {}, spark.run)
    return Lake(spark, reader, CloneMaker(ByThrift(spark), reader))  # type: ignore[arg-type]


@pytest.mark.parametrize("catalog", [each for each in CATALOGS if each != "hadoop"])
def test_a_clone_and_its_origin_are_independent(lake: Lake, spark: Spark, catalog: str):
    prepared(catalog, spark)
    origin, clone, second = (TableName(catalog, "told", f"{name}_{catalog}") for name in ("dolly", "copy", "second"))
    for table in (origin, clone, second):
        spark.run(f"drop table if exists {table.sql}")
    try:
        spark.run(f"create table {origin.sql} (id int) using iceberg tblproperties ('format-version'='2')")
        for number in range(3):
            spark.run(f"insert into {origin.sql} values ({number})")
        spark.run(f"alter table {origin.sql} create tag kept")
        lake.clone(origin, clone)
        lake.clone(clone, second)
        assert lake.files(clone) == lake.files(origin) == lake.files(second)
        history = lake.reader.load(second)
        assert history is not None and set(history.refs) == {"main"}
        folders = {lake.reader.folders(each)[0] for each in (origin, clone, second)}
        assert len(folders) == 3
        spark.run(f"insert into {clone.sql} values (9)")
        spark.run(f"delete from {second.sql} where id = 1")
        spark.run(f"delete from {origin.sql} where id = 0")
        old = "older_than => timestamp '2999-01-01', retain_last => 1"
        spark.run(f"call {catalog}.system.expire_snapshots(table => 'told.{origin.name}', {old})")
        assert lake.rows(origin) == [(1,), (2,)]
        assert lake.rows(clone) == [(0,), (1,), (2,), (9,)]
        assert lake.rows(second) == [(0,), (2,)]
        with pytest.raises(Exception, match="GC is disabled"):
            spark.run(f"call {catalog}.system.expire_snapshots(table => 'told.{clone.name}', {old})")
        spark.run(f"drop table {clone.sql}")
        assert lake.rows(origin) == [(1,), (2,)] and lake.rows(second) == [(0,), (2,)]
    finally:
        for table in (origin, clone, second):
            spark.run(f"drop table if exists {table.sql}")


def test_a_table_is_not_replaced_by_a_clone_of_itself(lake: Lake, spark: Spark):
    """Names in Hive are not case-sensitive, so two names can belong to one table."""
    prepared("hive", spark)
    origin, other = TableName("hive", "told", "dolly"), TableName("hive", "told", "other")
    for table in (origin, other):
        spark.run(f"create table if not exists {table.sql} (id int) using iceberg")
    try:
        require_two(lake.reader, origin, other)
        require_two(lake.reader, origin, TableName("hive", "told", "missing"))
        with pytest.raises(ConfigError, match="the same table under two names"):
            require_two(lake.reader, origin, TableName("hive", "TOLD", "Dolly"))
    finally:
        for table in (origin, other):
            spark.run(f"drop table {table.sql}")


def test_a_catalog_without_registration_is_an_error(lake: Lake, spark: Spark):
    prepared("hadoop", spark)
    origin = TableName("hadoop", "told", "dolly")
    spark.run(f"create table if not exists {origin.sql} (id int) using iceberg")
    spark.run(f"insert into {origin.sql} values (1)")
    with pytest.raises(ConfigError, match="cannot be cloned without a copy"):
        lake.clone(origin, TableName("hadoop", "told", "copy"))
    assert lake.rows(origin) == [(1,)]
    history = lake.reader.load(origin)
    assert history is not None and set(history.refs) == {"main"}
    assert not any("copy" in str(row[1]) for row in spark.run("show tables in hadoop.told"))
    spark.run(f"drop table {origin.sql}")
