"""Sums and counts that follow signed changes. After every run, they equal a rebuild.

The model is the example in docs/patterns.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt.adapters.spark_iceberg.spark.port import DbtSpark

from .shop import CATALOG, hold_as_a_server
from .test_commit_kinds import BASE, KINDS, NO_ROWS, UNSEEN, commit

DOCS = Path(__file__).parents[3] / "docs" / "patterns.md"
EXAMPLES = re.findall(r"```sql\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
(EXAMPLE,) = (text for text in EXAMPLES if "ip_signed_changes" in text)

COLUMNS = "order_id int, customer_id int, amount decimal(10,2)"
REBUILT = """
    select customer_id, count(*) as orders, count(amount) as amounts, cast(sum(amount) as decimal(18, 2)) as amount
    from {} group by customer_id
"""
MODES = ", ".join(f"'write.{statement}.mode'='{{mode}}'" for statement in ("delete", "update", "merge"))
LAYOUTS = {
    f"v{version}_{mode.replace('-', '_')}": f"tblproperties ('format-version'='{version}', {MODES.format(mode=mode)})"
    for version in (2, 3)
    for mode in ("copy-on-write", "merge-on-read")
}
REWRITE = f"call {CATALOG}.system.rewrite_data_files(table => '{{t}}', options => map('rewrite-all', 'true'))"
FIRST = "insert into {t} values (1, 1, 1.25), (2, 1, 2.50), (3, 2, null), (4, null, 8), (5, 3, 16), (6, 4, null)"
STEPS = {
    "rows are added": ["insert into {t} values (7, 1, 32), (8, 5, -64), (9, null, null)"],
    "the last value goes, and the first comes": [
        "update {t} set amount = null where order_id = 5",
        "update {t} set amount = 128 where order_id = 3",
    ],
    "rows move to other groups, and to none": [
        "update {t} set customer_id = 2 where order_id = 1",
        "update {t} set customer_id = null where order_id = 2",
        "update {t} set customer_id = 6 where order_id = 4",
    ],
    "groups are emptied": ["delete from {t} where customer_id = 5 or customer_id is null"],
    "a group is emptied and filled again": [
        "delete from {t} where customer_id = 6",
        "insert into {t} values (10, 6, 3), (11, null, 0.5)",
    ],
    "nothing changes": [
        "update {t} set amount = amount",
        "insert into {t} values (12, 7, 1)",
        "delete from {t} where order_id = 12",
    ],
    "merged and compacted": [
        "merge into {t} t using (values (1, 2, 9.75), (3, null, null), (13, 8, 5)"
        " as s(order_id, customer_id, amount)) s on t.order_id = s.order_id"
        " when matched and s.customer_id is null then delete"
        " when matched then update set * when not matched then insert *",
        REWRITE,
        "update {t} set amount = amount + 1 where order_id = 7",
    ],
    "only compacted": [REWRITE],
    "all is overwritten": ["insert overwrite {t} values (1, 1, 7), (20, null, null), (21, 9, 0)"],
    "columns are added, renamed and widened": [
        "alter table {t} add column note string first",
        "alter table {t} rename column order_id to id",
        "alter table {t} alter column amount type decimal(14,2)",
        "insert into {t} (id, customer_id, amount) values (22, 1, 123456789.25)",
        "update {t} set amount = 3 where id = 21",
    ],
    "all is deleted": ["delete from {t}"],
}


def define(shop, name, source, **renamed):
    """Write the example for a source, with other names for its columns."""
    sql = EXAMPLE.replace("ref('orders')", "RELATION")
    for column, other in {**renamed, "RELATION": f"source('raw', '{source}')"}.items():
        sql = sql.replace(column, other)
    shop.write(f"models/{name}.sql", sql)


def assert_rebuilt(shop, table, name="sums"):
    assert shop.rows(shop.built(name)) == shop.rows(f"({REBUILT.format(table)})")


@pytest.mark.thorough
def test_sums_follow_every_change(shop):
    tables = {layout: shop.source(layout, COLUMNS, clauses) for layout, clauses in LAYOUTS.items()}
    for layout, table in tables.items():
        define(shop, f"{layout}_sums", layout)
        commit(shop, table, [FIRST])
    shop.run()
    for step, statements in STEPS.items():
        for table in tables.values():
            commit(shop, table, statements)
        found = shop.run()
        for layout, table in tables.items():
            name = f"{layout}_sums"
            assert shop.rows(shop.built(name)) == shop.rows(f"({REBUILT.format(table)})"), (layout, step)
            assert found.action(name) == ("advance" if step == "only compacted" else "apply")


@pytest.mark.thorough
def test_every_kind_of_commit(shop):
    """Sums the source's ids by its other column."""
    by_v = {"customer_id": "v", "amounts": "ids", "amount": "id", "orders": "n"}
    for kind, commits in KINDS.items():
        commit(shop, shop.source(kind, "id int, v string", commits.clauses), BASE)
        define(shop, f"{kind}_sums", kind, **by_v)
    shop.run()
    for kind, commits in KINDS.items():
        commit(shop, shop.raw(kind), commits.statements)
    found = shop.run()
    for kind in KINDS:
        rebuilt = f"(select v, count(*), count(id), cast(sum(id) as decimal(18, 2)) from {shop.raw(kind)} group by v)"
        assert shop.rows(shop.built(f"{kind}_sums")) == shop.rows(rebuilt), kind
        no_rows = kind in NO_ROWS or kind == "rows_that_come_and_go"
        action = "nothing" if kind in UNSEEN else "advance" if no_rows else "apply"
        assert found.action(f"{kind}_sums") == action, kind


@pytest.fixture
def orders(shop):
    """A source and the model of its sums, which has been built."""
    table = shop.source("orders", COLUMNS)
    define(shop, "sums", "orders")
    commit(shop, table, [FIRST])
    shop.run()
    return table


@pytest.mark.core
def test_a_source_that_is_rolled_back_rebuilt_or_emptied(shop, orders):
    before = shop.head(orders)
    shop.sql(f"update {orders} set amount = 100 where customer_id = 1")
    shop.run()
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{orders}', {before})")
    assert "was undone by a rollback" in shop.fails()
    shop.sql(f"create or replace table {orders} using iceberg as select * from {orders} where order_id < 4")
    assert shop.run().action("sums") == "rebuild"
    assert_rebuilt(shop, orders)
    shop.sql(f"truncate table {orders}")
    shop.run()
    assert shop.rows(shop.built("sums")) == {}
    shop.insert(orders, "(1, 1, 5)")
    shop.run()
    assert_rebuilt(shop, orders)


def test_a_target_that_is_rolled_back_adds_the_same_changes_again(shop, orders):
    before = shop.head(shop.built("sums"))
    shop.sql(f"delete from {orders} where order_id = 1")
    shop.run()
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{shop.built('sums')}', {before})")
    shop.insert(orders, "(30, 1, 5)")
    shop.run()
    assert_rebuilt(shop, orders)


@pytest.mark.thorough
def test_the_statements_for_a_server(shop, orders, monkeypatch):
    """Spark may compute the changes again after the INSERT, so the SQL must still read the table's earlier state."""
    monkeypatch.setattr(DbtSpark, "scans", None)
    hold_as_a_server(monkeypatch)
    for statements in list(STEPS.values())[:7]:
        commit(shop, orders, statements)
        shop.run()
        assert_rebuilt(shop, orders)


def swap_columns(shop, orders):
    for old, new in (("amount", "x"), ("other", "amount"), ("x", "other")):
        shop.sql(f"alter table {orders} rename column {old} to {new}")


@pytest.mark.parametrize("swap", [True, False])
def test_a_name_that_means_another_column_is_refused(shop, orders, swap):
    """The sums contain the values of the old column. A run would subtract the values of another column."""
    shop.sql(f"alter table {orders} add column other decimal(10,2)")
    shop.run()
    if swap:
        swap_columns(shop, orders)
        shop.insert(orders, "(40, 1, 5, 6)")  # added rows only: later ranges would not show the swap
    else:
        shop.sql(f"alter table {orders} drop column amount")
        shop.sql(f"alter table {orders} add column amount decimal(10,2)")
        shop.sql(f"update {orders} set amount = 7 where order_id = 1")
    before = shop.rows(shop.built("sums"))
    message = shop.fails()
    assert "cannot subtract the rows that it added before" in message and "amount" in message
    assert "dbt run --full-refresh --select sums" in message
    assert shop.rows(shop.built("sums")) == before
    shop.run("--full-refresh")
    shop.sql(f"delete from {orders} where order_id = 1")
    shop.run()
    assert_rebuilt(shop, orders)


def test_a_name_that_means_another_column_since_the_last_commit_is_refused(shop, orders):
    """Appended rows are read by the table's current names."""
    shop.sql(f"alter table {orders} add column other decimal(10,2)")
    shop.run()
    shop.insert(orders, "(40, 1, 5, 6)")
    swap_columns(shop, orders)
    before = shop.rows(shop.built("sums"))
    assert "amount" in shop.fails()
    assert shop.rows(shop.built("sums")) == before


def test_values_that_no_longer_fit_are_an_error(shop, orders):
    shop.sql(f"alter table {orders} alter column amount type decimal(20,2)")
    shop.insert(orders, "(50, 1, 10000000000000000)")
    before = shop.rows(shop.built("sums"))
    assert "a sum of amount does not fit" in shop.fails()
    assert shop.rows(shop.built("sums")) == before


MIXED = """
    select concat('customer ', customer_id) as name, sum(_change_sign) as n,
        if(sum(_change_sign) = 0, 'DELETE', 'UPDATE_AFTER') as _change_type
    from (
        select customer_id, _change_sign from {{ ip_signed_changes(source('raw', 'orders')) }}
        {% if is_incremental() %}
        union all
        select int(split(name, ' ')[1]), n from {{ this }} where name like 'customer%'
        {% endif %}
    )
    where customer_id is not null group by customer_id
    union all
    select concat('order ', order_id), customer_id, _change_type
    from {{ ip_changelog(source('raw', 'orders'), unique_key='order_id') }}
"""
LOGGED = """
    select order_id, _change_sign from {{ ip_signed_changes(source('raw', 'orders')) }}
    union all
    select order_id, 0 from {{ ip_changes(source('raw', 'orders')) }}
"""


def test_signed_changes_together_with_other_changes_of_the_same_source(shop, orders):
    """An UPDATE_AFTER of a sum replaces the table's row, although no old version of it is read."""
    shop.model("mixed", MIXED, incremental_strategy="apply_changes", unique_key="name")
    shop.model("logged", LOGGED, on_source_rewrite="upserts")
    shop.run()
    logged = shop.rows(shop.built("logged"))
    shop.sql(f"update {orders} set customer_id = 2 where order_id = 1")
    shop.insert(orders, "(60, 1, 5)")
    shop.run()
    counted = (
        f"select concat('customer ', customer_id), count(*) from {orders} where customer_id > 0 group by customer_id"
    )
    rows = f"select concat('order ', order_id), customer_id from {orders}"
    assert shop.rows(shop.built("mixed")) == shop.rows(f"({counted} union all {rows})")
    came = shop.rows(shop.built("logged")) - logged
    assert sum(sign * n for (_, sign), n in came.items()) == 1
    assert {order: n for (order, sign), n in came.items() if sign == 0} == {1: 1, 60: 1}


def test_what_is_shown_without_a_run(shop, orders):
    shop.sql(f"update {orders} set amount = 5 where order_id = 1")
    (source,) = shop.statuses()["sums"]["sources"]
    assert (source["pending"], source["snapshots"]) == ("net", 1)
    assert shop.dbt("compile").success
    assert " as _change_sign from " in shop.compiled("sums")
    assert shop.dbt("docs", "generate").success


def test_a_view_has_no_signed_changes(shop, orders):
    shop.sql(f"create view {shop.raw('seen')} as select * from {orders}")
    shop.declare("seen")
    define(shop, "of_view", "seen")
    assert "view" in shop.fails("--select", "of_view")
