"""The text of plain SQL: a change of what it computes is detected, although the model's code is the same."""

from __future__ import annotations

import pytest

from iceberg_incremental.metadata.views import View
from iceberg_incremental.table.history import TableName
from iceberg_incremental.write.auto.auto_sql import auto_sql

A, B, SEEN = (TableName("lake", "shop", name) for name in ("a", "b", "seen"))
SQL = "select a.id from lake.shop.a left join lake.shop.b on a.id = b.id"


def digest(sql, view=None, environment="shop"):
    parents = [TableName("lake", environment, each.name) for each in (A, B, SEEN)]
    known = {} if view is None else {parents[2]: View(view, {"id": "int"}, "lake", environment)}
    return auto_sql(sql.replace("shop.", f"{environment}."), "lake", parents, known.get).text_digest


@pytest.mark.parametrize(
    "other",
    [
        f"{SQL} where a.id < 3",
        f"{SQL} limit 3",
        SQL.replace("a.id from", "b.id from"),
        "select a.id from lake.shop.b left join lake.shop.a on a.id = b.id",
        SQL.replace("shop.b ", "shop.a b "),
    ],
)
def test_another_text_has_another_digest(other):
    assert digest(SQL) != digest(other)


@pytest.mark.parametrize("sql", [SQL, f"{SQL} limit 3"])
def test_comments_spaces_and_the_environment_do_not_count(sql):
    assert digest(sql) == digest(f"-- made at 12:00\n{sql.replace(' from ', '  from /* here */ ')}")
    assert digest(sql) == digest(sql, environment="dev")


def test_a_view_counts():
    sql = "select id from lake.shop.seen"
    views = [f"select id from lake.shop.a{rest}" for rest in ("", " where id > 1", " limit 1")]
    assert len({digest(sql, view) for view in views}) == len(views)


@pytest.mark.parametrize(
    ("query", "catalog", "namespace", "reads"),
    [
        ("select id from a", "lake", "ops", TableName("lake", "ops", "a")),
        ("select id from ops.a", "lake", None, TableName("lake", "ops", "a")),
        ("select id from lake.ops.a", None, None, TableName("lake", "ops", "a")),
        ("select id from a", "lake", None, None),
        ("select id from ops.a", None, None, None),
        ("with a as (select id from lake.ops.a) select id from a", None, None, TableName("lake", "ops", "a")),
    ],
)
def test_names_in_a_view_belong_to_the_catalog_and_schema_of_its_creation(query, catalog, namespace, reads):
    view = View(query, {"id": "int"}, catalog, namespace)
    found = auto_sql("select id from lake.shop.seen", "other", [SEEN], {SEEN: view}.get)
    if reads is None:
        assert "the view lake.shop.seen, whose query names tables without a catalog" in str(found.refusal)
    else:
        assert [each.relation for each in found.mentions] == [reads] and found.refusal is None


def test_a_text_that_cannot_be_parsed_has_a_digest():
    assert digest("select from where") != digest("select from where 1")
