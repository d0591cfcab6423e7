"""Random histories: after each run, a table has the versions that the commits of its source make.

``FUZZ_HISTORIES``, ``FUZZ_ROUNDS`` and ``FUZZ_SEED`` set how many, how long and which. Histories are played in batches,
each in one project: a run of dbt builds all of its models.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import Any

import pytest

from iceberg_incremental.capture import history_run, open, source_policy
from iceberg_incremental.errors import StatementError
from iceberg_incremental.metadata.pyiceberg_reader import PyIcebergReader
from iceberg_incremental.plan import per_commit
from iceberg_incremental.plan.breaks import Break
from iceberg_incremental.plan.changes import nothing_new
from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.table.history import History, TableName
from iceberg_incremental.write import history, history_writer

from .versions import Kept, WrongVersionsError, before_runs, jittered

FIXED_SEED, FIXED_COUNT, FIXED_ROUNDS, BATCH = 25, 6, 4, 6
SEED = int(os.environ.get("FUZZ_SEED", FIXED_SEED))
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", FIXED_ROUNDS))
COUNT = int(os.environ.get("FUZZ_HISTORIES", FIXED_COUNT))
BATCHES = [range(first, min(first + BATCH, COUNT)) for first in range(0, COUNT, BATCH)]
CHOSEN = [BATCHES[0], *(pytest.param(batch, marks=pytest.mark.nightly) for batch in BATCHES[1:])]


@pytest.fixture(autouse=True)
def clocks_differ(monkeypatch):
    """Commits of the sources have the times of other clocks, which go back and forth."""
    load = PyIcebergReader.load

    def jittering(reader: Any, table: TableName) -> History | None:
        found = load(reader, table)
        if found is None or not table.namespace.endswith("_src"):
            return found
        snapshots = {each.snapshot_id: replace(each, timestamp_ms=jittered(each)) for each in found.snapshots.values()}
        return replace(found, snapshots=snapshots)

    monkeypatch.setattr(PyIcebergReader, "load", jittering)


class Versioned:
    """Some histories that are played together."""

    def __init__(self, shop: Any, numbers: range, seed: int = SEED) -> None:
        self.shop = shop
        self.random = random.Random(f"{seed} {numbers}")
        self.kept = [Kept(f"s{number}", random.Random(f"{seed} {number}"), shop) for number in numbers]
        self.reader = PyIcebergReader(lambda _: shop.catalog_properties)

    def play(self, monkeypatch: Any, rounds: int = ROUNDS) -> None:
        """Play all rounds. Raises WrongVersionsError."""
        for each in self.kept:
            each.begin()
        for number, before in enumerate(before_runs(self.random, rounds)):
            for each in self.kept:
                for _ in range(each.random.randint(0, 4) if number else 0):
                    each.step()
            self.run(monkeypatch, before, full_refresh=before == "refresh")

    def run(self, monkeypatch: Any, before: str, *, full_refresh: bool) -> None:
        """Run all models, and compare their tables with the oracle."""
        if before in ("expire", "replace"):
            for each in self.random.sample(self.kept, 3):
                if each.versions.all:
                    getattr(each, before)()
        options = ["--full-refresh"] if full_refresh else []
        if before == "crash":
            with monkeypatch.context() as patched:
                patched.setattr(Publisher, "_forward", crash)
                self.shop.dbt("run")
        for each in self.kept:
            name = TableName(self.shop.catalog, self.shop.source_schema, each.name)
            each.follow(self.reader.load(name), compares=full_refresh)
        self.shop.run(*options)
        for each in self.kept:
            each.check()


def crash(*_: Any) -> None:
    """The run ends before it publishes."""
    raise StatementError("the connection was lost")


@pytest.fixture
def versioned(shop, warehouse):
    shop.catalog_properties = {"type": "sql", "uri": f"sqlite:///file:{warehouse / 'catalog.db'}?mode=rw&uri=true"}
    return lambda numbers, seed=SEED: Versioned(shop, numbers, seed)


@pytest.mark.parametrize("numbers", CHOSEN, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_a_table_has_the_versions_that_the_commits_make(versioned, monkeypatch, numbers):
    versioned(numbers).play(monkeypatch)


def times_are_those_of_the_commits(monkeypatch):
    """A commit has its own time, though it is earlier than that of the commit before."""
    commits_of = history_run.commits_of

    def careless(plan, clock_ms=0):
        _, planned = history_run.source_of(plan)
        ends = [each.commit for each in getattr(planned, "commits", ())] or [planned.end]
        pairs = zip(commits_of(plan, clock_ms), ends, strict=True)
        return tuple(replace(each, time_ms=each.time_ms if end is None else end.timestamp_ms) for each, end in pairs)

    monkeypatch.setattr(history_writer, "commits_of", careless)


def commits_are_read_together(monkeypatch):
    """A run reads its commits as one."""
    units = per_commit.units
    monkeypatch.setattr(per_commit, "units", lambda commits: [sum(units(commits), ())] if commits else [])


def all_columns_are_checked(monkeypatch):
    """``check_cols`` is not looked at."""
    monkeypatch.setattr(history.HistoryRows, "tracked", property(lambda rows: rows.columns))


def a_rebuild_drops_versions(monkeypatch):
    """A full refresh makes the table again."""
    monkeypatch.setattr(open, "_keeping", lambda run, *_: run)


def deletions_are_passed_over(monkeypatch):
    """A deletion ends no version."""
    events_sql = history.events_sql
    monkeypatch.setattr(
        history_writer,
        "events_sql",
        lambda log, rows, run: f"select * from ({events_sql(log, rows, run)}) where DBT_INTERNAL_IS_KEPT",
    )


def other_columns_do_not_follow(monkeypatch):
    """Columns that are not checked keep the values that they had when the version began."""
    versions_sql, follows = history.versions_sql, " is null and not DBT_INTERNAL_FOLLOWS"

    def careless(*arguments: Any, **named: Any) -> str:
        sql = versions_sql(*arguments, **named)
        assert follows in sql
        return sql.replace(follows, " is null")

    monkeypatch.setattr(history_writer, "versions_sql", careless)


def what_has_expired_is_passed_over(monkeypatch):
    """A run goes on behind commits that have expired."""
    judged = source_policy._judged_by_commit

    def careless(cuts, cut, position):
        found = judged(cuts, cut, position)
        return nothing_new(cut.history, position, cut.end) if isinstance(found, Break) else found

    monkeypatch.setattr(source_policy, "_judged_by_commit", careless)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "plant",
    [
        times_are_those_of_the_commits,
        commits_are_read_together,
        all_columns_are_checked,
        a_rebuild_drops_versions,
        deletions_are_passed_over,
        other_columns_do_not_follow,
        what_has_expired_is_passed_over,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_planted_bug_is_found(versioned, monkeypatch, plant):
    plant(monkeypatch)
    for first in range(0, 5 * BATCH, BATCH):
        try:
            versioned(range(first, first + BATCH), FIXED_SEED).play(monkeypatch)
        except (WrongVersionsError, AssertionError):
            return
    pytest.fail("no history has found it")
