"""Calls of functions in a Python model, read from its text."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.project.conditional_reads import reads_of
from dbt.adapters.spark_iceberg.project.jinja import Reference
from dbt.adapters.spark_iceberg.project.python_calls import Parent, PythonCall, calls_in, key_of, require_known
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.table.history import TableName

NAMES = ("ip_changes", "ip_changelog", "ip_as_of", "ip_changed_groups")
ORDERS, ITEMS = Parent(Reference("ref", ("orders",))), Parent(Reference("source", ("raw", "items")))


def calls(body: str) -> list[PythonCall]:
    return list(calls_in(f"def model(dbt, session):\n    return {body}", NAMES, "model.shop.m"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("dbt.ref('orders')", []),
        ("dbt.ip_changes(dbt.ref('orders'))", [("ip_changes", (ORDERS,), {})]),
        ("f(x, [dbt.ip_changes(dbt.ref('orders')).limit(1)])", [("ip_changes", (ORDERS,), {})]),
        (
            "dbt.ip_changelog(dbt.source('raw', 'items'), unique_key=['a', 'b'])",
            [("ip_changelog", (ITEMS,), {"unique_key": ["a", "b"]})],
        ),
        (
            "dbt.ip_changed_groups(dbt.ref('orders'), 'id', (dbt.ref('orders'), dbt.source('raw', 'items')))",
            [("ip_changed_groups", (ORDERS, "id", [ORDERS, ITEMS]), {})],
        ),
        (
            "dbt.ip_as_of(dbt.ref('p', 'orders', v=2))",
            [("ip_as_of", (Parent(Reference("ref", ("p", "orders")), 2),), {})],
        ),
        (
            "dbt.ip_changes(dbt.ref('orders')).join(dbt.ip_as_of(dbt.source('raw', 'items')), 'id')",
            [("ip_changes", (ORDERS,), {}), ("ip_as_of", (ITEMS,), {})],
        ),
        ("other.ip_changes(dbt.ref('orders'))", []),
    ],
)
def test_calls_are_found_anywhere(body, expected):
    found = [(call.name, call.positional, call.named) for call in calls(body)]
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    "call",
    [
        "dbt.ip_changes(orders)",
        "dbt.ip_changes(dbt.ref(name))",
        "dbt.ip_changes(dbt.ref('orders').filter('a'))",
        "dbt.ip_changes('orders')",
        "dbt.ip_changes()",
        "dbt.ip_changelog(dbt.ref('orders'), key)",
        "dbt.ip_changelog(dbt.ref('orders'), **more)",
    ],
)
def test_an_argument_that_is_not_literal_is_refused_with_its_line(call):
    with pytest.raises(ConfigError, match=r"model\.shop\.m, line 2, has an argument that is only known") as found:
        calls(call)
    assert f"Found: {call}" in str(found.value)


@pytest.mark.parametrize(
    ("body", "fix"),
    [("dbt.ip_change(dbt.ref('orders'))", "write dbt.ip_changes()"), ("dbt.ip_x()", "call one of these")],
)
def test_a_function_that_does_not_exist_is_refused_with_its_line(body, fix):
    with pytest.raises(
        ConfigError, match=r"In line 2, model\.shop\.m calls dbt\.ip_\w+\(\), which does not exist"
    ) as found:
        require_known(f"def model(dbt, session):\n    return {body}", NAMES, "model.shop.m")
    assert f"To fix: {fix}." in str(found.value)
    require_known("def model(dbt, session):\n    return dbt.ip_changes(dbt.ref('o'))", NAMES, "model.shop.m")


def test_the_key_of_a_call_depends_on_its_arguments():
    assert key_of("f", ["a", ("b", "c")], {}) == key_of("f", ("a", ["b", "c"]), {})
    assert key_of("f", ["a"], {}) != key_of("g", ["a"], {}) != key_of("g", [], {"a": "a"})


def test_every_run_reads_all_calls():
    orders, items = TableName("lake", "shop", "orders"), TableName("lake", "shop", "items")
    parents = {
        orders: {"resource_type": "model", "name": "orders"},
        items: {"resource_type": "source", "source_name": "raw", "name": "items"},
    }
    text = """
def model(dbt, session):
    if dbt.is_incremental:
        return dbt.ip_changes(dbt.ref("orders"))
    return dbt.ip_as_of(dbt.source("raw", "items"))
"""
    found = reads_of({"raw_code": text, "language": "python", "unique_id": "model.shop.m"}, parents, {})
    assert (found.always, found.whole) == ({orders}, {items})
    assert not found.include(orders) and not found.only_incremental
