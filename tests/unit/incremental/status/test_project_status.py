"""The project status: tables, commits and runs behind the status of each model."""

from __future__ import annotations

import struct
from dataclasses import replace

from dbt.adapters.spark_iceberg.project.graph import ProjectTables
from dbt.adapters.spark_iceberg.status.model_status import ModelStatus, SourceStatus
from dbt.adapters.spark_iceberg.status.project_status import see, to_document, with_failures
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.versions_run import recorded
from iceberg_incremental.errors import MetadataAccessError
from iceberg_incremental.plan.versions_config import HistoryConfig
from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from iceberg_incremental.table.row_counts import VersionCounts
from tests.unit.incremental.runs import ADDED, MODEL, SOURCE, TARGET, Reader, carrying, cp, hist, snap

NOW = 60_000


def node(unique_id, table, *parents, **config):
    return {
        "unique_id": unique_id,
        "name": unique_id.rpartition(".")[2],
        "resource_type": unique_id.partition(".")[0],
        "database": table.catalog,
        "schema": table.namespace,
        "identifier": table.name,
        "config": config,
        "depends_on": {"nodes": list(parents)},
    }


EVENTS = node("source.shop.events", SOURCE, event_time="`at`")
STAGED = node(MODEL, TARGET, "source.shop.events", materialized="iceberg_incremental_snapshot")
GRAPH = {"nodes": {MODEL: STAGED}, "sources": {"source.shop.events": EVENTS}}


class Listing(Reader):
    """A reader that also lists files. Each commit has one file, with an event 10 s before the commit."""

    fails = False

    def data_files(self, history, asked):
        if self.fails:
            raise MetadataAccessError("gone")
        moment = {1: struct.pack("<q", (history.snapshots[asked.snapshot_id].timestamp_ms - 10_000) * 1000)}
        columns = (TableColumn(1, "at", "timestamptz"),)
        return ChangedFiles(
            columns, columns, FileDifference((), (DataFile("f.parquet", 1, 9, lower=moment, upper=moment),), ())
        )


def seen(reader=None, status=None, **tables):
    tables = tables or {
        "s": hist(SOURCE, snap(1, None), snap(2, 1), snap(3, 2, operation="replace")),
        "t": hist(TARGET, carrying(100, None, cp(1, 1))),
    }
    status = status or ModelStatus(MODEL, str(TARGET), 1, "applies what is pending", state="pending")
    reader = reader or Listing(**tables)
    return see(Cuts(lambda: reader), ProjectTables(GRAPH, "lake"), "shop", [STAGED], [status], NOW)


def test_edges_and_tables():
    found = seen()
    assert [(edge.source, edge.model) for edge in found.edges] == [(str(SOURCE), MODEL)]
    assert [(table.table, table.kind, table.nodes) for table in found.tables] == [
        (str(SOURCE), "source", ["source.shop.events"]),
        (str(TARGET), "model", [MODEL]),
    ]


def test_commits_with_their_lateness():
    commits = (snap(1, None), snap(2, 1), snap(3, 2, operation="replace"))
    today = [replace(each, timestamp_ms=1_700_000_000_000 + each.timestamp_ms) for each in commits]
    events = seen(s=hist(SOURCE, *today), t=hist(TARGET, carrying(100, None, cp(1, 1)))).tables[0]
    assert events.event_time == "at"
    assert [(each.snapshot_id, each.effect, each.rows_added, each.late_ms) for each in events.commits] == [
        (1, "append", 1, 10_000),
        (2, "append", 1, 10_000),
        (3, "none", 0, None),  # a compaction
    ]


def test_the_newest_commits_are_shown():
    many = [snap(1, None), *(snap(number, number - 1) for number in range(2, 61))]
    events = seen(s=hist(SOURCE, *many), t=hist(TARGET, carrying(100, None, cp(1, 1)))).tables[0]
    assert ([each.snapshot_id for each in events.commits][::49], events.earlier_commits) == ([11, 60], 10)


def test_an_error_while_lateness_is_read_is_ignored():
    reader = Listing(s=hist(SOURCE, snap(1, None)), t=hist(TARGET, carrying(100, None, cp(1, 1))))
    reader.fails = True
    assert seen(reader).tables[0].commits[0].late_ms is None


def test_runs_and_their_ranges():
    totals = {**ADDED, "total-records": "9", "total-files-size": "90"}
    source = hist(SOURCE, snap(1, None, totals), snap(2, 1, totals))
    target = hist(
        TARGET, carrying(100, None, cp(1, 1)), carrying(101, 100, cp(2, 2, continues=True, from_snapshot_id=1))
    )
    (model,) = seen(s=source, t=target).models
    assert [(run.epoch, run.snapshot_id, run.rows_added) for run in model.runs] == [(1, 100, 1), (2, 101, 1)]
    assert [(run.sources[0].kind, run.sources[0].read.records) for run in model.runs] == [("whole", 9), ("range", 1)]
    assert (model.read.records, model.read.table_records, model.last_commit_ms) == (10, 18, 101_000)


def test_the_error_of_the_last_run():
    found = seen()
    name = found.models[0].status.model
    (failed, *_) = with_failures(found, {name: "no room. Run `dbt run --select staged`"}).models
    assert (failed.status.state, failed.commands) == ("fails", ["dbt run --select staged"])
    assert failed.status.error == "Its last run, or a test of it, failed: no room. Run `dbt run --select staged`"
    foreseen = replace(found, models=[replace(found.models[0], status=replace(found.models[0].status, error="soon"))])
    assert with_failures(foreseen, {name: "no"}) == foreseen
    assert with_failures(found, {}) == found


def test_the_lag_is_the_age_of_the_oldest_pending_commit():
    sources = [SourceStatus("a", 1, 1, "append", oldest_pending_ms=each) for each in (50_000, 20_000)]
    status = ModelStatus(
        MODEL, str(TARGET), 1, "applies", None, [*sources, SourceStatus("b", 1, 1, "nothing")], "pending"
    )
    assert seen(status=status).models[0].lag_ms == 40_000
    assert seen(status=replace(status, sources=(), state="current")).models[0].lag_ms == 0
    assert seen(status=replace(status, sources=(), state="fails", error="no")).models[0].lag_ms is None


def test_the_commands_of_an_error():
    error = "Do one:\n  1. `dbt run --full-refresh --select m`\n  2. `dbt run-operation x`, or `select 1`, or\n"
    status = ModelStatus(MODEL, str(TARGET), 1, "fails", error + "`dbt run-operation x`", state="fails")
    assert seen(status=status).models[0].commands == ["dbt run --full-refresh --select m", "dbt run-operation x"]


def test_missing_tables():
    found = seen(Listing())
    assert [table.error for table in found.tables] == ["the table does not exist"] * 2
    assert (found.models[0].runs, found.models[0].read.table_records) == ([], 0)


def test_the_versions_of_the_runs_of_a_history():
    kept = replace(cp(1, 1), history=recorded(HistoryConfig(("id",)), 1000))
    (model,) = seen(s=hist(SOURCE, snap(1, None)), t=hist(TARGET, carrying(100, None, kept))).models
    assert [run.versions for run in model.runs] == [VersionCounts(1, 0)]
    assert to_document(seen())["models"][0]["runs"][0]["versions"] is None


def test_runs_that_rewrote_all_rows():
    """Seen in the counts of their commits, whatever the strategy allows."""

    def commit(n, parent, epoch, rows_added, rows_removed):
        made = carrying(n, parent, cp(epoch, 1))
        counts = {"added-records": rows_added, "deleted-records": rows_removed, "total-records": 4}
        return replace(made, summary={**made.summary, **{key: str(value) for key, value in counts.items()}})

    commits = [
        commit(100, None, 1, 4, 0),
        commit(101, 100, 2, 1, 1),
        commit(102, 101, 3, 4, 4),
        commit(103, 102, 4, 0, 0),
    ]
    (model,) = seen(s=hist(SOURCE, snap(1, None)), t=hist(TARGET, *commits)).models
    assert [(run.epoch, run.rewrote_all) for run in model.runs] == [(1, None), (2, False), (3, True), (4, None)]
    (model,) = seen(s=hist(SOURCE, snap(1, None)), t=hist(TARGET, commit(104, None, 5, 4, 0))).models
    assert [(run.epoch, run.rewrote_all) for run in model.runs] == [(5, True)]
