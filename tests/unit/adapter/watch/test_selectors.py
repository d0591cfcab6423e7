"""Selection terms, matched by dbt's own functions."""

from __future__ import annotations

import shlex
from fnmatch import fnmatch
from pathlib import PurePath
from types import SimpleNamespace

import pytest
from dbt.graph import cli, selector_spec
from dbt.graph.selector_methods import is_selected_node

from dbt.adapters.spark_iceberg.watch.project import terms


def node(path, *fqn, kind="model"):
    name = f"{kind}.shop.{fqn[-1]}"
    return {"unique_id": name, "fqn": ["shop", *fqn], "original_file_path": path}


NODES = {
    each["unique_id"]: each
    for each in (
        node("models/orders.sql", "orders"),
        node("models/orders/lines.sql", "orders", "lines"),
        node("models/lines/of_orders.sql", "lines", "of_orders"),
        node("models/orders/schema.yml", "orders", "not_null_lines_id", kind="test"),
        node("models/my folder/daily.sql", "my folder", "daily"),
        node("models/a,b/weekly[1].sql", "a,b", "weekly[1]"),
        node("seeds/dotted.name.csv", "dotted.name", kind="seed"),
        node("models/dotted/name.sql", "dotted", "name"),
    )
}


def selected(term):
    """The nodes that dbt selects for a term."""
    methods = {"fqn": lambda each, value: is_selected_node(each["fqn"], value, False)}
    methods["file"] = lambda each, value: fnmatch(PurePath(each["original_file_path"]).name, value)
    (found,) = cli.parse_union([term], expect_exists=True).components
    criteria = getattr(found, "components", [found])
    return {name for name, each in NODES.items() if all(methods[c.method](each, c.value) for c in criteria)}


@pytest.mark.parametrize("name", NODES)
def test_a_term_selects_exactly_one_node(name, monkeypatch):
    for module in (cli, selector_spec):
        monkeypatch.setattr(module, "get_flags", lambda: SimpleNamespace(INDIRECT_SELECTION="eager"))
    (term,) = terms(NODES, [name])
    assert len(shlex.split(term)) == 1
    assert selected(term) == {name}


def test_the_usual_term_is_the_dotted_path():
    assert terms(NODES, ["model.shop.lines", "model.shop.daily"]) == ["shop.my?folder.daily", "shop.orders.lines"]
    assert terms(NODES, ["model.shop.orders"]) == ["shop.orders,file:orders.sql"]
