"""The compared columns and the structure of the SQL. Other tests run the SQL with Spark."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from sqlglot import parse_one

from iceberg_incremental.plan.policy import Policy, Strategy
from iceberg_incremental.verify.columns import compared_columns, kept_columns
from iceberg_incremental.verify.difference import Comparison


@dataclass(frozen=True)
class Column:
    name: str
    dtype: str


REBUILT = [Column("id", "int"), Column("v", "string"), Column("ratio", "double"), Column("new", "int")]
TABLE = [Column("ID", "bigint"), Column("v", "string"), Column("ratio", "double"), Column("old", "int")]


def test_columns_are_compared_with_the_tables_types():
    found = compared_columns(REBUILT, TABLE)
    assert [(each.name, each.rebuilt, each.table) for each in found.compared] == [
        ("ID", "cast(`ID` as bigint)", "`ID`"),
        ("v", "`v`", "`v`"),
        ("ratio", "`ratio`", "`ratio`"),
    ]
    assert found.left_out == {"only the table has them": ["old"], "only the SQL has them": ["new"]}
    kept = compared_columns(REBUILT, TABLE, ["`V`"])
    assert kept.left_out["a merge keeps their old values"] == ["v"]
    shape = compared_columns([Column("g", "geometry(4326)")], [Column("g", "geometry(4326)")])
    assert not shape.compared and shape.left_out == {"their types cannot be compared": ["g"]}


@pytest.mark.parametrize(
    ("strategy", "config", "kept"),
    [
        (Strategy.MERGE, {}, []),
        (Strategy.MERGE, {"merge_exclude_columns": "`V`"}, ["v"]),
        (Strategy.APPLY_CHANGES, {"merge_update_columns": ["ratio"]}, ["v", "old"]),
        (Strategy.APPEND, {"merge_update_columns": ["ratio"]}, []),
    ],
)
def test_columns_whose_old_values_a_merge_keeps(strategy, config, kept):
    assert kept_columns(Policy(strategy=strategy, unique_key=("id",)), config, TABLE) == kept


@pytest.mark.parametrize(
    ("given", "wanted", "value"),
    [
        (
            "struct<b:int,a:int>",
            "struct<a:int,b:int>",
            "if(`c` is null, null, named_struct('a', `c`.`a`, 'b', `c`.`b`))",
        ),
        ("struct<b:int>", "struct<a:int>", "`c`"),
        ("int", "bigint", "`c`"),
    ],
)
def test_fields_in_another_order_are_compared_by_their_names(given, wanted, value):
    (found,) = compared_columns([Column("c", given)], [Column("c", wanted)]).compared
    assert (found.rebuilt, found.table) == (f"cast({value} as {wanted})", "`c`")


@pytest.mark.parametrize("key", [(), ("ID",)])
@pytest.mark.parametrize("share", [1.0, 0.05])
def test_the_queries(key, share):
    compared = compared_columns(REBUILT, TABLE).compared
    comparison = Comparison(compared, "select * from rebuilt", "select * from built", key, share)
    assert comparison.paired_by == (key or ("ID", "v"))
    assert comparison.is_sampled is (share < 1)
    sampled = "pmod(xxhash64(`ID`), 1000000) < 50000" if key else "pmod(xxhash64(`ID`, `v`), 1000000) < 50000"
    assert comparison.differing_sql().count(sampled) == (0 if share == 1 else 2)
    for sql in (comparison.found_sql(), comparison.shown_sql(), comparison.failing_sql(), comparison.counted_sql()):
        parse_one(sql, dialect="spark")


def test_without_a_column_to_pair_rows_by_all_rows_are_compared():
    ratio = compared_columns(REBUILT, TABLE).compared[2:]
    comparison = Comparison(ratio, "select * from rebuilt", "select * from built", share=0.05)
    assert comparison.paired_by == () and not comparison.is_sampled
    parse_one(comparison.found_sql(), dialect="spark")
