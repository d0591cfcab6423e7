"""Finding models and sources by names that users enter."""

from __future__ import annotations

import pytest
from jinja2 import Undefined

from dbt.adapters.spark_iceberg.project import graph as project
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.table.history import TableName


def node(unique_id, materialized="iceberg_incremental_snapshot", parents=(), **more):
    return {
        "unique_id": unique_id, "name": unique_id.split(".")[-1], "resource_type": unique_id.split(".")[0],
        "config": {"materialized": materialized}, "database": None, "schema": "shop",
        "depends_on": {"nodes": list(parents)}, **more,
    }  # fmt: skip


GRAPH = {
    "nodes": {
        n["unique_id"]: n
        for n in (
            node("model.shop.daily", parents=["source.shop.raw.events", "model.shop.passing", "model.shop.names"]),
            node("model.shop.passing", "ephemeral"),
            node("model.shop.names", "table", alias="Names"),
            node("model.other.twice"),
            node("model.shop.twice"),
        )
    },
    "sources": {
        "source.shop.raw.events": node("source.shop.raw.events", database="lake", identifier="ev", name="events")
    },
}


def test_models_by_name():
    assert project.model_named(GRAPH, "daily")["unique_id"] == "model.shop.daily"
    assert project.model_named(GRAPH, "model.other.twice")["unique_id"] == "model.other.twice"
    for name, said in (
        ("twice", "model is 'twice', of type str, which matches 2 models"),
        ("names", "matches no model materialized"),
        (None, "model is nothing, which matches no model"),
        (Undefined(), "model is nothing"),
        (7, "model is '7', of type int, which"),
    ):
        with pytest.raises(ConfigError, match=said):
            project.model_named(GRAPH, name)


def test_parents_are_the_tables_that_are_read():
    parents = [project.table_of(p, "home") for p in project.parents_of(GRAPH, GRAPH["nodes"]["model.shop.daily"])]
    assert parents == [TableName("lake", "shop", "ev"), TableName("home", "shop", "Names")]


def test_auto_reads_the_tables_behind_views_and_ephemeral_models():
    daily = node("model.shop.daily", parents=["model.shop.passing", "model.shop.seen"])
    parts = (
        node("model.shop.passing", "ephemeral", parents=["source.shop.raw.events"]),
        node("model.shop.seen", "view", parents=["model.shop.names", "model.shop.passing"]),
    )
    for strategy, read, outside in (
        ("auto", ["source.shop.raw.events", "model.shop.names"], {"home.shop.Names", "lake.shop.ev"}),
        ("append", ["model.shop.seen"], {"home.shop.seen"}),
    ):
        daily["config"]["incremental_strategy"] = strategy
        nodes = {**GRAPH["nodes"], **{each["unique_id"]: each for each in (daily, *parts)}}
        graph = {**GRAPH, "nodes": nodes}
        assert sorted(each["unique_id"] for each in project.read_by(graph, daily)) == sorted(read)
        found = project.outside_parents(graph, {daily["unique_id"]}, lambda each: project.table_of(each, "home"))
        assert {str(table) for table in found} == outside


def test_tables_by_a_part_of_their_name():
    candidates = [TableName("lake", "a", "x"), TableName("lake", "b", "x"), TableName("lake", "b", "y")]
    assert project.table_named("lake.a.x", candidates) == candidates[0]
    assert project.table_named("y", candidates) == candidates[2]
    assert project.table_named("b.x", candidates) == candidates[1]
    for text in ("x", "z", "", "ake.b.y"):
        with pytest.raises(ConfigError, match="Expected: one of"):
            project.table_named(text, candidates)
    with pytest.raises(ConfigError, match=r"Expected: lake\.a\.x"):
        project.table_named("z", candidates[:1])


SELECTED = {
    "nodes": {
        n["unique_id"]: n
        for n in (
            node("model.shop.stg_flights", tags=["daily", "raw"], original_file_path="models/staging/stg_flights.sql"),
            node("model.shop.stg_planes", tags=["raw"], original_file_path="models/staging/stg_planes.sql"),
            node("model.shop.days", tags=["daily"], original_file_path="models/marts/days.sql"),
            node("model.shop.other", "table", original_file_path="models/marts/other.sql"),
        )
    },
    "sources": {},
}


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("days", "days"),
        ("model.shop.days stg_planes", "days stg_planes"),
        ("stg_*", "stg_flights stg_planes"),
        ("tag:daily", "days stg_flights"),
        ("tag:daily,tag:raw", "stg_flights"),
        ("path:models/staging", "stg_flights stg_planes"),
        ("models/marts/", "days"),
        (["days", "tag:raw,stg_planes"], "days stg_planes"),
    ],
)
def test_models_by_a_selection(select, expected):
    found = project.models_selected(SELECTED, select)
    assert " ".join(n["name"] for n in found) == expected


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("nobody", "matches no model"),
        ("other", "matches no model"),
        ("", "matches no model"),
        ("days,stg_planes", "matches no model"),
        (5, "select is 5, which matches no model materialized as"),
        ("+days", "select is '\\+days'\\. Operations do not support '\\+days'\\."),
        ("state:modified days", "Operations do not support 'state:modified'\\."),
    ],
)
def test_a_selection_without_a_match(select, said):
    with pytest.raises(ConfigError, match=said):
        project.models_selected(SELECTED, select)
