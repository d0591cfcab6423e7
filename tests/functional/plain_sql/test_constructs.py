"""Constructs of SQL with the strategy ``auto``: the table equals its SQL, and a small change writes few rows."""

from __future__ import annotations

import pytest
import yaml

from .test_explain import explained

ROWS = 400
ORDERS = "id int, customer_id int, day date, amount decimal(10, 2), items array<string>"
CUSTOMERS = "customer_id int, region string, score double"
ORDER = "{0}, {0} % 40, date_add(date '2026-01-01', cast({0} % 20 as int)), {0} * 1.25, array('a', 'b')"
AFFECTED = {
    "full_joined": "select o.id, c.customer_id, c.region from {orders} o full join {customers} c using (customer_id)",
    "full_joined_on": (
        "select coalesce(a.id, b.id) as id, a.amount, b.day from {orders} a full join "
        "(select * from {orders} where amount > 100) b on a.id = b.id + 1"
    ),
    "natural_joined": "select * except (items) from {orders} natural join {customers}",
    "natural_left_joined": "select customer_id, id, region from {orders} natural left join {customers}",
    "rolled_up": (
        "select customer_id, day, grouping(day) as g, grouping_id() as gid, sum(amount) as amount, count(*) as n "
        "from {orders} group by rollup (customer_id, day)"
    ),
    "cubed": "select customer_id % 5 as c, day, max(id) as id from {orders} group by cube (customer_id % 5, day)",
    "with_sets": (
        "select customer_id, day, min(amount) as amount from {orders} "
        "group by grouping sets ((customer_id, day), (customer_id), day) having count(*) > 0"
    ),
    "ranked_in_rollup": (
        "select customer_id, day, sum(amount) as amount, rank() over (partition by grouping(day), customer_id "
        "order by sum(amount) desc) as place from {orders} group by rollup (customer_id, day)"
    ),
    "intersected": "select customer_id from {orders} where id < 300 intersect select customer_id from {customers}",
    "intersected_all": "select customer_id from {orders} intersect all select customer_id from {orders} where id < 50",
    "excepted": "select id, amount from {orders} except select id, amount from {orders} where day > '2026-01-15'",
    "excepted_all": "select customer_id from {orders} minus all select customer_id from {customers}",
    "two_windows": (
        "select id, rank() over (partition by customer_id order by amount, id) as a, "
        "sum(amount) over (partition by day) as b from {orders}"
    ),
    "windows_over_groups": (
        "select customer_id, day, count(*) as n, rank() over (partition by customer_id order by count(*), day) as a, "
        "max(count(*)) over (partition by day) as b from {orders} group by customer_id, day"
    ),
    "subquery_in_on": (
        "select o.id, c.region from {orders} o left join {customers} c on o.customer_id = c.customer_id "
        "and c.region in (select region from {customers} where score > 1)"
    ),
    "union_in_subquery": (
        "select c.customer_id from {customers} c where exists (select 1 from {orders} o where o.id = c.customer_id "
        "and o.amount > 20 union all select 1 from {orders} o where o.id = c.customer_id + 1 and o.amount < 5)"
    ),
    "except_in_subquery": (
        "select id from {orders} where customer_id not in (select customer_id from {customers} "
        "where region is not null except select customer_id from {customers} where score < 3)"
    ),
    "limit_in_subquery": (
        "select c.customer_id, (select o.amount from {orders} o where o.customer_id = c.customer_id order by o.day, "
        "o.amount limit 1) as first_amount from {customers} c"
    ),
    "numbered_items": "select id, posexplode(items) as (place, item) from {orders}",
    "stacked": "select id, stack(2, 'day', string(day), 'amount', string(amount)) as (k, v) from {orders}",
    "average": "select customer_id, avg(amount) as amount from {orders} group by customer_id",
    "intervals": "select id, timestamp(day) - interval 1 day 2 hours as t from {orders}",
    "like_all": "select id from {orders} where concat(items[0], items[1]) like all ('a%', '%b')",
    "shifted": "select id << 1 as a, id >> 1 as b, id from {orders}",
    "distinct_of_two": (
        "select o.day, count(distinct o.customer_id) as a, count(distinct c.customer_id) as b from {orders} o "
        "left join {customers} c on o.customer_id = c.customer_id + 1 group by o.day"
    ),
    "lateral_total": (
        "select c.customer_id, t.amount from {customers} c, lateral (select sum(o.amount) as amount from {orders} o "
        "where o.customer_id = c.customer_id) t"
    ),
    "left_lateral": (
        "select o.id, t.region from {orders} o left join lateral (select region from {customers} c "
        "where c.customer_id = o.customer_id) t on t.region > 'r2'"
    ),
    "lateral_function": (
        "select o.id, t.item, c.region from {orders} o join lateral explode(o.items) t(item) "
        "join {customers} c on c.customer_id = o.customer_id"
    ),
    "collated": "select customer_id, region from {customers} where region collate utf8_lcase in ('R1', 'R2', 'NEW')",
    "pivoted_part": (
        "with sums as (select * from (select customer_id, day, amount from {orders}) pivot (sum(amount) for day in "
        "(date '2026-01-02' as second, date '2026-01-03' as third))) "
        "select c.customer_id, c.region, s.second, s.third from {customers} c join sums s using (customer_id)"
    ),
    "unpivoted_part": (
        "select o.id, u.name, u.d from {orders} o join (select id, name, d from (select id, day, date_add(day, 1) as "
        "next from {orders}) unpivot (d for name in (day, next))) u on u.id = o.id where o.amount > 20"
    ),
    "recursive": (
        "with recursive steps (id, level) as (select customer_id, 1 from {customers} where customer_id < 3 union all "
        "select id + 1, level + 1 from steps where level < 4) select id, level from steps"
    ),
    "recursive_part": (
        "with recursive steps (id, level) as (select customer_id, 1 from {customers} where customer_id < 30 union all "
        "select id, level + 1 from steps where level < 4) "
        "select o.id, s.level from {orders} o join steps s on o.customer_id = s.id"
    ),
}
WHOLE = {
    "first_rows": "select id, amount from {orders} order by amount desc limit 5",
    "any_rows": "select customer_id % 2 as c from {orders} limit 7",
    "later_rows": "select day from {orders} order by day limit 3 offset 5",
    "first_of_united": "select id from {orders} union all select customer_id from {customers} order by 1 limit 4",
    "by_all_down": "select day, customer_id from {orders} order by all desc nulls first limit 4",
    "numbered": "select id, row_number() over (order by amount, id) as n from {orders}",
    "share": "select id, amount / sum(amount) over () as part from {orders}",
    "pivoted": (
        "select * from (select customer_id % 3 as c, day, amount from {orders} where customer_id < 9) "
        "pivot (sum(amount) for c in (0 as zero, 1 as one, 2 as two))"
    ),
    "unpivoted": (
        "select * from (select id, day, date_add(day, 1) as next from {orders}) unpivot (d for name in (day, next))"
    ),
    "chosen": (
        "select a is null as b, count(*) as n from (select customer_id, any_value(day) as a from {orders} group by 1) "
        "group by a is null"
    ),
}


@pytest.fixture
def constructs(shop):
    orders, customers = shop.source("orders", ORDERS), shop.source("customers", CUSTOMERS)
    shop.sql(f"insert into {orders} select {ORDER.format('cast(id as int)')} from range({ROWS})")
    shop.sql(f"insert into {customers} select cast(id as int), concat('r', id % 7), id / 4.0 from range(0, 80, 2)")
    tables = {"orders": orders, "customers": customers}
    named = {table: f"{{{{ source('raw', '{table}') }}}}" for table in tables}
    for name, sql in {**AFFECTED, **WHOLE}.items():
        shop.model(name, sql.format(**named), incremental_strategy="auto", rebuild_above=1)
    return shop, tables


CHANGES = [
    ["update {orders} set amount = amount + 1 where id = 7"],
    ["delete from {orders} where id = 11", "update {customers} set region = 'new', score = 9 where customer_id = 6"],
    ["insert into {orders} values (9000, 6, date '2026-02-01', 1.00, array('a', 'b'))"],
    ["insert into {customers} values (7, null, null)", "delete from {customers} where customer_id = 8"],
    ["update {orders} set customer_id = null, day = null where id in (8, 9)"],
]
ORDERED = {"first_rows": 2, "any_rows": 1, "later_rows": 1, "first_of_united": 1}
"""The number of columns of the queries with LIMIT, by which their results are ordered."""


def test_the_affected_rows_are_replaced(constructs):
    shop, tables = constructs
    found = shop.run()
    assert found.success, found.printed[-3000:]
    how = explained(shop)
    assert {name: how[name]["update_method"]["whole"] for name in AFFECTED} == dict.fromkeys(AFFECTED)
    assert all(how[name]["update_method"]["key"] for name in AFFECTED)
    for name in WHOLE:
        assert how[name]["is_incremental"] and not how[name]["update_method"]["key"], name
    for statements in CHANGES:
        for each in statements:
            shop.sql(each.format(**tables))
        found = shop.run()
        assert found.success, found.printed[-3000:]
        require_equal(shop, tables)
        results = {each["unique_id"].rpartition(".")[2]: each for each in shop.run_results()["results"]}
        written = {name: results[name]["adapter_response"]["rows_affected"] for name in AFFECTED}
        size = {name: shop.sql(f"select count(*) from {shop.built(name)}")[0][0] for name in AFFECTED}
        many = {name: (rows, size[name]) for name, rows in written.items() if rows > max(40, size[name] / 3)}
        assert not many
    assert shop.run().success


def test_a_limit_is_left_alone_if_the_changes_are_below_its_last_row(shop):
    orders = shop.source("orders", ORDERS)
    shop.sql(f"insert into {orders} select {ORDER.format('cast(id as int)')} from range({ROWS})")
    query = "select id, amount from {} order by amount desc, id limit 5"
    sql = query.format("{{ source('raw', 'orders') }}")
    shop.model("first_rows", sql, incremental_strategy="auto", rebuild_above=1)
    assert shop.run().success
    for statement, is_left in (
        (f"update {orders} set amount = amount + 1 where id < 50", True),
        (f"insert into {orders} values (9000, 1, null, 3.00, null)", True),
        (f"delete from {orders} where id in (3, {ROWS - 2})", False),
        (f"insert into {orders} values (9001, 1, null, 3000.00, null)", False),
    ):
        shop.sql(statement)
        found = shop.run()
        assert found.success and ("come after the last row that LIMIT returns" in found.printed) == is_left, statement
        assert shop.rows(shop.built("first_rows")) == shop.rows(f"({query.format(orders)})")


def test_functions_of_the_user_that_are_deterministic(shop):
    orders = shop.source("orders", ORDERS)
    shop.sql(f"insert into {orders} select {ORDER.format('cast(id as int)')} from range({ROWS})")
    define = "create or replace function spark_catalog.default.tax() returns decimal(3, 2) return {}"
    shop.sql(define.format("0.5"))
    query = (
        "with net as (select id, amount * spark_catalog.default.tax() as net from {0}) "
        "select o.id, o.day, n.net from {0} o join net n on n.id = o.id"
    )
    sql = query.format("{{ source('raw', 'orders') }}")
    shop.model("kept", sql, incremental_strategy="auto", rebuild_above=1)
    failed = shop.fails()
    assert "tax(), which is not a built-in function" in failed and "list it in deterministic_functions" in failed
    shop.model(
        "kept", sql, incremental_strategy="auto", rebuild_above=1, deterministic_functions="spark_catalog.default.tax"
    )
    assert shop.run().success
    shop.sql(f"update {orders} set amount = 7 where id = 7")
    found = shop.run()
    assert found.success and "2 keys of" in found.printed, found.printed
    shop.sql(define.format("0.25"))
    found = shop.run()
    assert found.success and "another text of its SQL" in found.printed
    assert shop.rows(shop.built("kept")) == shop.rows(f"({query.format(orders)})")


def require_equal(shop, tables):
    differing = {}
    for name, sql in {**AFFECTED, **WHOLE}.items():
        query = sql.format(**tables)
        if name in ORDERED:
            listed = ", ".join(str(place + 1) for place in range(ORDERED[name]))
            before, limit = query.split(" limit ")
            query = f"{before}{',' if 'order by' in before else ' order by'} {listed} limit {limit}"
        found, expected = shop.rows(shop.built(name)), shop.rows(f"({query})")
        if found != expected:
            differing[name] = (found - expected, expected - found)
    assert not differing


LONG = (
    "select id, symbol, day, max(price) over (partition by symbol order by day rows between 99 preceding and current "
    "row) as high, min(price * 2) over (partition by symbol order by day rows between 90 preceding and 5 preceding) "
    "as low, lag(price) over (partition by symbol order by day) as previous from {}"
)


@pytest.mark.core
def test_long_frames_are_divided_into_blocks(shop, asked_of_spark):
    prices = shop.source("prices", "id int, symbol int, day int, price decimal(9, 2)")
    shop.sql(f"insert into {prices} select id, id % 3, id div 3, pmod(hash(id), 10000) / 100 from range(1000)")
    sql = LONG.format("{{ source('raw', 'prices') }}")
    types = {"id": "int", "symbol": "int", "day": "int", "high": "decimal(9,2)", "low": "decimal(11,2)"}
    columns = [{"name": name, "data_type": type_} for name, type_ in {**types, "previous": "decimal(9,2)"}.items()]
    shop.write("models/agreed.yml", yaml.safe_dump({"models": [{"name": "agreed", "columns": columns}]}))
    for statement, where in (
        ("", ""),
        (f"insert into {prices} values (5000, 1, 400, 99.99), (5001, 2, 401, 0.01), (5002, 9, 1, null)", ""),
        (f"update {prices} set price = null where id in (400, 401)", ""),
        (f"delete from {prices} where day between 100 and 110 and symbol = 0", ""),
        (f"update {prices} set price = 7 where id = 3", " where id > 1"),  # another text of the SQL
    ):
        for name, above in (("kept", 1), ("rebuilt", 0)):
            shop.model(name, sql + where, incremental_strategy="auto", rebuild_above=above)
        shop.model("agreed", sql + where, incremental_strategy="auto", contract={"enforced": True})
        if statement:
            shop.sql(statement)
        asked_of_spark.clear()
        assert shop.run().success
        written = [each for each in asked_of_spark if " DIV 100" in each and " DIV 86" in each]
        assert len(written) == 3, asked_of_spark
        expected = shop.rows(f"({LONG.format(prices)}{where})")
        for name in ("kept", "rebuilt", "agreed"):
            assert shop.rows(shop.built(name)) == expected, name
    assert {each["result"] for each in shop.verified().values()} == {"equal"}


BACK = {
    "running": "select symbol, day, id, sum(price) over (partition by symbol order by day) as total from {}",
    "moving": (
        "select symbol, day, id, avg(price) over (partition by symbol order by day, id rows between 59 preceding and "
        "current row) as mean, lag(price, 2) over (partition by symbol order by day, id) as previous from {}"
    ),
    "high": (
        "with t as (select *, max(price) over (partition by symbol order by day desc nulls first rows between 70 "
        "preceding and current row) as high from {}) "
        "select t.symbol, t.day, t.id, t.high, s.name from t left join {} s on s.symbol = t.symbol"
    ),
    "total": "select day, id, rank() over (order by day) as place, sum(price) over (order by day) as total from {}",
    "by_month": (
        "select symbol, day div 30 as month, sum(price) as price, sum(sum(price)) over (partition by symbol order by "
        "day div 30) as total from {} group by symbol, day div 30"
    ),
}


@pytest.mark.core
def test_windows_that_look_back_replace_the_rows_from_the_first_changed_one_on(shop):
    prices = shop.source("prices", "id int, symbol string, day int, price decimal(9, 2)")
    names = shop.source("names", "symbol string, name string")
    added = "insert into {0} select id, concat('s', id % 4), id div 4, pmod(hash(id), 1000) from range({1}, {2})"
    shop.sql(added.format(prices, 0, 1200))
    shop.sql(f"insert into {names} select concat('s', id), concat('n', id) from range(5)")
    for name, sql in BACK.items():
        read = sql.format("{{ source('raw', 'prices') }}", "{{ source('raw', 'names') }}")
        shop.model(name, read, incremental_strategy="auto", rebuild_above=1)
    assert shop.run().success
    assert all(each["update_method"]["whole"] is None for each in explained(shop).values())
    new, corrected = dict.fromkeys(BACK, 4), dict.fromkeys(BACK, 4 * 11)
    for statement, most in (
        (added.format(prices, 1200, 1204), {**new, "high": 1204}),
        (f"update {prices} set price = 5 where id = 1160", {**corrected, "high": 1204}),
        (f"delete from {prices} where id between 1180 and 1182", {**corrected, "high": 1204}),
        (  # rows that are written again without a change are not the first changed ones
            f"update {prices} set price = price where id < 8; {added.format(prices, 1204, 1208)}",
            {**new, "high": 1208},
        ),
        (f"update {prices} set day = 1 where id = 1201", {}),
        (f"insert into {prices} values (3000, 's1', null, 7), (3001, null, 5, 1), (3002, 's9', 301, 2)", {}),
        (f"update {names} set name = 'other' where symbol = 's3'", {**dict.fromkeys(BACK, 0), "high": 302}),
    ):
        for each in statement.split("; "):
            shop.sql(each)
        found = shop.run()
        assert found.success, found.printed[-3000:]
        for name, sql in BACK.items():
            assert shop.rows(shop.built(name)) == shop.rows(f"({sql.format(prices, names)})"), (name, statement)
        results = {each["unique_id"].rpartition(".")[2]: each for each in shop.run_results()["results"]}
        written = {name: results[name]["adapter_response"]["rows_affected"] for name in most}
        assert all(written[name] <= rows for name, rows in most.items()), (statement, written)
