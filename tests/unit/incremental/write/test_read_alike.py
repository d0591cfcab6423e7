"""The digest by which a run detects that a query may return other values than when its rows were written."""

from __future__ import annotations

from iceberg_incremental.query.incremental_query import incremental_query
from iceberg_incremental.write.read_alike import reading_digest
from tests.unit.incremental.connection import Connection
from tests.unit.incremental.query.kept_tables import COLUMNS


def digest(sql="select k, sum(x) as n from db.a group by k", version="4.1.2"):
    spark = Connection()
    spark.version = version
    return reading_digest(spark, incremental_query(sql, COLUMNS, "lake", {"k": "int", "n": "bigint"}))


def test_another_minor_version_of_spark_or_another_reading_counts():
    assert digest() == digest(version="4.1.10") == digest(version="4.1.2 0a1b2c3")
    assert digest() not in (digest(version="4.0.2"), digest(version="5.1.2"))
    assert digest() != digest("select k, sum(x + 1) as n from db.a group by k")
