"""Which relations of a SELECT are omitted when affected keys are searched, and which columns they match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from iceberg_incremental.query.algebra.build import build
from iceberg_incremental.query.algebra.nodes import Project, Scan, all_nodes
from iceberg_incremental.query.algebra.tree import Tree
from iceberg_incremental.query.rules.keys import Fewer, Match, fewer_relations
from iceberg_incremental.query.text.dialect import PlainSpark
from iceberg_incremental.query.text.parsing import parsed
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


def _fewer(sql: str, key: Sequence[str], *, changed: bool) -> tuple[Tree, Fewer]:
    tree = build(parsed(sql), COLUMNS, "lake")
    root = tree.root
    assert isinstance(root, Project)
    values = [dict(root.outputs)[column] for column in key]
    return tree, fewer_relations(root.child, values, tree.subqueries, lambda node: changed)


@pytest.mark.parametrize("name", CASES)
def test_the_remaining_relations(name: str) -> None:
    sql, key, stay, matches = CASES[name]
    tree, found = _fewer(sql, key, changed=True)
    letters = {
        each.alias: tree.tables[each.table].name[0]
        for each in all_nodes(tree.root, tree.subqueries)
        if isinstance(each, Scan)
    }
    scans = [each for item in found.items for each in all_nodes(item.node, {}) if isinstance(each, Scan)]
    assert [letters[each.alias] for each in scans] == stay
    shown = [
        f"{_letter(node, letters)}.{_text(each, letters)}" for node, those in found.matches.items() for each in those
    ]
    assert shown == matches


def test_relations_without_changes_are_omitted_completely() -> None:
    _, found = _fewer(f"select l.id, c.region from {STAR}", ["id"], changed=False)
    assert not found.matches and isinstance(found.node, Scan)


def _letter(node: object, letters: Mapping[str, str]) -> str:
    assert isinstance(node, Scan)
    return letters[node.alias]


def _text(match: Match, letters: Mapping[str, str]) -> str:
    """How a relation matches a remaining one, with the first letter of each table instead of its alias."""
    (((alias, _), (_, other)),) = match.columns.items()
    letter = letters[alias]
    inner = ", ".join(f"{letter}.{_text(each, letters)}" for each in match.matches)
    filters = " and ".join(each.sql(PlainSpark).replace("`", "").replace(alias, letter) for each in match.filters)
    return f"{other} = {letter}" + (f"({inner})" if inner else "") + (f" where {filters}" if filters else "")
