"""Mistakes with the command are refused, and no row is lost or repeated. Tables and job use PyIceberg."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError

from iceberg_incremental.command.command_line import main

COLUMNS = pa.schema([("id", pa.int64())])
OF_DBT = re.compile(
    r"dbt (run|build|clone)|ip_\w+\(|metadata_reader|profile|the model|unique_key|\w: full_refresh|this }}"
)
"""Terms of dbt, which the command's messages must not contain."""


class Lake:
    def __init__(self, folder, capsys):
        self.folder, self.capsys = folder, capsys
        self.properties = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}/lake",
        }
        self.catalog = load_catalog("lake", **self.properties)
        self.catalog.create_namespace("n")
        for name in ("s", "t"):
            self.create(name)

    def create(self, name):
        self.catalog.create_table(("n", name), COLUMNS)

    def replace(self, name):
        self.catalog.drop_table(("n", name))
        self.create(name)

    def table(self, name):
        return self.catalog.load_table(("n", name))

    def insert(self, name, *ids, branch="main"):
        self.table(name).append(pa.table({"id": list(ids)}, schema=COLUMNS), branch=branch)

    def ids(self, name="t"):
        return sorted(self.table(name).scan().to_arrow()["id"].to_pylist())

    def head(self, name="t"):
        return self.table(name).current_snapshot().snapshot_id

    def expire(self, name, *, keep):
        gone = [each.snapshot_id for each in self.table(name).metadata.snapshots][:-keep]
        self.table(name).maintenance.expire_snapshots().by_ids(gone).commit()

    def command(self, *arguments):
        """Run a command and return its exit code, stdout and stderr."""
        given = [f"--catalog-property=lake.{key}={value}" for key, value in self.properties.items()]
        code = main([*arguments, *given])
        out, err = self.capsys.readouterr()
        assert "Traceback" not in err and OF_DBT.search(err) is None, err
        assert code not in (1, 4) or "To fix" in err
        return code, out, err

    def capture(self, *options, target="t", source="s"):
        return self.command("capture", f"--target=lake.n.{target}", f"--source=lake.n.{source}", *options)

    def captured(self, *options):
        code, out, err = self.capture(*options)
        assert code == 0, err
        return json.loads(out)

    def write(self, run, branch=None):
        for source in run["sources"]:
            for file in source["files"]:
                ids = pq.read_table(file["path"].removeprefix("file://"))["id"].to_pylist()
                self.insert("t", *ids, branch=branch or run["branch"])

    def end(self, command, run, *options):
        (self.folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
        return self.command(command, f"--run={self.folder / 'run.json'}", *options)

    def commit(self, run, *options):
        return self.end("commit", run, *options)

    def run(self, *options):
        run = self.captured(*options)
        self.write(run)
        code, _, err = self.commit(run)
        assert code == 0, err


@pytest.fixture
def lake(tmp_path, capsys):
    found = Lake(tmp_path, capsys)
    yield found
    found.catalog.engine.dispose()


@pytest.fixture
def run(lake):
    """The second run of a job, captured and written."""
    lake.insert("s", 1)
    lake.run()
    lake.insert("s", 2)
    captured = lake.captured()
    lake.write(captured)
    return captured


def test_first_rows_of_a_source_after_an_expiry_by_pyiceberg(lake):
    """PyIceberg removes the parent of the next snapshot, here a commit without rows. It then looks like the first."""
    assert lake.commit(lake.captured(), "--no-rows")[0] == 0
    lake.insert("s", 1)
    lake.insert("s")
    lake.expire("s", keep=1)
    lake.run()
    assert lake.ids() == [1]


def test_a_target_of_another_writer_is_not_new_after_an_expiry_by_pyiceberg(lake):
    lake.insert("s", 1)
    lake.insert("t", 100)
    lake.insert("t")
    lake.expire("t", keep=1)
    code, _, said = lake.capture()
    assert code == 1 and "no checkpoint" in said
    assert lake.ids() == [100]


def test_an_expiry_by_pyiceberg_between_two_runs(lake):
    """Older metadata files still contain the parents that PyIceberg removed."""
    lake.insert("s", 1)
    lake.run()
    for number in (2, 3):
        lake.insert("s", number)
    lake.expire("s", keep=1)
    (source,) = lake.captured()["sources"]
    assert (source["kind"], source["records"], source["data_files"]) == ("net", 2, 2)


def test_an_unrecoverable_expiry_by_pyiceberg_is_reported_as_expired(lake):
    lake.insert("s", 1)
    lake.run()
    for number in (2, 3):
        lake.insert("s", number)
    lake.expire("s", keep=1)
    for entry in lake.table("s").metadata.metadata_log:
        Path(entry.metadata_file.removeprefix("file://")).unlink()
    code, _, said = lake.capture()
    assert code == 1 and "(expired)" in said and "--full-refresh" in said
    lake.run("--full-refresh")
    assert lake.ids() == [1, 2, 3]


def test_rows_that_were_rolled_back_and_expired_since_the_capture(lake):
    lake.insert("s", 1)
    lake.run()
    kept = lake.head("s")
    lake.insert("s", 2)
    captured = lake.captured()
    lake.write(captured)
    lake.table("s").manage_snapshots().set_current_snapshot(kept).commit()
    lake.insert("s", 3)
    lake.expire("s", keep=1)
    code, _, said = lake.commit(captured)
    assert code == 1 and "(rolled_back)" in said
    assert lake.ids() == [1]


def test_an_expiry_by_pyiceberg_between_capture_and_commit(lake, run):
    lake.insert("s", 3)
    lake.expire("s", keep=1)
    assert lake.commit(run)[0] == 0
    assert lake.ids() == [1, 2]


def test_a_job_that_writes_to_main(lake, run):
    lake.end("abort", run)
    before = lake.head()
    captured = lake.captured()
    lake.write(captured, branch="main")
    code, _, said = lake.commit(captured)
    assert code == 1 and f"roll lake.n.t back to snapshot {before}" in said
    assert lake.commit(captured, "--no-rows")[0] == 4


def test_a_source_that_a_run_omits(lake):
    lake.create("more")
    lake.insert("s", 1)
    lake.run("--source=lake.n.more")
    lake.insert("s", 2)
    _, _, said = lake.capture()
    assert "also read lake.n.more" in said and "abort" in said
    _, _, said = lake.capture("--source=lake.n.more")
    assert "also read" not in said


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"source": "missing"}, "does not exist"),
        ({"target": "missing"}, "does not exist"),
        ({"source": "t"}, "both a source and the target"),
        ({"source": "s.branch_x"}, "catalog.namespace.table"),
        ({"source": "`s"}, "catalog.namespace.table"),
    ],
)
def test_names_of_tables(lake, options, expected):
    lake.insert("s", 1)
    code, _, said = lake.capture(**options)
    assert code == 1 and expected in said


def test_a_target_without_a_checkpoint(lake):
    lake.insert("s", 1)
    lake.insert("t", 100)
    code, _, said = lake.capture()
    assert code == 1 and "--on-missing-checkpoint full_refresh" in said
    assert lake.ids() == [100]


def test_another_name_or_another_source(lake, run):
    code, _, said = lake.capture("--name=job.other")
    assert code == 1 and "lake.n.t" in said
    lake.create("more")
    code, _, said = lake.capture("--source=lake.n.more")
    assert code == 1 and "capture --full-refresh" in said


def test_rows_deleted_from_the_source(lake, run):
    lake.table("s").delete("id = 1")
    code, _, said = lake.capture()
    assert code == 1 and "--on-source-rewrite upserts" in said and "--changelog" in said


def test_a_source_replaced_or_dropped_since_the_capture(lake, run):
    lake.replace("s")
    lake.insert("s", 9)
    code, _, said = lake.commit(run)
    assert code == 1 and "dropped and created again" in said
    assert lake.capture("--on-history-break=fail")[0] == 1
    lake.catalog.drop_table(("n", "s"))
    assert lake.commit(run)[0] == 1
    assert lake.ids() == [1]


def test_a_target_replaced_or_dropped_since_the_capture(lake, run):
    lake.replace("t")
    code, _, said = lake.commit(run)
    assert code == 4 and "was dropped and created again" in said
    lake.catalog.drop_table(("n", "t"))
    assert lake.commit(run)[0] == 4
    assert lake.end("abort", run)[0] == 0
    with pytest.raises(NoSuchTableError):
        lake.table("t")


def test_a_run_after_which_another_run_committed_first(lake, run):
    other = lake.captured()
    lake.write(other)
    assert lake.commit(other)[0] == 0
    code, _, said = lake.commit(run)
    assert code == 4 and "call capture again" in said
    assert lake.ids() == [1, 2]


def test_a_target_rolled_back_since_the_capture(lake, run):
    first = lake.table("t").metadata.snapshots[0].snapshot_id
    lake.table("t").manage_snapshots().set_current_snapshot(first).commit()
    assert lake.commit(run)[0] == 4


def test_a_branch_that_was_dropped(lake, run):
    lake.table("t").manage_snapshots().remove_branch(run["branch"]).commit()
    code, _, said = lake.commit(run)
    assert code == 4 and "call capture again" in said
    assert lake.ids() == [1]


def test_a_catalog_that_does_not_exist(lake, tmp_path):
    lake.properties["uri"] = f"sqlite:///{tmp_path}/other.db"
    code, _, said = lake.capture()
    assert code == 1 and "--catalog-property" in said
