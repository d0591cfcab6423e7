"""``sort_by``: the order of rows within the files of a model's table."""

from __future__ import annotations

from itertools import pairwise

import pytest

from .shop import Shop

CHANGES = "select id, at, amount from {{ ip_changes(source('raw', 'sales')) }}"
PLAIN = "select id, at, amount from {{ source('raw', 'sales') }}"
ROWS = (
    "insert into {sales} select int(id), timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, int(id % 3)), "
    "decimal((id * 7919) % 1000) from range({first}, {last})"
)


@pytest.fixture
def sales(shop: Shop) -> Shop:
    shop.source("sales", "id int, at timestamp, amount decimal(10,0)")
    sell(shop, 0, 3000)
    return shop


def sell(shop: Shop, first: int, last: int) -> None:
    shop.sql(ROWS.format(sales=shop.raw("sales"), first=first, last=last))


def orders(shop: Shop, name: str, columns: str = "amount, id") -> list[bool]:
    """Whether the rows of each file are in order, by the position of the rows."""
    rows = shop.sql(f"select _file, {columns} from {shop.built(name)} order by _file, _pos")
    files = sorted({file for file, *_ in rows})
    keys = [[tuple(values) for file, *values in rows if file == each] for each in files]
    return [all(one <= other for one, other in pairwise(each)) for each in keys]


def files(shop: Shop, name: str) -> int:
    return len(orders(shop, name))


def mode(shop: Shop, name: str) -> str | None:
    return shop.properties(shop.built(name)).get("write.distribution-mode")


KINDS = {
    "append": (CHANGES, {"incremental_strategy": "append"}),
    "merge": (CHANGES, {"incremental_strategy": "merge", "unique_key": "id"}),
    "apply_changes": (
        "select * from {{ ip_changelog(source('raw', 'sales')) }}",
        {"incremental_strategy": "apply_changes", "unique_key": "id"},
    ),
    "auto": (PLAIN, {"incremental_strategy": "auto", "rebuild_above": 1}),
    "table": (PLAIN, {"materialized": "table"}),
    "incremental": (PLAIN, {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}),
}


@pytest.mark.core("auto-None", "append-days(at)", "table-days(at)")
@pytest.mark.parametrize("partition_by", [None, "days(at)"])
@pytest.mark.parametrize("kind", KINDS)
def test_builds_and_runs_write_rows_in_order(sales, kind, partition_by):
    sql, config = KINDS[kind]
    sales.model("t", sql, sort_by=["amount desc", "id"], partition_by=partition_by, **config)
    assert sales.run().success
    columns = "-amount, id"
    assert all(orders(sales, "t", columns)) and len(sales.rows(sales.built("t"))) == 3000
    assert mode(sales, "t") == ("none" if partition_by is None else "hash")
    before = files(sales, "t")
    sell(sales, 3000, 6000)
    assert sales.run().success
    assert files(sales, "t") > before or kind in ("table", "incremental")
    assert all(orders(sales, "t", columns)) and len(sales.rows(sales.built("t"))) == 6000
    assert sales.run("--full-refresh").success
    assert all(orders(sales, "t", columns))


@pytest.mark.core
def test_a_change_is_reported_and_maintenance_applies_it(sales):
    config = {"incremental_strategy": "append"}
    sales.model("t", CHANGES, **config)
    sales.run()
    sales.model("t", CHANGES, sort_by=["truncate(10, id)", "amount desc nulls first"], **config)
    for number in range(5):
        sell(sales, 3000 + 100 * number, 3100 + 100 * number)
        ran = sales.run()
    said = (
        "sort_by is truncate(10,id) asc nulls first, amount desc nulls first in the config and the table is not sorted"
    )
    assert said in ran.printed
    assert "Dry run" in sales.operation("ip_maintain", dry_run=True).printed
    printed = sales.operation("ip_maintain").printed
    assert "set_write_order" in printed and "rewrite_data_files" in printed
    assert orders(sales, "t", "id - id % 10, -amount") == [True]
    sell(sales, 9000, 9100)
    assert "in the config and" not in sales.run().printed
    assert "set_write_order" not in sales.operation("ip_maintain").printed


def test_a_snapshot_is_sorted(sales):
    sales.write(
        "snapshots/kept.sql",
        "{% snapshot kept %}{{ config(strategy='check', check_cols='all', unique_key='id', sort_by='amount') }}"
        "select id, amount from {{ source('raw', 'sales') }}{% endsnapshot %}",
    )
    assert sales.dbt("snapshot").success
    assert all(orders(sales, "kept", "amount"))
    sales.sql(f"update {sales.raw('sales')} set amount = amount + 1")
    assert sales.dbt("snapshot").success
    assert all(orders(sales, "kept", "amount"))


def test_the_users_own_distribution_stays(sales):
    properties = {"write.distribution-mode": "range"}
    sales.model("t", PLAIN, sort_by="amount", tblproperties=properties, incremental_strategy="auto")
    assert sales.run().success
    assert mode(sales, "t") == "range"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("amount descending", "sort_by of model.shop.t has 'amount descending', neither a column name"),
        (["amount", 1], "sort_by of model.shop.t has '1', a int"),
        ("week(at)", "an unknown transform, week"),
        ("price", "price"),
    ],
)
def test_a_wrong_order_is_an_error_before_anything_is_built(sales, value, message):
    sales.model("t", PLAIN, sort_by=value, incremental_strategy="auto")
    assert message in sales.fails()
    assert sales.sql(f"show tables in {sales.catalog}.`{sales.schema}`") == []
