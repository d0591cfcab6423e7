"""Which models are checked again. The catalog is in SQLite, and the test writes its tables."""

from __future__ import annotations

import json
import sqlite3
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_iceberg.project.jinja import JinjaScope
from dbt.adapters.spark_iceberg.watch import watched as module
from dbt.adapters.spark_iceberg.watch.due import Dag
from dbt.adapters.spark_iceberg.watch.project import DbtOptions, Project
from dbt.adapters.spark_iceberg.watch.watched import Watched
from iceberg_incremental.metadata.pyiceberg_reader import PyIcebergReader
from iceberg_incremental.table.checkpoint import KEY, Checkpoint, Position

COLUMNS = "catalog_name, table_namespace, table_name, metadata_location"


def model(name, *reads):
    return {
        "unique_id": f"model.shop.{name}", "name": name, "alias": name, "schema": "an", "database": "lake",
        "resource_type": "model", "language": "sql", "raw_code": "", "depends_on": {"nodes": list(reads), "macros": []},
        "config": {"materialized": "iceberg_incremental_snapshot", "on_source_rewrite": "ignore"},
    }  # fmt: skip


def source(name):
    return {"unique_id": f"source.shop.raw.{name}", "name": name, "identifier": name, "schema": "raw",
            "database": "lake", "resource_type": "source", "config": {}}  # fmt: skip


class Catalog:
    """A catalog in SQLite and a reader of it."""

    def __init__(self, folder):
        self.file = folder / "catalog.db"
        self.folder = folder
        with sqlite3.connect(self.file) as connection:
            connection.execute(f"create table iceberg_tables ({COLUMNS})")
        self.opened = 0
        self.closed = 0
        self.reopen()

    def reopen(self):
        self.opened += 1
        properties = {"type": "sql", "uri": f"sqlite:///file:{self.file}?mode=rw&uri=true"}
        self.reader = PyIcebergReader(lambda name: properties)

    def close(self):
        self.closed += 1

    def commit(self, namespace, name, snapshots, first=1, **summary):
        """Write a table with the snapshots ``first`` to ``snapshots``, whose times are one second apart."""
        chain = [
            {"snapshot-id": each, "parent-snapshot-id": each - 1 if each > first else None, "sequence-number": each,
             "timestamp-ms": 1_000 * each, "summary": {"operation": "append", "added-records": "5",
                                                       "added-data-files": "1",
                                                       "total-records": str(5 * (each - first + 1)), **summary}}
            for each in range(first, snapshots + 1)
        ]  # fmt: skip
        document = {"format-version": 2, "table-uuid": name, "current-snapshot-id": snapshots, "snapshots": chain}
        location = self.folder / f"{name}.{snapshots}.json"
        location.write_text(json.dumps(document))
        with sqlite3.connect(self.file) as connection:
            connection.execute("delete from iceberg_tables where table_name = ?", [name])
            connection.execute("insert into iceberg_tables values ('lake', ?, ?, ?)", [namespace, name, str(location)])


@pytest.fixture
def catalog(tmp_path):
    made = Catalog(tmp_path)
    for name in ("events", "others"):
        made.commit("raw", name, 1)
    return made


@pytest.fixture
def watched(catalog):
    nodes = {
        node["unique_id"]: node for node in (model("a", "source.shop.raw.events"), model("b", "source.shop.raw.others"))
    }
    graph = {"nodes": nodes, "sources": {each["unique_id"]: each for each in (source("events"), source("others"))}}
    config = SimpleNamespace(credentials=SimpleNamespace(database="lake"))
    project = Project(DbtOptions(), config, None, graph, JinjaScope(), Dag.of(graph, nodes), nodes)
    return Watched(project, catalog)


A, B = "model.shop.a", "model.shop.b"


def judged(watched, **arguments):
    before = dict(watched.statuses)
    watched.look(**arguments)
    return {name for name, status in watched.statuses.items() if before.get(name) is not status}


def test_each_model_is_checked_once_and_again_when_one_of_its_tables_changes(catalog, watched):
    assert judged(watched) == {A, B}
    assert watched.statuses[A].is_due
    assert judged(watched) == set()

    catalog.commit("raw", "events", 2)
    assert judged(watched) == {A}
    assert watched.last_changed.keys() == {"lake.raw.events"}
    assert judged(watched) == set()
    assert judged(watched, again={B}) == {B}


def test_a_change_to_a_models_own_table_is_noticed(catalog, watched):
    watched.look()
    catalog.commit("an", "a", 1)

    assert judged(watched) == {A}


def test_a_change_to_a_table_behind_a_view_is_noticed(catalog, watched):
    """The project does not know which sources are views. The checkpoint lists the tables behind them."""
    config = watched._project.nodes[A]["config"]
    config["incremental_strategy"] = "auto"
    checkpoint = Checkpoint(A, 1, "an-invocation", {"lake.raw.behind": Position("behind", 1, 1, 1_000)})
    catalog.commit("raw", "behind", 1)
    catalog.commit("an", "a", 1, **{KEY: checkpoint.to_json()})
    watched.look()
    watched.look()
    assert judged(watched) == set()

    catalog.commit("raw", "behind", 2)
    assert judged(watched) == {A}
    assert watched.last_changed.keys() == {"lake.raw.behind"}


def test_statuses_that_another_thread_reads_do_not_change(catalog, watched):
    watched.look()
    before, copied = watched.statuses, dict(watched.statuses)
    catalog.commit("raw", "events", 2)
    watched.look()

    assert before == copied != watched.statuses


def test_close_waits_for_another_thread_only_for_a_limited_time(catalog, watched, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    with watched.reading:
        watched.close()
        assert catalog.closed == 0
    watched.close()
    assert catalog.closed == 1


def test_an_unreachable_catalog_is_retried(catalog, watched):
    watched.look()
    away = catalog.file.rename(catalog.file.with_suffix(".away"))
    assert judged(watched) == {A, B}
    assert "database" in watched.statuses[A].error
    assert catalog.opened == 2

    away.rename(catalog.file)
    assert judged(watched) == {A, B}
    assert catalog.opened == 3
    assert watched.statuses[A].is_due


def test_a_failed_check_is_repeated(catalog, watched, monkeypatch):
    watched.look()
    catalog.commit("raw", "events", 2)
    with monkeypatch.context() as failing:
        failing.setattr(catalog.reader, "load", lost)
        with pytest.raises(ConnectionError):
            watched.look()

    assert judged(watched) == {A}


def lost(table):
    raise ConnectionError("the connection was lost")


def test_the_oldest_unread_commit(catalog, watched):
    catalog.commit("raw", "events", 3)
    watched.look()

    assert watched.statuses[A].sources[0].oldest_pending_ms == 1_000
    assert watched.statuses[A].lag_ms(now_ms=61_000) == 60_000


def test_the_lag_of_a_model_that_is_rebuilt_after_its_parent(catalog, watched):
    """The parent was rebuilt at 1,000 seconds. The rows of the other source were read long before."""
    sources = {f"lake.raw.{name}": Position(name, 1, 1, 1_000) for name in ("events", "others")}
    checkpoint = Checkpoint(A, 1, "an-invocation", sources)
    watched._project.nodes[A]["depends_on"]["nodes"] = ["source.shop.raw.events", "source.shop.raw.others"]
    catalog.commit("an", "a", 1, **{KEY: checkpoint.to_json()})
    catalog.commit("raw", "events", 1_001, first=1_000)
    watched.look()

    status = watched.statuses[A]
    assert (status.state, status.error) == ("rebuild", None)
    assert watched.statuses[A].lag_ms(now_ms=1_180_000) == 180_000
