"""Which relations of a SELECT are omitted when affected keys are searched, and which columns they match."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from iceberg_incremental.query.fewer_relations import Match, fewer_relations
from iceberg_incremental.query.normal import clauses
from sqlglot import exp

from iceberg_incremental.query.plan import incremental_query
from iceberg_incremental.query.text.dialect import PlainSpark
from iceberg_incremental.table.history import TableName

COLUMNS = {
    TableName("lake", "raw", "lines"): {"id": "int", "order_id": "int", "product_id": "int", "amount": "int"},
    TableName("lake", "raw", "orders"): {"id": "int", "customer_id": "int", "status": "string"},
    TableName("lake", "raw", "customers"): {"id": "int", "region": "string"},
    TableName("lake", "raw", "products"): {"id": "int", "cost": "int"},
}
LINES, ORDERS, CUSTOMERS, PRODUCTS = (f"lake.raw.{name}" for name in ("lines", "orders", "customers", "products"))
STAR = f"{LINES} l join {ORDERS} o on o.id = l.order_id left join {CUSTOMERS} c on c.id = o.customer_id"

CASES = {
    "a chain of joins": (f"select l.id, c.region from {STAR}", ["id"], ["l"], ["l.order_id = o(o.customer_id = c)"]),
    "a relation between two that are needed": (
        f"select l.id, c.region from {STAR}",
        ["id", "region"],
        ["l", "o", "c"],
        [],
    ),
    "the first relation of inner joins": (
        f"select l.id, o.status from {LINES} l join {ORDERS} o on o.id = l.order_id",
        ["status"],
        ["o"],
        ["o.id = l"],
    ),
    "the first relation of a left join": (
        f"select l.id, c.region from {LINES} l left join {CUSTOMERS} c on c.id = l.id",
        ["region"],
        ["l", "c"],
        [],
    ),
    "two branches": (
        f"select l.id, o.status from {LINES} l join {PRODUCTS} p on p.id = l.product_id, {ORDERS} o "
        "where o.id = l.order_id and o.status <> 'new' and l.amount > p.cost",
        ["id"],
        ["l"],
        ["l.order_id = o where o.status <> 'new'", "l.product_id = p"],
    ),
    "no equal columns": (
        f"select l.id, p.cost from {LINES} l join {PRODUCTS} p on p.cost < l.amount",
        ["id"],
        ["l", "p"],
        [],
    ),
    "a subquery that reads it": (
        f"select l.id from {LINES} l join {ORDERS} o on o.id = l.order_id "
        f"where exists (select 1 from {CUSTOMERS} c where c.id = o.customer_id)",
        ["id"],
        ["l", "o"],
        [],
    ),
    "a lateral view": (
        f"select l.id, n from {LINES} l join {ORDERS} o on o.id = l.order_id "
        "lateral view explode(array(l.amount)) t as n",
        ["id"],
        ["l", "o"],
        [],
    ),
    "an equality of the optional side in WHERE": (
        f"select l.id, p.cost from {LINES} l left join {PRODUCTS} p on p.cost < l.amount where p.id = l.product_id",
        ["id"],
        ["l", "p"],
        [],
    ),
    "a condition with a subquery": (
        f"select l.id from {LINES} l join {ORDERS} o on o.id = l.order_id "
        f"where o.customer_id = (select max(c.id) from {CUSTOMERS} c)",
        ["id"],
        ["l", "o"],
        [],
    ),
    "NULL for a missing partner": (
        f"select l.id from {LINES} l left join {ORDERS} o on o.id = l.order_id "
        f"left join {CUSTOMERS} c on c.id <=> o.customer_id",
        ["id"],
        ["l", "o", "c"],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_remaining_relations(name: str) -> None:
    sql, key, stay, matches = CASES[name]
    listed = sql.split(" from ")[0].removeprefix("select ").replace(",", "").split()
    kept = incremental_query(sql, COLUMNS, "lake", {each.split(".")[-1]: "int" for each in listed})
    root = kept.root.query
    assert isinstance(root, exp.Select)
    outputs = {each.alias_or_name: each.unalias() for each in root.expressions}
    found = fewer_relations(root, [outputs[column] for column in key], lambda name: True)
    letters = {alias: kept.reading.tables[each.name].name[0] for alias, each, _ in clauses(root)}
    assert [letters[alias] for alias, _, _ in clauses(found.select)] == stay
    shown = [f"{letters[alias]}.{_text(each, letters)}" for alias, those in found.matches.items() for each in those]
    assert shown == matches


def test_relations_without_changes_are_omitted_completely() -> None:
    kept = incremental_query(f"select l.id, c.region from {STAR}", COLUMNS, "lake", {"id": "int", "region": "string"})
    assert isinstance(kept.root.query, exp.Select)
    found = fewer_relations(kept.root.query, [kept.root.query.expressions[0].unalias()], lambda name: False)
    assert not found.matches and not found.select.args.get("joins")


def _text(match: Match, letters: Mapping[str, str]) -> str:
    """How a relation matches a remaining one, with the first letter of each table instead of its alias."""
    ((_, other),) = match.columns.items()
    letter = letters[match.alias]
    inner = ", ".join(f"{letter}.{_text(each, letters)}" for each in match.matches)
    filters = " and ".join(each.sql(PlainSpark).replace("`", "").replace(match.alias, letter) for each in match.filters)
    return f"{other} = {letter}" + (f"({inner})" if inner else "") + (f" where {filters}" if filters else "")
