"""The benchmark of the TPC-H queries."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from benchmarks.auto_models import KEPT, NOTHING, REBUILD, WROTE, ModelRun, Taken
from benchmarks.plain_sql_tpch import data, summary
from benchmarks.plain_sql_tpch.__main__ import measured
from benchmarks.plain_sql_tpch.data import APPENDED, CHANGED
from benchmarks.plain_sql_tpch.measure import Measurement, other_method


def ran(cpu: float, way: str = REBUILD, keys: int | None = None) -> ModelRun:
    estimated = None if keys is None else (cpu, 2 * cpu)
    key = () if keys is None else ("order_id",)
    return ModelRun(cpu, cpu, cpu / 2, 4, (), Taken(way, "", key, keys, None, estimated))


KEPT_UP = Measurement("q03", CHANGED, 2, ran(5.0, WROTE), ran(1.0, KEPT, 5), ran(3.0, WROTE), ran(5.0), None, 100)
REBUILT = Measurement(
    "q18", CHANGED, 2, ran(2.5, WROTE), ran(3.0, REBUILD, 90), ran(2.5, WROTE), ran(2.0, KEPT, 90), ran(2.6), 100
)
TOTAL = Measurement("q06", CHANGED, 2, ran(1.0, WROTE), ran(1.0), ran(1.0, WROTE), None, None, None)
IDLE = Measurement("q02", CHANGED, 2, ran(1.0, WROTE), ran(0.1, NOTHING), ran(1.0, WROTE), None, None, None)
ALL = (KEPT_UP, REBUILT, TOTAL, IDLE)


def test_the_queries_of_tpch_read_sources_and_have_no_limit():
    queries = data.queries()
    assert list(queries) == [f"q{number:02}" for number in range(1, 23)]
    for sql in queries.values():
        assert set(re.findall(r"source\('raw', '(\w+)'\)", sql)) <= set(data.TABLES)
        assert "{" in sql and " limit " not in sql and " order by " not in sql


def slots(statement: str) -> tuple[int, int]:
    found = re.search(r"xxhash64\(\w+\), \d+\) >= (\d+) and .* < (\d+)", statement)
    assert found is not None
    return int(found[1]), int(found[2])


def test_no_order_is_chosen_twice():
    inserted_and_deleted = [
        slots(statement)
        for number in range(1, 7)
        for statement in data.statements(CHANGED, number)
        if " orders" in statement.replace(".orders", " orders") and "lineitem" not in statement
    ]
    for (_, end), (first, _) in itertools.pairwise(sorted(set(inserted_and_deleted))):
        assert end <= first


def test_a_query_whose_changes_affect_all_rows_has_no_other_method():
    rebuilt, kept = ran(2.0, REBUILD, 90), ran(2.0, KEPT, 90)
    assert other_method("q18", rebuilt, kept) is kept
    assert other_method("q03", kept, ran(2.0)).taken.way == REBUILD
    assert other_method("q06", rebuilt, ran(2.0)) is None
    for one in (rebuilt, kept):
        with pytest.raises(ValueError, match="q18_other should not have taken the way of q18_auto"):
            other_method("q18", one, one)


def test_appended_rounds_only_insert():
    assert [statement.split()[0] for statement in data.statements(APPENDED, 1)] == ["insert", "insert"]
    assert [statement.split()[0] for statement in data.statements(CHANGED, 1)][2:] == ["update"] * 2 + ["delete"] * 2


def test_the_cost_of_each_query_and_the_mean_of_incremental_queries():
    table = summary.queries_table(ALL, 1)
    rows = {row[0]: row for row in table.rows}
    assert all(len(row) == len(table.header) for row in table.rows)
    assert rows["q03"][1:3] == ["5.00%", KEPT] and rows["q03"][8:10] == ["0.25", "≤ 1.00"]
    assert rows["q18"][8:10] == ["1.20", "≤ 1.10 missed"]
    assert rows["q06"][1] == "all" and rows["q06"][9] == "≤ 0.40 missed"
    assert rows["q02"][9] == ""
    assert rows["geometric mean of the queries updated incrementally"][8:10] == ["0.25", "≤ 0.35"]


def test_the_choice_by_cost():
    table = summary.choices_table(ALL)
    assert all(len(row) == len(table.header) for row in table.rows)
    assert [row[0] for row in table.rows] == ["q03", "q18", "all"]
    assert table.rows[0][3:] == ["1.00 s", "5.00 s", "", KEPT, "1 of 1", "0.20"]
    assert table.rows[1][3:] == ["2.00 s", "3.00 s", "2.60 s", REBUILD, "0 of 1", "1.50"]
    assert table.rows[2][-2:] == ["50%, aim ≥ 90% missed", "1.50, aim ≤ 1.30 missed"]


def test_a_query_without_another_way_has_no_ratio():
    with pytest.raises(ValueError, match="no other way"):
        summary.taken_to_other(TOTAL)


def test_the_tables_of_both_series():
    titles = [table.title for table in summary.tables([*ALL, replace(KEPT_UP, series=APPENDED)], 0.5)]
    assert len(titles) == 4 and titles[0].startswith("TPC-H at scale 0.5: 0.1% of orders")


def test_the_values_behind_the_tables():
    assert measured(ALL)["changed.q18.rebuild.whole"] == [2.6]
    assert "changed.q06.other.whole" not in measured(ALL)
