"""Groups of plain SQL that are updated from the table's rows. After each run, the table equals its SQL."""

from __future__ import annotations

import pytest

from iceberg_incremental.write.auto import update_plan

from .test_auto import CHANGES, Auto, auto  # noqa: F401 (fixture)

QUERIES = {
    "per_customer": "select customer_id, count(*) as n, sum(amount) as amount, sum(amount) / count(*) as mean "
    "from {orders} group by customer_id",
    "without_sizes": "select customer_id, sum(amount) as amount, coalesce(sum(id), 0) as ids from {orders} "
    "group by all",
    "per_region": "select c.region, sum(o.amount) as amount, count(o.id) as n, "
    "sum(case when o.amount > 25 then 1 else 0 end) as large from {orders} o join {customers} c "
    "on o.customer_id = c.id group by c.region",
    "total": "select count(*) as n, sum(amount) as amount, sum(customer_id) as ids from {orders}",
    "wide": "select customer_id, sum(cast(amount as decimal(38, 10))) as amount from {orders} group by customer_id",
    "wide_or_zero": "select customer_id, coalesce(sum(cast(amount as decimal(38, 10))), 0) as amount from {orders} "
    "group by customer_id",
    "products": "select customer_id, count(*) as n, sum(cast(amount as decimal(15, 2)) * cast(id as decimal(15, 2))) "
    "as amount from {orders} group by customer_id",
    "extremes": "select date(ordered_at) as day, min(amount) as low, max(id) as high from {orders} group by 1",
    "feeds": "select feed, count(*) as n, sum(v) as v from (select 'orders' as feed, amount as v from {orders} "
    "union all select 'customers', id from {customers}) u group by feed",
}
LATER = [
    *CHANGES,
    ["insert into {orders} values (7, 1, 5.00, null, null), (8, 1, -5.00, null, null), (9, 2, null, null, null)"],
    ["delete from {orders} where id in (8, 9)", "delete from {customers} where id = 3"],
]


def continued(found) -> set[str]:
    """The models whose groups were updated from the table's rows, according to the log."""
    lines = [line for line in found.printed.splitlines() if "affected groups are updated" in line]
    return {line.split(": affected groups")[0].split(".")[-1].split()[-1] for line in lines}


@pytest.mark.core("copy-on-write-rewritten")
@pytest.mark.parametrize("most_rewritten", [100_000, 0], ids=["rewritten", "replaced"])
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_groups_continue(auto, monkeypatch, most_rewritten, mode):  # noqa: F811
    monkeypatch.setattr(update_plan, "MOST_REWRITTEN", most_rewritten)
    for table in auto.tables.values():
        modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
        auto.change(f"alter table {table} set tblproperties ({modes})")
    for name, sql in QUERIES.items():
        auto.model(name, sql, rebuild_above=1)
    assert auto.shop.run().success
    ways = []
    for statements in LATER:
        auto.change(*statements)
        found = auto.shop.run()
        assert found.success, found.printed
        ways.append(continued(found))
        differing = {name: auto.differs(name, sql) for name, sql in QUERIES.items()}
        assert not {name: rows for name, rows in differing.items() if any(rows)}
    assert ways[0] == set(QUERIES)
    assert "per_customer" in ways[1] and "extremes" not in ways[1]


_LARGE = f"cast(amount as decimal(2, 0)) * cast('1{'0' * 36}' as decimal(37, 0))"
OVERFLOWING = {
    "large": f"select customer_id, sum({_LARGE}) as amount, count(*) as n from {{orders}} group by customer_id",
    "large_or_zero": f"select customer_id, coalesce(sum({_LARGE}), 0) as amount from {{orders}} group by customer_id",
    "large_total": f"select sum({_LARGE}) as amount from {{orders}} where customer_id = 50",
    "large_and_highest": f"select customer_id, sum({_LARGE}) as amount, max(id) as id from {{orders}} "
    "group by customer_id",
    # a change of less than half of the 28th fractional digit
    "small": "select customer_id, count(*) as n, sum(cast(concat('0.', repeat('0', 28), int(amount) % 10) as "
    "decimal(38, 30))) as amount from {orders} group by customer_id",
}
# a total of less than 100 fits
SUMS = [
    ["insert into {orders} values (11, 50, 60.00, null, null)"],
    ["insert into {orders} values (12, 50, 60.00, null, null)"],
    ["update {orders} set amount = amount + 1 where id = 12"],
    ["insert into {orders} values (13, 50, 0.00, null, null)"],
    ["delete from {orders} where id = 11"],
    ["insert into {orders} values (14, 51, 60.00, null, null), (15, 51, 60.00, null, null)"],
    ["insert into {orders} values (16, 52, 10.00, null, null)", "delete from {orders} where id = 15"],
    ["insert into {orders} values (19, 50, 60.00, null, null), (20, 50, 60.00, null, null)"],
    ["delete from {orders} where id in (12, 19, 20)"],
    ["insert into {orders} values (21, 50, 20.00, null, null), (22, 51, 30.00, null, null)"],
    ["insert into {orders} values (23, 50, 5.00, null, null), (24, 51, 1.00, null, null)"],
]


def test_sums_of_38_digits_equal_their_rebuild(auto):  # noqa: F811
    for name, sql in OVERFLOWING.items():
        auto.model(name, sql, rebuild_above=1)
    assert auto.shop.run().success
    ways = []
    for statements in SUMS:
        auto.change(*statements)
        found = auto.shop.run()
        assert found.success, found.printed
        ways.append(continued(found))
        differing = {name: auto.differs(name, sql) for name, sql in OVERFLOWING.items()}
        assert not {name: rows for name, rows in differing.items() if any(rows)}, statements
    assert ways[0] >= {"large", "large_or_zero", "large_and_highest"}
    assert ways[2] == ways[4] == {"small"} and "large" not in ways[5]
    assert ways[-1] == set(OVERFLOWING)


@pytest.mark.core
def test_rows_that_others_wrote_do_not_continue(auto):  # noqa: F811
    auto.model("per_customer", QUERIES["per_customer"], rebuild_above=1)
    assert auto.shop.run().success
    auto.shop.sql(f"delete from {auto.shop.built('per_customer')} where customer_id = 1")
    auto.change("insert into {orders} values (6, 1, 60.00, null, null)")
    found = auto.shop.run()
    assert found.success and not continued(found)
    assert not any(auto.differs("per_customer", QUERIES["per_customer"]))
    auto.shop.run("--full-refresh")
    auto.change("insert into {orders} values (7, 1, 60.00, null, null)")
    found = auto.shop.run()
    assert continued(found) == {"per_customer"}
    assert not any(auto.differs("per_customer", QUERIES["per_customer"]))


def test_rows_of_other_writers_are_replaced_before_their_snapshots_expire(auto):  # noqa: F811
    auto.model("per_customer", QUERIES["per_customer"], rebuild_above=1)
    assert auto.shop.run().success
    built = auto.shop.built("per_customer")
    auto.shop.sql(f"delete from {built} where customer_id = 1")
    auto.change("insert into {orders} values (6, 2, 60.00, null, null)")
    assert not continued(auto.shop.run())
    assert not any(auto.differs("per_customer", QUERIES["per_customer"]))
    auto.shop.sql(
        f"call {auto.shop.catalog}.system.expire_snapshots(table => '{built}', older_than => timestamp '2100-01-01')"
    )
    auto.change("insert into {orders} values (7, 1, 60.00, null, null)")
    assert auto.shop.run().success
    assert not any(auto.differs("per_customer", QUERIES["per_customer"]))
