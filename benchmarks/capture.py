"""Measures a capture: loading a model's table and source, finding the checkpoint, planning, and generating SQL.

Spark writes short histories, which are then lengthened. Spark does not run during the measurement.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iceberg_incremental.capture import reads
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.open import open_run
from iceberg_incremental.capture.run_plan import Read
from iceberg_incremental.expose.relations import changes_sql
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.open import open_reader
from iceberg_incremental.plan.policy import Policy
from iceberg_incremental.plan.ranges import position_at
from iceberg_incremental.quantities import counted
from iceberg_incremental.table.checkpoint import Checkpoint
from iceberg_incremental.table.history import TableName

from . import results, synthetic
from .lake import Lake, timing
from .results import Result, Table

NAME = "capture"
MODEL = "model.bench.totals"
_CATALOG, _SCHEMA = "lakehouse", "raw"
_SOURCE, _TARGET = (TableName(_CATALOG, _SCHEMA, name) for name in ("events", "totals"))
_COMMITS = 3
_TARGET_SNAPSHOTS = 100
_AIMS_MS = {1_000: 50, 10_000: 400}


@dataclass
class Spent:
    """The durations of one capture in s, and the numbers of captured snapshots and files."""

    load: float
    rest: float
    snapshots: int
    files: int

    @property
    def whole(self) -> float:
        """The duration of the whole capture."""
        return self.load + self.rest


def make_tables(folder: Path) -> None:
    """Write a source and a target with a few commits by Spark, in a separate process."""
    code = f"from pathlib import Path; from benchmarks.capture import write_tables; write_tables(Path({str(folder)!r}))"
    subprocess.run([sys.executable, "-c", code], check=True)


def write_tables(folder: Path) -> None:
    """Write the tables."""
    lake, files = Lake(folder), synthetic.FILES_PER_COMMIT
    try:
        for table in (_SOURCE, _TARGET):
            lake.sql(f"create table {table.sql} (id bigint, at timestamp, amount double) using iceberg")
            for number in range(_COMMITS):
                rows = f"range({number} * {files}, {number + 1} * {files}, 1, {files})"  # one file per row
                lake.sql(f"insert into {table.sql} select id, current_timestamp(), rand() from {rows}")
    finally:
        lake.stop()


def open_tables(folder: Path) -> tuple[Path, MetadataReader]:
    """The SQLite catalog of the tables, and the same kind of reader as in a run."""
    catalog = folder / "lakehouse" / "catalog.db"
    prefix = f"spark.sql.catalog.{_CATALOG}"
    settings = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "jdbc",
        f"{prefix}.uri": f"jdbc:sqlite:file:{catalog}",
        f"{prefix}.warehouse": str(catalog.parent),
    }
    return catalog, open_reader("pyiceberg", lambda: settings, {}, lambda sql: [])


def place(catalog: Path, reader: MetadataReader, start: int) -> None:
    """Set the model's position to the snapshot of the source with index ``start``, oldest first."""
    history = reader.load(_SOURCE)
    assert history is not None
    chain = list(history.ancestors(history.current_snapshot_id))[::-1]
    checkpoint = Checkpoint(MODEL, 1, "bench", {str(_SOURCE): position_at(history.table_uuid, chain[start])})
    target = synthetic.read(catalog, _TARGET.name)
    synthetic.write(catalog, _TARGET.name, synthetic.with_checkpoint(target, checkpoint.to_json()))


def capture(reader: MetadataReader) -> Spent:
    """Capture as in a run of the model."""
    began = time.perf_counter()
    with timing(type(reader), "load") as loads:
        cuts = Cuts(lambda: reader)
        run = open_run(
            reader, cuts, model=MODEL, target=_TARGET, policy=Policy(), invocation_id="bench", full_refresh=False
        )
        planned = reads.capture(run, cuts, _SOURCE, Read.CHANGES).captured[_SOURCE]
        changes_sql(planned)
    whole = time.perf_counter() - began
    return Spent(sum(loads), whole - sum(loads), planned.snapshots, planned.files)


def measure(folder: Path, result: Result, repetitions: int) -> None:
    """Measure each length of the source's history at three positions, and with an equally long target history."""
    catalog, reader = open_tables(folder)
    table = Table(
        "Capturing one source for one model",
        ["source", "metadata", "target", "captured", "load", "the rest", "total", "aim"],
        note=f"Medians of {repetitions} runs. `load` reads the metadata of source and target. `the rest` computes the "
        "checkpoint, the plan and the SQL.",
    )
    result.tables.append(table)
    real = {name: synthetic.read(catalog, name) for name in (_SOURCE.name, _TARGET.name)}
    for length, aim in _AIMS_MS.items():
        source = synthetic.lengthen(real[_SOURCE.name], length)
        size = synthetic.write(catalog, _SOURCE.name, source).stat().st_size
        files = int(source["snapshots"][-1]["summary"]["total-data-files"])
        for target_length, start in (
            (_TARGET_SNAPSHOTS, -1),
            (_TARGET_SNAPSHOTS, -2),
            (_TARGET_SNAPSHOTS, 0),
            (length, -2),
        ):
            synthetic.write(catalog, _TARGET.name, synthetic.lengthen(real[_TARGET.name], target_length))
            place(catalog, reader, start)
            capture(reader)
            spent = [capture(reader) for _ in range(repetitions)]
            table.add(
                f"{length:,} snapshots, {files:,} files",
                f"{size / (1 << 20):.1f} MiB",
                f"{target_length:,} snapshots",
                f"{counted(spent[0].snapshots, 'snapshot')}, {counted(spent[0].files, 'file')}",
                results.milliseconds([each.load for each in spent]),
                results.milliseconds([each.rest for each in spent]),
                results.milliseconds([each.whole for each in spent]),
                f"{aim} ms" if target_length == _TARGET_SNAPSHOTS else "",
            )
            key = f"{length}.{target_length}.{spent[0].snapshots}"
            result.measured[key] = [each.whole for each in spent]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=21)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        make_tables(Path(folder))
        result = results.begin(NAME)
        measure(Path(folder), result, options.repetitions)
    result.save()


if __name__ == "__main__":
    main()
