"""Schemas of several levels, in each type of catalog that has them: every kind of object, and every command."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from iceberg_incremental import Job
from tests.functional.incremental.shop import Shop

from .conftest import CATALOG, Projects
from .test_unfaithful import RestLake, patient

EVENTS = "{{ source('raw', 'events') }}"
CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
CHANGELOG = "select * from {{ ip_changelog(source('raw', 'events')) }}"
BY_KEY = {"unique_key": "id", "on_source_rewrite": "upserts"}
DELETES = {"incremental_strategy": "apply_changes", "unique_key": "id", "sequence_by": "v"}
SNAPSHOT = f"""
    {{% snapshot remembered %}}
    {{{{ config(unique_key='id', strategy='check', check_cols='all') }}}}
    select * from {EVENTS}
    {{% endsnapshot %}}
"""
MACROS = """
    {% macro listed(pattern) %}
        {% for row in run_query(adapter.relations.listing.query(none, pattern, "%", "")) %}
            {% do log("listed " ~ row.table_schema ~ "." ~ row.table_name, info=true) %}
        {% endfor %}
    {% endmacro %}
    {% macro dropped() %}
        {% do adapter.drop_schema(api.Relation.create(database=target.database, schema=target.schema)) %}
    {% endmacro %}
"""
ROWS = ("appended", "merged", "auto", "applied", "audited", "joined", "built", "dbts", "seen")


@pytest.fixture(params=[pytest.param("jdbc", marks=pytest.mark.core), "rest", "hadoop"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shop(kind: str, request: pytest.FixtureRequest, projects: Projects, tmp_path: Path) -> Shop:
    settings = {"type": kind, "warehouse": f"{tmp_path}/lake"}
    if kind == "jdbc":
        settings |= {"uri": f"jdbc:sqlite:file:{tmp_path}/lake.db", "jdbc.schema-version": "V1"}
    if kind == "rest":
        settings = patient(request.getfixturevalue("rest_port"))
    return projects.shop(request.node.originalname, settings, schema=f"{request.node.originalname}.team.dev")


def in_namespaces(shop: Shop, *, with_views: bool) -> None:
    """A project with each kind of object."""
    shop.model("appended", CHANGES, on_source_rewrite="ignore", hold_source="2 days")
    shop.model("merged", CHANGES, incremental_strategy="merge", **BY_KEY)
    shop.model("applied", CHANGELOG, **DELETES)
    shop.model("versions", CHANGELOG, incremental_strategy="history", unique_key="id")
    shop.model("auto", f"select * from {EVENTS}", incremental_strategy="auto", unique_key="id")
    shop.model(
        "joined",
        "select a.id, b.v from {{ ref('auto') }} as a join {{ ref('merged') }} as b on a.id = b.id",
        incremental_strategy="auto",
        unique_key="id",
    )
    shop.model("audited", CHANGES, incremental_strategy="merge", audit=True, **BY_KEY)
    shop.model("built", f"select * from {EVENTS}", materialized="table")
    shop.model(
        "dbts", f"select * from {EVENTS}", materialized="incremental", incremental_strategy="merge", unique_key="id"
    )
    shop.model("seen", f"select * from {EVENTS}", materialized="view" if with_views else "table")
    shop.write("seeds/seeded.csv", "id\n1\n")
    shop.write("snapshots/remembered.sql", SNAPSHOT)
    shop.write(
        "models/properties.yml",
        """
        models:
          - name: audited
            columns: [{name: id, data_tests: [unique, not_null]}]
          - name: merged
            columns: [{name: id, data_tests: [unique]}]
        """,
    )


def success(found: Any) -> str:
    assert found.success, found.printed[-4000:]
    return str(found.printed)


def test_each_object_and_each_command(shop: Shop, kind: str, tmp_path: Path) -> None:
    events = shop.source("events", "id int, v string", "tblproperties ('format-version' = '3')")
    in_namespaces(shop, with_views=kind != "hadoop")
    shop.insert(events, "(1, 'a')", "(2, 'a')")
    success(shop.dbt("build"))
    shop.insert(events, "(3, 'a')")
    shop.sql(f"update {events} set v = 'b' where id = 1")
    success(shop.dbt("build"))
    expected = Counter([(1, "b"), (2, "a"), (3, "a")])
    for name in set(ROWS) - {"appended"}:
        assert shop.rows(shop.built(name), "id, v") == expected, name
    assert shop.rows(shop.built("appended"), "id") == Counter([(1,), (2,), (3,)])
    for name in ("versions", "remembered"):
        assert shop.rows(shop.built(name), "id, v, dbt_valid_to is null") == Counter(
            [(1, "a", False), (1, "b", True), (2, "a", True), (3, "a", True)]
        )
    assert shop.statuses()["merged"]["epoch"] == 2
    (source,) = shop.checkpoint(shop.built("merged"))["sources"]
    assert source == f"{CATALOG}.{shop.source_schema}.events"
    held = [name for name in shop.branches(events) if name.startswith("ip_held_by.")]
    assert held == [f"ip_held_by.{CATALOG}.{shop.schema}.appended.2"]

    shop.sql(f"delete from {events} where id = 2")
    success(shop.dbt("build", "--exclude", "resource_type:test"))
    for name in ("applied", "auto"):
        assert shop.rows(shop.built(name), "id, v") == expected - Counter([(2, "a")]), name

    shop.write("macros/own.sql", MACROS)
    printed = success(shop.operation("listed", pattern="%.team.dev"))
    assert all(f"listed {shop.schema}.{name}" in printed for name in (*ROWS, "versions"))
    assert f"listed {shop.schema}" not in success(shop.operation("listed", pattern="no.such%"))

    # the commands
    success(shop.dbt("docs", "generate"))
    described = json.loads((shop.folder / "target" / "catalog.json").read_text())
    listed = {name.rpartition(".")[2] for name in (*described["nodes"], *described["sources"])}
    assert listed == {*ROWS, "versions", "remembered", "seeded", "events"}
    success(shop.operation("ip_maintain", sources=True))
    success(shop.operation("ip_explain", model="merged"))
    success(shop.operation("ip_ledger"))
    assert shop.verified(model="merged")["merged"]
    success(shop.dbt("source", "freshness"))
    success(shop.dbt("run", "--full-refresh"))
    assert shop.rows(shop.built("merged")) == shop.rows(events)

    if kind != "hadoop":  # which cannot register tables
        state = tmp_path / "state"
        shutil.copytree(shop.folder / "target", state)
        pinned = f"{shop.source_schema}.pinned"
        assert "is a clone of" in success(shop.operation("ip_clone_source", source="events", schema=pinned))
        assert shop.rows(f"{CATALOG}.{pinned}.events") == shop.rows(events)
        profiles = shop.folder / "profiles.yml"
        profiles.write_text(profiles.read_text().replace(f"schema: {shop.schema}", f"schema: {shop.schema}.pr"))
        success(shop.dbt("clone", "--state", str(state)))
        shop.insert(events, "(4, 'd')")
        success(shop.dbt("run", "--select", "merged", "joined", "auto"))
        of_clone = f"{CATALOG}.{shop.schema}.pr.merged"
        assert shop.rows(of_clone) == shop.rows(events) and shop.rows(shop.built("merged")) != shop.rows(events)
        assert shop.rows(f"{CATALOG}.{shop.schema}.pr.joined") == shop.rows(events)
        success(shop.operation("dropped"))
        assert not shop.sql(f"show schemas in {CATALOG}.{shop.schema}")


def test_a_job_and_the_command(shop: Shop, kind: str, rest_port: int) -> None:
    events = shop.source("events", "id bigint, v string")
    shop.insert(events, "(1, 'a')")
    shop.sql(f"create namespace if not exists {CATALOG}.{shop.schema}")
    for _ in range(2):
        job = Job(shop.session, f"{CATALOG}.{shop.schema}.by_job")
        with job.run() as run:
            run.append(run.changes(f"{CATALOG}.{shop.source_schema}.events"))
        assert shop.rows(shop.built("by_job")) == shop.rows(events)
        shop.insert(events, "(2, 'b')")
    if kind != "rest":
        return
    lake = RestLake(shop, rest_port)
    lake.sql("create table {t} (id bigint, v string) using iceberg")
    for _ in range(2):
        captured = lake.run()
        assert captured.code == 0, captured.said
        assert lake.rows() == shop.rows(events)
        lake.insert((3, "c"))
