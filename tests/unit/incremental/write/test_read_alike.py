"""Whether Spark interprets a query like this package, and the digest by which a run detects that values may differ."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.write.auto.read_alike import is_read_alike, reading_digest
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


@pytest.mark.parametrize(
    ("shown", "read", "is_alike"),
    [("1", "1", True), ("1", "2", False)],
)
def test_the_values_in_values_are_compared(shown, read, is_alike):
    """The plan of the query does not show them."""

    def explained(sql):
        values = {"select 1Y as": shown, "select CAST(1 AS TINYINT) as": read}
        value = next((value for part, value in values.items() if part in sql), "k#1")
        plan = f"Project [{value} AS ip_0#2]\n+- R"
        return [(f"== Analyzed Logical Plan ==\nip_0: int\n{plan}\n\n== Optimized Logical Plan ==\n{plan}\n\n== P",)]

    sql = "select k from db.a join (values (1Y)) v(n) on n = k"
    spark = Connection(lambda sql: explained(sql) if sql.startswith("explain") else [])
    kept = incremental_query(sql, COLUMNS, "lake", {"k": "int"})
    assert is_read_alike(spark, kept) is is_alike


@pytest.mark.parametrize(
    ("plan", "is_alike"),
    [
        ("LocalRelation [k#1]", True),
        ("RelationV2[k#1] lake.db.x", False),
        ("Relation spark_catalog.default.pq[id#34] parquet", False),
        ("Sample 0.0, 0.5, false, 1", False),
        ("View (`sneaky`, [k#1])", False),
        ("Filter (k#1 = variablereference(system.session.v=1))", False),
    ],
)
def test_the_relations_of_a_query_that_is_replaced_as_a_whole_are_compared(plan, is_alike):
    """The statement has literals in the place of the relations that were found."""
    sent = []

    def explained(sql):
        sent.append(sql)
        return [(f"== Analyzed Logical Plan ==\nk: int\nProject [k#1]\n+- {plan}\n\n== Optimized Logical Plan ==\nx",)]

    sql = "select * from (select k from db.a) pivot (count(*) for k in (1 as one))"
    kept = incremental_query(sql, COLUMNS, "lake", {"one": "bigint"})
    assert is_read_alike(Connection(explained), kept) is is_alike
    assert "from (select cast(null as int) as `k`" in sent[0] and "pivot (count(*)" in sent[0]
