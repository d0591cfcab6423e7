"""The flights project from end to end, for the first landing days of the year."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from integration_tests import land_flights
from integration_tests.land_flights import Landing
from integration_tests.scans import Read, ScanMeter

PROJECT = Path(land_flights.__file__).parent
CATALOG = "lakehouse"
SOURCE = f"{CATALOG}.ops.flights"
STAGED = f"{CATALOG}.analytics.stg_flights"
OURS = ("stg_flights", "carrier_days", "aircraft", "departure_weather")
WATERMARK = "stg_flights_watermark"
# The landing days before each run.
BATCHES = {"first": 3, "second": 2, "third": 2, "fourth": 1}


@dataclass(frozen=True)
class Run:
    """The results of one dbt command."""

    success: bool
    results: dict[str, dict[str, Any]]
    compiled: str
    heads: dict[str, int]
    read: Read

    def response(self, model: str) -> dict[str, Any]:
        """The adapter's response of a model, from run_results.json."""
        response: dict[str, Any] = self.results[model]["adapter_response"]
        return response


def name(unique_id: str) -> str:
    """The name of a node. The names of unit tests follow the name of the model."""
    kind, _, *names = unique_id.split(".")
    return names[1] if kind == "unit_test" else names[0]


class Flights:
    """A copy of the project in its own folder, with its own lakehouse."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        shutil.copytree(
            PROJECT, self.project, ignore=shutil.ignore_patterns("target", "logs", "lakehouse", "__pycache__")
        )
        self.invoke("debug")  # connects to the Spark that is already running
        self.spark: SparkSession = land_flights.open_lakehouse(folder / "lakehouse")
        self.meter = ScanMeter(self.spark)
        self.batches: dict[str, Sequence[Landing]] = {}
        self.runs: dict[str, Run] = {}

    def land(self, name: str, landings: Sequence[Landing]) -> None:
        """Commits a batch of landings to the source, with one commit for each landing."""
        self.batches[name] = landings
        for landing in landings:
            land_flights.land(self.spark, f"{CATALOG}.ops", landing)

    def invoke(self, *args: str) -> bool:
        """Runs a dbt command and returns whether it succeeded."""
        where = ["--project-dir", str(self.project), "--profiles-dir", str(self.project)]
        # dbt leaves its log file open after each command
        return dbtRunner().invoke([*args, *where, "--quiet", "--log-level-file", "none"]).success

    def dbt(self, step: str, *args: str) -> Run:
        """Runs a dbt command and returns its results."""
        self.meter.mark()
        success = self.invoke(*args)
        target = self.project / "target"
        results = json.loads((target / "run_results.json").read_text())["results"]
        compiled = target / "compiled" / "flights" / "models" / "staging" / "stg_flights.sql"
        self.runs[step] = Run(
            success,
            {name(result["unique_id"]): result for result in results},
            compiled.read_text(),
            {model: self.head(f"{CATALOG}.analytics.{model}") for model in (*OURS, WATERMARK)},
            self.meter.read(SOURCE, STAGED),
        )
        return self.runs[step]

    def head(self, table: str) -> int:
        """The current snapshot of a table."""
        (row,) = self.spark.sql(f"select snapshot_id from {table}.refs where name = 'main'").collect()
        return int(row[0])

    def history(self, table: str) -> list[int]:
        """The snapshots of a table, oldest first."""
        rows = self.spark.sql(
            f"select snapshot_id from {table}.history where is_current_ancestor order by made_current_at"
        )
        return [row[0] for row in rows.collect()]

    def summary(self, table: str, snapshot: int) -> dict[str, str]:
        """The summary of a snapshot."""
        (row,) = self.spark.sql(f"select summary from {table}.snapshots where snapshot_id = {snapshot}").collect()
        return dict(row[0])

    def committed(self, name: str) -> list[int]:
        """The source's snapshots of a batch."""
        ends = dict(zip(self.batches, accumulate(len(batch) for batch in self.batches.values()), strict=True))
        return self.history(SOURCE)[ends[name] - len(self.batches[name]) : ends[name]]

    def differences(self, model: str, rebuilt: str) -> list[Any]:
        """The rows that only a model or only its rebuild has."""
        ours, theirs = (
            self.spark.table(f"{CATALOG}.analytics.{model}"),
            self.spark.table(f"{CATALOG}.rebuild.{rebuilt}"),
        )
        return ours.exceptAll(theirs).union(theirs.exceptAll(ours)).collect()


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flights]:
    """The project after one run for each batch, and after commands that must not affect the results."""
    folder = tmp_path_factory.mktemp("flights")
    days = iter(land_flights.read_landings())
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FLIGHTS_WAREHOUSE", str(folder / "lakehouse"))
        project = Flights(folder)
        land_flights.create_tables(project.spark, f"{CATALOG}.ops")
        batches = {name: [next(days) for _ in range(size)] for name, size in BATCHES.items()}

        project.land("first", batches["first"])
        project.dbt("first", "build")
        project.land("second", batches["second"])
        project.dbt("empty", "run", "--empty")
        project.dbt("second", "run", "--threads", "4")
        project.dbt("nothing new", "run")

        project.land("third", batches["third"])
        project.spark.sql(f"alter table {CATALOG}.ops.planes rename to ops.hidden")
        project.dbt("third", "run")
        project.spark.sql(f"alter table {CATALOG}.ops.hidden rename to ops.planes")
        project.dbt("retry", "retry")

        project.land("fourth", batches["fourth"])
        project.dbt("fourth", "run")
        project.dbt("docs", "docs", "generate")
        project.dbt("rebuild", "run", "--full-refresh", "--target", "rebuild")
        yield project


def departures(landings: Sequence[Landing]) -> dict[str, datetime]:
    """The scheduled departure of each flight of some landings, by flight id."""
    return {
        f"{row['year']}-{row['month']:02}-{row['day']:02}-{row['carrier']}-{row['flight']}-{row['origin']}": (
            row["time_hour"].replace(minute=row["minute"])
        )
        for landing in landings
        for row in landing.flights.to_pylist()
    }


@pytest.mark.parametrize("name", ["first", "empty", "second", "nothing new", "retry", "fourth", "docs", "rebuild"])
def test_commands_succeed(flights: Flights, name: str) -> None:
    assert flights.runs[name].success


def test_build_runs_data_tests_and_unit_tests(flights: Flights) -> None:
    outcomes = {name: result["status"] for name, result in flights.runs["first"].results.items()}
    assert outcomes["carrier_days_count_every_flight_of_the_day"] == "pass"
    assert outcomes["unique_stg_flights_flight_id"] == "pass"
    assert set(outcomes.values()) == {"success", "pass", "no-op"}  # the exposure is a no-op


def test_staging_holds_every_flight_once(flights: Flights) -> None:
    landed = departures([landing for batch in flights.batches.values() for landing in batch])
    staged = [row[0] for row in flights.spark.table(STAGED).select("flight_id").collect()]
    assert sorted(staged) == sorted(landed)


@pytest.mark.parametrize("model", OURS)
def test_models_equal_their_rebuild(flights: Flights, model: str) -> None:
    assert flights.differences(model, model) == []


def test_staging_equals_what_dbts_own_materialization_builds(flights: Flights) -> None:
    assert flights.differences("stg_flights", WATERMARK) == []


def test_the_watermark_loses_the_late_flights_and_ours_has_them(flights: Flights) -> None:
    lost = set[str]()
    kept = departures(flights.batches["first"])
    for name in ("second", "third", "fourth"):
        latest = max(kept.values())
        batch = departures(flights.batches[name])
        kept |= {flight: leaves for flight, leaves in batch.items() if leaves > latest}
        lost |= {flight for flight, leaves in batch.items() if leaves <= latest}
    assert lost
    ids = {
        model: {row[0] for row in flights.spark.table(f"{CATALOG}.analytics.{model}").select("flight_id").collect()}
        for model in ("stg_flights", WATERMARK)
    }
    assert ids["stg_flights"] - ids[WATERMARK] == lost


@pytest.mark.parametrize("name", ["second", "third", "fourth"])
def test_a_run_reads_exactly_the_files_committed_since_the_last(flights: Flights, name: str) -> None:
    run = flights.runs[name]
    snapshots = flights.committed(name)
    ids = ", ".join(str(snapshot) for snapshot in snapshots)
    entries = flights.spark.sql(
        "select distinct data_file.file_path, data_file.record_count, data_file.file_size_in_bytes"
        f" from {SOURCE}.all_entries where status = 1 and snapshot_id in ({ids})"
    ).collect()

    relation = run.compiled.rpartition("\nfrom ")[2].rpartition(" as f")[0]
    read = {row[0] for row in flights.spark.sql(f"select distinct _file from {relation}").collect()}
    summaries = [flights.summary(SOURCE, snapshot) for snapshot in snapshots]
    (captured,) = run.response("stg_flights")["ip"]["sources"].values()

    assert read == {entry[0] for entry in entries}
    assert len(read) == sum(int(summary["added-data-files"]) for summary in summaries)
    assert captured["files"] == len(read)
    assert captured["records"] == sum(entry[1] for entry in entries) == run.read.rows
    assert captured["bytes"] == sum(entry[2] for entry in entries)
    assert run.read.files == len(read)


def test_the_first_run_reads_the_whole_table_once(flights: Flights) -> None:
    run = flights.runs["first"]
    assert run.read.rows == sum(landing.flights.num_rows for landing in flights.batches["first"])


@pytest.mark.parametrize(
    ("name", "before"), [("first", None), ("second", "first"), ("third", "second"), ("fourth", "third")]
)
def test_run_results_contain_the_range(flights: Flights, name: str, before: str | None) -> None:
    response = flights.runs[name].response("stg_flights")
    ip = response["ip"]
    assert response["rows_affected"] == sum(landing.flights.num_rows for landing in flights.batches[name])
    assert set(ip) == {"epoch", "committed_snapshot_id", "sources"}
    assert ip["epoch"] == list(flights.batches).index(name) + 1
    assert ip["committed_snapshot_id"] == flights.runs[name].heads["stg_flights"]
    assert set(ip["sources"]) == {SOURCE}
    source = ip["sources"][SOURCE]
    position = {"kind", "from_snapshot_id", "to_snapshot_id"}
    counts = {"snapshots", "files", "records", "bytes"}
    shares = {"table_records", "table_bytes", "share_of_records", "share_of_bytes"}
    assert set(source) == position | counts | shares
    assert source["share_of_records"] == round(source["records"] / source["table_records"], 6)
    assert (source["share_of_records"] == 1) == (before is None)
    assert source["kind"] == ("append" if before else "full")
    assert source["from_snapshot_id"] == (flights.committed(before)[-1] if before else None)
    assert source["to_snapshot_id"] == flights.committed(name)[-1]


def test_each_commit_carries_its_checkpoint(flights: Flights) -> None:
    snapshots = flights.history(STAGED)
    checkpoints = [json.loads(flights.summary(STAGED, snapshot)["ip.checkpoint"]) for snapshot in snapshots]
    assert [checkpoint["epoch"] for checkpoint in checkpoints] == [1, 2, 3, 4]
    assert {checkpoint["model"] for checkpoint in checkpoints} == {"model.flights.stg_flights"}
    positions = [checkpoint["sources"][SOURCE]["snapshot_id"] for checkpoint in checkpoints]
    assert positions == [flights.committed(name)[-1] for name in flights.batches]


def test_a_second_stage_follows_the_first(flights: Flights) -> None:
    for name in ("second", "fourth"):
        for model in ("carrier_days", "departure_weather"):
            (source,) = flights.runs[name].response(model)["ip"]["sources"].values()
            assert source["kind"] == "append"
            assert source["to_snapshot_id"] == flights.runs[name].heads["stg_flights"]
            assert source["records"] == sum(landing.flights.num_rows for landing in flights.batches[name])


def test_a_run_with_nothing_new_commits_nothing(flights: Flights) -> None:
    before, after = flights.runs["second"], flights.runs["nothing new"]
    for model in OURS:
        assert after.heads[model] == before.heads[model]
        assert after.response(model)["rows_affected"] == 0
        assert after.response(model)["ip"]["committed_snapshot_id"] is None
        assert {source["kind"] for source in after.response(model)["ip"]["sources"].values()} == {"empty"}
    assert after.read == Read()


def test_an_empty_run_commits_nothing(flights: Flights) -> None:
    before, after = flights.runs["first"], flights.runs["empty"]
    assert {model: after.heads[model] for model in OURS} == {model: before.heads[model] for model in OURS}


def test_a_failed_model_keeps_its_position_and_a_retry_reads_its_range(flights: Flights) -> None:
    failed, retried = flights.runs["third"], flights.runs["retry"]
    assert not failed.success
    assert {name: result["status"] for name, result in failed.results.items() if name in OURS} == {
        "stg_flights": "success",
        "carrier_days": "success",
        "aircraft": "error",
        "departure_weather": "success",
    }
    assert failed.heads["aircraft"] == flights.runs["second"].heads["aircraft"]
    assert set(retried.results) == {"aircraft"}
    (source,) = retried.response("aircraft")["ip"]["sources"].values()
    assert source["from_snapshot_id"] == flights.runs["second"].heads["stg_flights"]
    assert source["to_snapshot_id"] == failed.heads["stg_flights"]


def test_docs_show_lineage_and_checkpoint(flights: Flights) -> None:
    target = flights.project / "target"
    parents = json.loads((target / "manifest.json").read_text())["parent_map"]
    assert parents["model.flights.stg_flights"] == ["source.flights.ops.flights"]
    assert parents["model.flights.carrier_days"] == ["model.flights.stg_flights"]
    assert set(parents["exposure.flights.delay_board"]) == {"model.flights.carrier_days", "model.flights.aircraft"}
    stats = json.loads((target / "catalog.json").read_text())["nodes"]["model.flights.stg_flights"]["stats"]
    assert stats["ip_epoch"]["value"] == 4
    assert stats["ip_source_1"]["value"].startswith(f"{flights.committed('fourth')[-1]} (")
