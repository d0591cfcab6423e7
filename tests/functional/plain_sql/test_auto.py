"""Models with the strategy ``auto``: after every run, the table equals its SQL, and the work depends on the changes."""

from __future__ import annotations

import pytest

from iceberg_incremental.errors import StatementError
from iceberg_incremental.write.auto.writer import AutoWriter

from ..incremental.shop import hold_as_a_server

ORDERS = "id int, customer_id int, amount decimal(10, 2), items array<string>, ordered_at timestamp"
CUSTOMERS = "id int, region string, name string"
QUERIES = {
    "lines": "select o.id, o.amount, c.region from {orders} o left join {customers} c on o.customer_id = c.id",
    "inner_joined": "select o.id, c.name, c.region from {orders} o join {customers} c on o.customer_id = c.id",
    "by_region": (
        "select c.region, count(distinct o.customer_id) as n, sum(o.amount) as amount "
        "from {orders} o left join {customers} c on o.customer_id = c.id group by all"
    ),
    "distinct_counts": (
        "select customer_id, count(distinct id) filter (where amount > 15) as n, "
        "count(distinct coalesce(amount, 0)) as m, max(substr(cast(id as string), 1, 1)) as digit from {orders} "
        "group by customer_id"
    ),
    "total": "select count(*) as n, sum(amount) as amount from {orders}",
    "newest": (
        "select * from {orders} qualify row_number() over (partition by customer_id order by ordered_at desc, id) = 1"
    ),
    "numbered": (
        "with numbered as (select *, row_number() over (partition by customer_id order by id) as rn from {orders}) "
        "select id, customer_id, amount from numbered where rn = 1"
    ),
    "without_orders": "select id, name from {customers} where id not in (select customer_id from {orders})",
    "united": "select id, region as v from {customers} union all select id, cast(amount as string) from {orders}",
    "by_name": (
        "select v.name, count(distinct o.id) as n, max(o.amount) as most from {orders} o "
        "join (values (1, 'one'), (2, 'two')) as v (id, name) on o.customer_id = v.id group by v.name"
    ),
    "distinct_items": "select distinct customer_id, explode(items) as item from {orders}",
    "exploded": "select o.id, i from {orders} o lateral view outer explode(items) t as i",
    "above_average": (
        "select o.id, o.amount from {orders} o where o.amount > "
        "(select avg(x.amount) from {orders} x where x.customer_id = o.customer_id)"
    ),
}


@pytest.fixture
def auto(shop):
    orders, customers = shop.source("orders", ORDERS), shop.source("customers", CUSTOMERS)
    shop.insert(
        orders,
        "(1, 1, 10.00, array('a', 'b'), timestamp '2026-01-01 00:00:00')",
        "(2, 1, 20.00, null, timestamp '2026-01-02 00:00:00')",
        "(3, 2, 30.00, array(), timestamp '2026-01-03 00:00:00')",
        "(4, null, 40.00, array('c'), null)",
        "(5, 9, 50.00, array('c'), timestamp '2026-01-05 00:00:00')",
    )
    shop.insert(customers, "(1, 'north', 'Ada')", "(2, 'south', 'Bob')", "(3, null, 'Cid')")
    return Auto(shop, {"orders": orders, "customers": customers})


class Auto:
    def __init__(self, shop, tables):
        self.shop, self.tables = shop, tables

    def model(self, name, sql, **config):
        named = {table: f"{{{{ source('raw', '{table}') }}}}" for table in self.tables}
        self.shop.model(name, sql.format(**named), incremental_strategy="auto", **config)

    def change(self, *statements):
        for each in statements:
            self.shop.sql(each.format(**self.tables))

    def differs(self, name, sql):
        """The rows of a table that its SQL does not return, and the rows of the SQL that the table lacks."""
        query = sql.format(**self.tables)
        if "qualify" in query:
            inner, condition = query.split(" qualify ")
            number = condition.removesuffix(" = 1")
            query = f"select * except (rn) from ({inner.replace('*', f'*, {number} as rn')}) where rn = 1"
        table, rows = self.shop.built(name), f"({query})"
        return [
            self.shop.sql(f"select * from {one} except all select * from {other}")
            for one, other in ((table, rows), (rows, table))
        ]


CHANGES = [
    ["insert into {orders} values (6, 3, 60.00, array('x'), timestamp '2026-01-06 00:00:00')"],
    ["update {orders} set amount = amount + 1 where id in (1, 4)", "delete from {orders} where id = 2"],
    ["update {customers} set region = 'west' where id = 1", "insert into {customers} values (9, 'east', 'Eve')"],
    ["delete from {customers} where id = 2", "update {orders} set customer_id = 3 where id = 1"],
    ["insert into {orders} values (1, 1, 10.00, array('a', 'b'), timestamp '2026-01-01 00:00:00')"],
    ["delete from {orders} where true"],
]


@pytest.mark.core("1")
@pytest.mark.parametrize("rebuild_above", [None, 1])
def test_each_run_makes_the_table_equal_to_its_sql(auto, rebuild_above):
    config = {} if rebuild_above is None else {"rebuild_above": rebuild_above}
    for name, sql in QUERIES.items():
        auto.model(name, sql, **config)
    assert auto.shop.run().success
    for statements in CHANGES:
        auto.change(*statements)
        found = auto.shop.run()
        assert found.success, found.printed
        differing = {name: auto.differs(name, sql) for name, sql in QUERIES.items()}
        assert not {name: rows for name, rows in differing.items() if any(rows)}


@pytest.mark.core
def test_a_server_holds_the_same_rows(auto, monkeypatch):
    hold_as_a_server(monkeypatch)
    kept = {name: QUERIES[name] for name in ("lines", "by_region", "numbered", "without_orders")}
    for name, sql in kept.items():
        auto.model(name, sql, rebuild_above=1)
    auto.shop.run()
    for statements in CHANGES[:4]:
        auto.change(*statements)
        auto.shop.run()
        differing = {name: auto.differs(name, sql) for name, sql in kept.items()}
        assert not {name: rows for name, rows in differing.items() if any(rows)}


def test_all_rows_are_replaced_if_the_sql_for_the_affected_rows_fails(auto, monkeypatch):
    def failing(*arguments):
        raise StatementError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012")

    auto.model("lines", QUERIES["lines"], rebuild_above=1)
    auto.shop.run()
    auto.change("update {orders} set amount = amount + 1 where id = 1")
    monkeypatch.setattr(AutoWriter, "_replace_affected", failing)
    found = auto.shop.run()
    assert "lines: all rows are replaced, since the SQL for the affected rows fails" in found.printed
    assert auto.differs("lines", QUERIES["lines"]) == [[], []]
