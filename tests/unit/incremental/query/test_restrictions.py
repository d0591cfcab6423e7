"""Which rows of its sources a query reads for the affected keys, and through which joins."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.table.history import TableName

COLUMNS = {
    TableName("lake", "raw", "orders"): {"id": "int", "customer_id": "int", "amount": "decimal(10,2)"},
    TableName("lake", "raw", "customers"): {"id": "int", "region": "string"},
}
ORDERS, CUSTOMERS = "lake.raw.orders", "lake.raw.customers"
JOINED = f"{ORDERS} o join {CUSTOMERS} c on o.customer_id = c.id"
BY_JOIN = "orders.customer_id = customers.id"

CASES = {
    "grouped by a column that a join equates": (
        f"select o.customer_id, sum(o.amount) as amount from {JOINED} group by o.customer_id",
        ("customer_id", "amount"),
        [
            (ORDERS, "customer_id", "customer_id", ""),
            (CUSTOMERS, "id", "customer_id", BY_JOIN),
        ],
    ),
    "the optional side of a left join": (
        f"select c.id, o.amount from {CUSTOMERS} c left join {ORDERS} o on o.customer_id = c.id",
        ("id", "amount"),
        [(CUSTOMERS, "id", "id", ""), (ORDERS, "customer_id", "id", BY_JOIN)],
    ),
    "a source that no key column leads to": (
        f"select c.region, sum(o.amount) as amount from {JOINED} group by all",
        ("region", "amount"),
        [(ORDERS,), (CUSTOMERS, "region", "region", "")],
    ),
    "through a CTE": (
        f"with spent as (select customer_id, sum(amount) as amount from {ORDERS} group by customer_id) "
        f"select c.id, s.amount from {CUSTOMERS} c join spent s on s.customer_id = c.id",
        ("id", "amount"),
        [(CUSTOMERS, "id", "id", ""), (ORDERS, "customer_id", "id", BY_JOIN)],
    ),
    "a subquery of an expression": (
        f"select c.id from {CUSTOMERS} c where exists (select 1 from {ORDERS} o where o.customer_id = c.id)",
        ("id",),
        [(CUSTOMERS, "id", "id", ""), (ORDERS, "customer_id", "id", BY_JOIN)],
    ),
    "a union of types that are compared differently": (
        f"select c.id from {CUSTOMERS} c join (select customer_id as n from {ORDERS} union all select amount from "
        f"{ORDERS}) t on t.n = c.id",
        ("id",),
        [(CUSTOMERS, "id", "id", ""), (ORDERS,)],
    ),
    "a union of one type": (
        f"select c.id from {CUSTOMERS} c join (select customer_id as id from {ORDERS} union all select id from "
        f"{ORDERS}) t on t.id = c.id",
        ("id",),
        [
            (CUSTOMERS, "id", "id", ""),
            (ORDERS, "customer_id", "id", "id = customers.id"),
            (ORDERS, "id", "id", "id = customers.id"),
        ],
    ),
    "a total": (f"select count(*) as n from {ORDERS}", ("n",), [(ORDERS,)]),
}
TYPES = {"amount": "decimal(20,2)", "region": "string", "n": "bigint"}


@pytest.mark.parametrize("name", CASES)
def test_the_rows_that_are_read_for_affected_keys(name):
    sql, columns, expected = CASES[name]
    kept = incremental_query(sql, COLUMNS, "lake", {column: TYPES.get(column, "int") for column in columns}, ("id",))
    found = [
        (str(each.table), *(part for by in each.by for part in (by.column, by.key, by.through)))
        for each in kept.source_rows()
    ]
    assert found == expected
