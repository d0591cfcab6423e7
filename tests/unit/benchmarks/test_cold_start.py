from __future__ import annotations

from typing import Any

import pytest

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
