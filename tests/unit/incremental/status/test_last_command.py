"""The results of dbt's last command, from run_results.json."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.spark_iceberg.status.last_command import NodeResult, last_command

NODES = {
    "model.shop.orders": {"name": "orders", "resource_type": "model", "config": {"materialized": "table"}},
    "model.shop.recent": {"name": "recent", "resource_type": "model", "config": {"materialized": "view"}},
    "test.shop.unique": {"name": "unique_orders_id", "resource_type": "test", "config": {}},
}


def result(node, status="success", **more):
    return {"unique_id": node, "status": status, "execution_time": 1.5, "message": None, "failures": None, **more}


def written(folder, *results):
    file = folder / "run_results.json"
    about = {"generated_at": "2026-01-15T12:00:00.5Z", "invocation_id": "abc"}
    document = {"metadata": about, "args": {"which": "build"}, "elapsed_time": 9.25, "results": results}
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_models_views_and_tests(tmp_path):
    orders = result("model.shop.orders", adapter_response={"rows_affected": 7}, message="OK 7 rows")
    failed = result("test.shop.unique", "fail", failures=2, message="Got 2 results")
    found = last_command(written(tmp_path, orders, result("model.shop.recent"), failed), NODES)
    assert (found.command, found.ended_at_ms, found.seconds) == ("dbt build", 1_768_478_400_500, 9.25)
    assert found.results == [
        NodeResult("model.shop.orders", "orders", "model", "success", 1.5, 7, "OK 7 rows"),
        NodeResult("model.shop.recent", "recent", "view", "success", 1.5, None, ""),
        NodeResult("test.shop.unique", "unique_orders_id", "test", "fail", 1.5, 2, "Got 2 results"),
    ]
    assert found.seconds_of("model.shop.orders", "abc") == 1.5
    assert found.seconds_of("model.shop.orders", "another run") is None


def test_an_operation_has_no_results_of_nodes(tmp_path):
    assert last_command(written(tmp_path, result("operation.shop.ip_status")), NODES) is None


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"metadata": {}, "args": {}, "results": [{}]}'])
def test_a_missing_or_unreadable_file(tmp_path, text):
    file = tmp_path / "run_results.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    assert last_command(file, NODES) is None
