"""Random histories. After each run, a table has the versions that the commits of its source define.

``FUZZ_HISTORIES``, ``FUZZ_ROUNDS`` and ``FUZZ_SEED`` set the number, length and seed of the histories. These are played
in batches, each in one project. One dbt run builds all of its models.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from iceberg_incremental.capture import open, source_policy, versions_run
from iceberg_incremental.errors import StatementError
from iceberg_incremental.metadata.pyiceberg_reader import PyIcebergReader
from iceberg_incremental.plan.breaks import Break
from iceberg_incremental.plan.changes import nothing_new
from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.table.history import History, TableName
from iceberg_incremental.write.versions import from_changes, history_writer

from .together import at_once, batches
from .versions import Kept, WrongVersionsError, before_runs, jittered

FIXED_SEED, FIXED_COUNT, FIXED_ROUNDS = 25, 6, 4
SEED = int(os.environ.get("FUZZ_SEED", FIXED_SEED))
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", FIXED_ROUNDS))
COUNT = int(os.environ.get("FUZZ_HISTORIES", FIXED_COUNT))
BATCHES = batches(range(COUNT))
CHOSEN = [BATCHES[0], *(pytest.param(batch, marks=pytest.mark.nightly) for batch in BATCHES[1:])]


@pytest.fixture(autouse=True)
def clocks_differ(monkeypatch):
    """The commits of the sources have times of different clocks, which go back and forth."""
    load = PyIcebergReader.load

    def jittering(reader: Any, table: TableName) -> History | None:
        found = load(reader, table)
        if found is None or not table.namespace.endswith("_src"):
            return found
        snapshots = {each.snapshot_id: replace(each, timestamp_ms=jittered(each)) for each in found.snapshots.values()}
        return replace(found, snapshots=snapshots)

    monkeypatch.setattr(PyIcebergReader, "load", jittering)


class Versioned:
    """Several histories that are played together."""

    def __init__(self, shop: Any, numbers: Sequence[int], seed: int = SEED) -> None:
        self.shop = shop
        self.random = random.Random(f"{seed} {numbers}")
        self.kept = [Kept(f"s{number}", random.Random(f"{seed} {number}"), shop) for number in numbers]
        self.reader = PyIcebergReader(lambda _: shop.catalog_properties)

    def play(self, monkeypatch: Any, rounds: int = ROUNDS) -> None:
        """Play all rounds. Raises WrongVersionsError."""
        with at_once() as call:
            call(Kept.begin, self.kept)
            self.shop.declare()
            for number, before in enumerate(before_runs(self.random, rounds)):
                if number:
                    call(Kept.some_steps, self.kept)
                if before in ("expire", "replace"):
                    half = self.random.sample(self.kept, max(1, len(self.kept) // 2))
                    call(getattr(Kept, before), [each for each in half if each.versions.all])
                if before == "crash":  # the columns that the run adds remain
                    call(Kept.add_column, self.random.sample(self.kept, max(1, len(self.kept) // 2)))
                self.run(monkeypatch, call, crashes=before == "crash", full_refresh=before == "refresh")

    def __str__(self) -> str:
        steps = sum((each.steps for each in self.kept), Counter())
        return (
            f"{len(self.kept)} histories, {sum(each.checks for each in self.kept)} tables compared, steps {dict(steps)}"
        )

    def run(self, monkeypatch: Any, call: Any, *, crashes: bool, full_refresh: bool) -> None:
        """Run all models, and compare their tables with the oracle."""
        if crashes:
            with monkeypatch.context() as patched:
                patched.setattr(Publisher, "_forward", crash)
                self.shop.dbt("run")

        def follow(each: Kept) -> None:
            name = TableName(self.shop.catalog, self.shop.source_schema, each.name)
            each.follow(self.reader.load(name), compares=full_refresh)

        call(follow, self.kept)
        self.shop.run(*(["--full-refresh"] if full_refresh else []))
        call(Kept.check, self.kept)


def crash(*_: Any) -> None:
    """End the run before it publishes."""
    raise StatementError("the connection was lost")


@pytest.fixture
def versioned(small_shop, warehouse):
    shop = small_shop
    shop.catalog_properties = {"type": "sql", "uri": f"sqlite:///file:{warehouse / 'catalog.db'}?mode=rw&uri=true"}
    return lambda numbers, seed=SEED: Versioned(shop, numbers, seed)


@pytest.mark.core
@pytest.mark.parametrize("numbers", CHOSEN, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_a_table_has_the_versions_that_the_commits_make(versioned, monkeypatch, numbers, record_property):
    played = versioned(numbers)
    played.play(monkeypatch)
    record_property(f"fuzz_versions_{numbers[0]}", f"seed {SEED}: {played}")


def times_are_those_of_the_commits(monkeypatch):
    """A commit has its own time, even if it is earlier than that of the commit before."""
    commits_of = versions_run.commits_of

    def careless(plan, clock_ms=0):
        _, planned = versions_run.source_of(plan)
        ends = [each.commit for each in getattr(planned, "commits", ())] or [planned.end]
        pairs = zip(commits_of(plan, clock_ms), ends, strict=True)
        return tuple(replace(each, time_ms=each.time_ms if end is None else end.timestamp_ms) for each, end in pairs)

    monkeypatch.setattr(history_writer, "commits_of", careless)


def commits_are_read_together(monkeypatch):
    """A run reads its commits as one."""
    units = source_policy.units
    monkeypatch.setattr(source_policy, "units", lambda commits: [sum(units(commits), ())] if commits else [])


def all_columns_are_checked(monkeypatch):
    """``check_cols`` is ignored."""
    monkeypatch.setattr(from_changes.HistoryRows, "tracked", property(lambda rows: rows.columns))


def a_rebuild_drops_versions(monkeypatch):
    """A full refresh creates the table again."""
    monkeypatch.setattr(open, "_keeping", lambda run, *_: run)


def deletions_are_ignored(monkeypatch):
    """A deletion ends no version."""
    events_sql = from_changes.events_sql
    monkeypatch.setattr(
        from_changes,
        "events_sql",
        lambda log, rows, run: f"select * from ({events_sql(log, rows, run)}) where DBT_INTERNAL_IS_KEPT",
    )


def unchecked_columns_are_not_updated(monkeypatch):
    """Unchecked columns keep the values that they had when the version began."""
    versions_sql, follows = from_changes.versions_sql, " is null and not DBT_INTERNAL_FOLLOWS"

    def careless(*arguments: Any, **named: Any) -> str:
        sql = versions_sql(*arguments, **named)
        assert follows in sql
        return sql.replace(follows, " is null")

    monkeypatch.setattr(from_changes, "versions_sql", careless)


def expired_commits_are_skipped(monkeypatch):
    """A run continues after commits that have expired."""
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
        deletions_are_ignored,
        unchecked_columns_are_not_updated,
        expired_commits_are_skipped,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_planted_bug_is_found(versioned, monkeypatch, plant):
    plant(monkeypatch)
    for numbers in batches(range(40), 8):
        try:
            versioned(numbers, FIXED_SEED).play(monkeypatch)
        except (WrongVersionsError, AssertionError):
            return
    pytest.fail("no history has found it")
