"""Staging and publishing, statement by statement, with a simulated table on which tests choose where commits go."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dbt.adapters.spark_iceberg.project.model_config import policy_of
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.open import open_run
from iceberg_incremental.capture.reads import capture
from iceberg_incremental.capture.run import Run
from iceberg_incremental.capture.run_plan import Read
from iceberg_incremental.errors import ConcurrentRunError, ConfigError, NotKeptError, StagingError, StatementError
from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.table.checkpoint import KEY, Checkpoint, Position
from iceberg_incremental.table.commits import PART_KEY
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.layout import LiveSpec
from tests.unit.incremental.connection import Connection

SOURCE, TARGET = TableName("lake", "ops", "events"), TableName("lake", "ops", "staged")
MODEL = "model.shop.staged"
OVERWRITE = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
_SUMMARY = "spark.sql.iceberg.snapshot-property."


def snap(number, parent, summary=()):
    return Snapshot(number, parent, number, number * 1000, "append", {"added-records": "1", **dict(summary)})


def history(table, *snapshots, refs=None):
    head = snapshots[-1].snapshot_id if snapshots else None
    known = {s.snapshot_id: s for s in snapshots}
    return History(table, f"uuid-{table.name}", 2, head, known, {"main": head, **(refs or {})}, {})


def checkpoint(epoch, at):
    return Checkpoint(MODEL, epoch, "x", {str(SOURCE): Position(f"uuid-{SOURCE.name}", at, at, at * 1000)})


class Lake:
    """A source with a new commit, and a target. ``goes`` determines where the commits of each data statement go.

    It maps the statement's text to ``branch``, ``main``, ``aside`` (a snapshot on no branch), ``nowhere`` or ``twice``.
    """

    def __init__(self, **goes):
        self.goes = goes
        self.specs = [LiveSpec(0, 1, ("day",), True)]
        self.settings = {}
        self.sent = []
        self.tables = {
            SOURCE: history(SOURCE, snap(1, None), snap(2, 1)),
            TARGET: history(TARGET, snap(100, None, {KEY: checkpoint(1, 1).to_json()})),
        }

    @property
    def target(self):
        return self.tables[TARGET]

    def load(self, table):
        return self.tables.get(table)

    load_without_statement = load

    def older(self, history):
        return iter(())

    def live_specs(self, history, at):
        return self.specs

    def configure(self, key, value):
        self.settings.pop(key, None)
        if value is not None:
            self.settings[key] = value

    def execute(self, sql):
        self.sent.append(sql)
        refs, made = dict(self.target.refs), re.search(r"(CREATE OR REPLACE|DROP) BRANCH (?:IF EXISTS )?`(.+)`", sql)
        if made is not None:
            refs.pop(made[2], None)
            if made[1] != "DROP":
                refs[made[2]] = self.target.current_snapshot_id
            self.tables[TARGET] = replace(self.target, refs=refs)
        elif "fast_forward" in sql:
            self.move("main", refs[re.search(r"'main', '(.+)'", sql)[1]])
        elif "TBLPROPERTIES" not in sql:
            goes = self.goes.get(sql, "branch")
            for place in {"twice": ["branch", "branch"], "nowhere": []}.get(goes, [goes]):
                self.commit(place)

    def commit(self, place):
        (branch,) = (name for name in self.target.refs if name != "main")
        ref = {"branch": branch, "main": "main"}.get(place)
        marks = {k.removeprefix(_SUMMARY): v for k, v in self.settings.items() if k.startswith(_SUMMARY)}
        new = snap(max(self.target.snapshots) + 1, self.target.refs[ref or branch], marks)
        self.tables[TARGET] = replace(self.target, snapshots={**self.target.snapshots, new.snapshot_id: new})
        if ref is not None:
            self.move(ref, new.snapshot_id)

    def move(self, ref, snapshot_id):
        refs = {**self.target.refs, ref: snapshot_id}
        self.tables[TARGET] = replace(self.target, refs=refs, current_snapshot_id=refs["main"])

    def rebuild(self, sql):
        """Replace the target, as Spark does for CREATE OR REPLACE TABLE AS."""
        self.sent.append(sql)
        marks = {k.removeprefix(_SUMMARY): v for k, v in self.settings.items() if k.startswith(_SUMMARY)}
        self.tables[TARGET] = history(TARGET, snap(200 + len(self.sent), None, marks))

    def run(self, full_refresh=False, **config):
        cuts = Cuts(lambda: self)
        policy, more = policy_of(config, MODEL), {"invocation_id": "new", "full_refresh": full_refresh}
        plan = open_run(self, cuts, model=MODEL, target=TARGET, policy=policy, **more)
        return Run(capture(plan, cuts, SOURCE, Read.CHANGES))

    def apply(self, then=None, **config):
        run = self.run(**config)
        return Publisher(Connection(self.execute, self.configure), self).apply(run, "insert", {}, then)


def delete(target, commit):
    return "delete"


def test_the_name_of_the_branch_depends_on_the_run():
    lake = Lake()
    first = lake.run().plan
    assert first.branch == first.branch != replace(first, invocation_id="other").branch
    assert first.branch.startswith("ip_2_")


@pytest.mark.parametrize(("then", "commits"), [(None, 1), (delete, 2)])
def test_staged_commits_are_published_atomically(then, commits):
    lake = Lake()
    published = lake.apply(then)
    assert published.snapshot == lake.target.current
    assert len(lake.target.snapshots) == 1 + commits
    assert set(lake.target.refs) == {"main"}
    assert not lake.settings


def test_a_commit_whose_sequence_number_becomes_known_later_is_recognized():
    """Spark's metadata tables have the sequence number only of snapshots that were current at some time."""
    lake = Lake()
    load = lake.load

    def partly(table):
        known = load(table)
        unknown = {n: replace(s, sequence_number=None) for n, s in known.snapshots.items() if s != known.current}
        return replace(known, snapshots={**known.snapshots, **unknown})

    lake.load = partly
    assert lake.apply(delete).snapshot.snapshot_id == lake.target.current_snapshot_id


@pytest.mark.parametrize("place", ["nowhere", "aside", "twice"])
@pytest.mark.parametrize("statement", ["insert", "delete"])
def test_a_statement_without_exactly_one_commit_on_the_branch_publishes_nothing(statement, place):
    lake = Lake(**{statement: place})
    with pytest.raises(StagingError, match="were not published") as caught:
        lake.apply(delete)
    assert "the table is unchanged" in str(caught.value).lower()
    assert lake.target.current_snapshot_id == 100
    assert set(lake.target.refs) == {"main"}


@pytest.mark.parametrize(("statement", "found", "back_to"), [("insert", 101, 100), ("delete", 102, 100)])
def test_the_error_of_a_commit_to_main_contains_the_rollback(statement, found, back_to):
    lake = Lake(**{statement: "main"})
    with pytest.raises(StagingError, match="was committed to main") as caught:
        lake.apply(delete)
    assert f"snapshot {found} " in str(caught.value)
    assert f"rollback_to_snapshot('`lake`.`ops`.`staged`', {back_to})" in str(caught.value)


def test_a_run_does_not_continue_a_part_of_an_earlier_one():
    lake = Lake(insert="main")
    with pytest.raises(StagingError):
        lake.apply(delete)
    with pytest.raises(StagingError, match="contains only a part of an earlier run") as caught:
        lake.run()
    assert "rollback_to_snapshot('`lake`.`ops`.`staged`', 100)" in str(caught.value)
    lake.move("main", 100)
    lake.goes = {}
    assert lake.apply(delete).checkpoint.epoch == 2


def test_a_statement_that_is_executed_again_after_publication_is_an_error():
    lake = Lake()
    execute = lake.execute

    def late(sql):
        if "fast_forward" in sql:
            lake.settings[_SUMMARY + KEY] = lake.run().next_checkpoint().to_json()
            lake.commit("branch")
        execute(sql)

    lake.execute = late
    with pytest.raises(StagingError, match="a second commit of one of its statements") as caught:
        lake.apply()
    assert "rollback_to_snapshot('`lake`.`ops`.`staged`', 101)" in str(caught.value)


def test_an_overwrite_without_rows_moves_only_the_checkpoint():
    lake = Lake(insert="nowhere")
    assert lake.apply(**OVERWRITE).snapshot is None
    left = Lake(insert="nowhere")  # with a commit of an earlier merge that was killed between its statements
    crashed = snap(150, 100, {PART_KEY: "2"})
    left.tables[TARGET] = replace(left.target, snapshots={**left.target.snapshots, 150: crashed})
    assert left.apply(**OVERWRITE).snapshot is None
    with pytest.raises(StagingError, match="1 snapshot of this run on no branch"):
        Lake(insert="aside").apply(**OVERWRITE)


def test_an_overwrite_of_a_table_with_files_of_an_older_spec_is_not_published():
    lake = Lake()
    lake.specs = [LiveSpec(0, 3, (), False), LiveSpec(1, 2, ("days(at)",), True), LiveSpec(2, 1)]
    with pytest.raises(ConfigError, match="would duplicate their rows") as caught:
        lake.apply(**OVERWRITE)
    for named in (
        "3 files of spec 0 (no partitions); 2 files of spec 1 (days(at)), the current one; 1 file of spec 2.",
        "rewrite_data_files(table => '`lake`.`ops`.`staged`', options => map('rewrite-all', 'true'))",
        "--full-refresh --select staged",
    ):
        assert named in str(caught.value)
    assert lake.target.current_snapshot_id == 100
    assert lake.apply().snapshot is not None  # an append replaces no rows


def test_a_build_whose_response_was_lost_is_repeated():
    lake = Lake()
    run = lake.run(full_refresh=True)

    def execute(sql):
        if sql == "build":
            lake.rebuild(sql)
            if lake.sent.count("build") == 1:
                raise StatementError("503")

    published = Publisher(Connection(execute, lake.configure), lake).rebuild(run, "build")
    assert lake.sent == ["build", "build"]
    assert published.snapshot == lake.target.current
    assert not lake.settings


def test_the_error_of_an_uncommitted_build_is_raised():
    lake = Lake()
    run = lake.run(full_refresh=True)

    def fails(sql):
        lake.sent.append(sql)
        raise StatementError("500")

    with pytest.raises(StatementError, match="500"):
        Publisher(Connection(fails, lake.configure), lake).rebuild(run, "build")
    lake.tables.clear()
    with pytest.raises(StatementError, match="500"):
        Publisher(Connection(fails, lake.configure), lake).rebuild(run, "build")
    assert lake.sent == ["build", "build"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("Cannot open table: path is not set", "lake, which is Spark's own, without Iceberg"),
        ("Cannot downgrade v3 table to v2", "correct format-version in tblproperties"),
    ],
)
def test_a_table_that_its_catalog_cannot_build(found, said):
    lake = Lake()
    run = lake.run(full_refresh=True)

    def fails(_):
        raise StatementError(found)

    with pytest.raises(ConfigError, match=said):
        Publisher(Connection(fails, lake.configure), lake).rebuild(run, "build")


class Forgetful(Lake):
    """A catalog that reports a new branch as created, and does not create it. ``reads``: whether PyIceberg reads it."""

    def __init__(self, *, reads=True, properties=(), dropped_by=None):
        super().__init__()
        self.tables[TARGET] = replace(self.target, properties=dict(properties))
        self.reads, self.dropped_by = reads, dropped_by

    def load_without_statement(self, table):
        return self.load(table) if self.reads else None

    def execute(self, sql):
        self.sent.append(sql)
        if "CREATE OR REPLACE BRANCH" in sql and self.dropped_by is not None:
            self.tables[TARGET] = self.dropped_by


@pytest.mark.parametrize("reads", [True, False])
def test_no_row_is_written_if_the_catalog_does_not_keep_the_branch(reads):
    lake = Forgetful(reads=reads)
    with pytest.raises(NotKeptError, match="does not keep branches") as caught:
        lake.apply()
    assert "Found: only main when the table was read again." in str(caught.value)
    assert "To fix: use a catalog that keeps" in str(caught.value)
    assert "insert" not in lake.sent
    asked = [sql for sql in lake.sent if ".refs where name" in sql]
    assert len(asked) == (0 if reads else 1)  # no statement if PyIceberg can prove it


def test_the_error_names_the_protocol_to_use_if_the_server_is_nessie():
    with pytest.raises(NotKeptError, match=r"set spark\.sql\.catalog\.lake\.type: nessie"):
        Forgetful(properties={"nessie.commit.id": "9a19"}).apply()


def test_a_new_branch_that_the_winner_has_dropped_is_a_lost_race():
    won = history(TARGET, snap(100, None), snap(101, 100, {KEY: checkpoint(2, 2).to_json()}))
    with pytest.raises(ConcurrentRunError, match="Another run of"):
        Forgetful(dropped_by=won).apply()


def test_a_publication_that_the_catalog_only_reports_is_an_error():
    lake = Lake()
    execute = lake.execute
    lake.execute = lambda sql: None if "fast_forward" in sql else execute(sql)
    with pytest.raises(ConcurrentRunError, match="its rows are not in the history"):
        lake.apply()


@pytest.mark.parametrize(
    ("asked", "is_older"), [({"format-version": "3"}, True), ({"format-version": 2}, False), ({}, False)]
)
def test_an_older_format_version_than_configured_is_an_error(asked, is_older):
    lake = Lake()
    connection = Connection(lambda sql: lake.rebuild(sql) if sql == "build" else None, lake.configure)
    publisher, run = Publisher(connection, lake), lake.run(full_refresh=True)
    if not is_older:
        assert publisher.rebuild(run, "build", asked).snapshot == lake.target.current
        return
    with pytest.raises(NotKeptError, match="in an older format version"):
        publisher.rebuild(run, "build", asked)


def test_a_build_that_conflicts_with_another_commit_is_repeated(monkeypatch):
    lake, refused = Lake(), []

    def execute(sql):
        if sql == "build" and not refused:
            refused.append(sql)
            raise StatementError("BadRequestException: Cannot add snapshot with sequence number 2 older than last 2")
        if sql == "build":
            lake.rebuild(sql)

    run = lake.run(full_refresh=True)
    published = Publisher(Connection(execute, lake.configure), lake).rebuild(run, "build")
    assert published.snapshot == lake.target.current
