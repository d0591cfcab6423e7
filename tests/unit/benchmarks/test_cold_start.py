from __future__ import annotations

from typing import Any

import pytest

from benchmarks import first_project
from benchmarks.cold_start import moments


def event(second: int, name: str, msg: str = "", node: str | None = None) -> dict[str, Any]:
    data: dict[str, Any] = {} if node is None else {"node_info": {"unique_id": node}}
    return {"info": {"name": name, "msg": msg, "ts": f"1970-01-01T00:00:{second:02}.500000Z"}, "data": data}


LOG = [
    event(1, "MainReportVersion", "Running with dbt"),
    event(2, "AdapterRegistered"),
    event(3, "AdapterEventInfo", "Spark adapter: Starting Spark 4.1.4"),
    event(4, "AdapterEventInfo", "Spark adapter: Spark is up after 1 seconds"),
    event(5, "SQLQuery", node=""),
    event(6, "SQLQuery", node=""),
    event(7, "ConcurrencyLine"),
    event(8, "SQLQuery", node="model.cold.m_0"),
    event(9, "SQLQuery", node="model.cold.m_1"),
]


def test_each_part_ends_with_its_first_event():
    assert moments(LOG) == [1.5, 3.5, 4.5, 5.5, 8.5]


def test_a_log_without_a_model_is_refused():
    with pytest.raises(ValueError, match="the model"):
        moments(LOG[:-2])


def test_the_commands_of_the_first_project_are_those_of_the_readme():
    script, commands = first_project.blocks()
    assert script.startswith("mkdir -p shop/") and commands.count(["build"]) == 3
    assert commands[0] == ["run-operation", "land", "--args", "{day: 2026-01-01}"]


def test_the_first_project_is_compared_round_by_round():
    commands = len(first_project.blocks()[1]) + 3  # a session, and two commands with many rows
    costs = {
        name: [[first_project.Cost(wall, 2 * wall)] * commands for wall in walls]
        for name, walls in (("ours", (1.0, 3.0, 2.0)), ("other", (2.0, 4.0, 8.0)))
    }
    rows = first_project.table(costs, 0.55).rows
    assert len(rows) == commands
    assert rows[0][1:] == ["2.00 s", "4.00 s", "0.50", "4.00 s", "8.00 s", "0.50"]
