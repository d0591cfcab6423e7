"""Random histories of a source and a target with runs. Each run makes them equal, or fails without a change.

The tables are a small model of Iceberg, with multisets of rows, and commits with Iceberg's summaries. Like Iceberg's
scans, the model computes the rows of a range from its ends. A mistake in the capture, the plan or the chosen checkpoint
therefore changes the rows. Functional tests do the same with real tables.
"""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dbt.adapters.spark_iceberg.project.model_config import policy_of
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.open import open_run
from iceberg_incremental.capture.reads import capture
from iceberg_incremental.capture.run_plan import Action, Read
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.plan.changes import nothing_new
from iceberg_incremental.plan.ranges import Appends, Kind
from iceberg_incremental.table.checkpoint import KEY
from iceberg_incremental.table.files import ChangedFiles
from iceberg_incremental.table.history import History, Snapshot, TableName

SOURCE = TableName("lake", "ops", "events")
TARGET = TableName("lake", "shop", "staged")
_numbers = itertools.count(1)


class Table:
    """A table that remembers its rows at each snapshot, even after the snapshot has expired."""

    def __init__(self, name, keeps_metadata=True):
        self.name = name
        self.keeps_metadata = keeps_metadata
        self.properties = {}
        self.create()

    def create(self):
        self.uuid = f"uuid-{next(_numbers)}"
        self.snapshots, self.rows, self.head, self.older = {}, {None: Counter()}, None, []
        self.added = {}

    def commit(self, operation, rows, summary=None, added=(), parent="head", counts_all=True):
        self.log()
        number = next(_numbers)
        parent = self.head if parent == "head" else parent
        partitions = {"changed-partition-count": "1"} if counts_all else {}
        summary = {"total-records": str(rows.total()), **partitions, **(summary or {})}
        self.snapshots[number] = Snapshot(number, parent, number, number * 1000, operation, summary)
        self.rows[number], self.added[number] = rows, Counter(added)
        self.head = number
        return number

    def log(self):
        if self.keeps_metadata:
            self.older.insert(0, self.history())

    def history(self):
        refs = {} if self.head is None else {"main": self.head}
        return History(self.name, self.uuid, 2, self.head, dict(self.snapshots), refs, dict(self.properties))

    def append(self, rows, summary=None):
        counted = {"added-records": str(len(rows)), "added-data-files": "1"} if rows else {}
        self.commit("append", self.rows[self.head] + Counter(rows), {**counted, **(summary or {})}, rows)

    def replace(self, rows, summary=None):
        self.commit("overwrite", Counter(rows), {"added-records": str(len(list(rows))), **(summary or {})}, parent=None)

    def set_property(self, key, value):
        self.log()
        self.properties[key] = value

    def ancestors(self):
        return [s.snapshot_id for s in self.history().ancestors(self.head)]

    def rollback(self, steps):
        self.log()
        chain = self.ancestors()
        self.head = chain[min(steps, len(chain) - 1)]

    def expire(self, keep):
        self.log()
        kept = set(self.ancestors()[:keep])
        self.snapshots = {number: s for number, s in self.snapshots.items() if number in kept}

    def compact(self):
        if self.head is not None:
            self.commit("replace", self.rows[self.head], {"added-data-files": "1", "deleted-data-files": "2"})


class Reader:
    def __init__(self, *tables):
        self.tables = {table.name: table for table in tables}

    def load(self, name):
        table = self.tables.get(name)
        return None if table is None else table.history()

    def changed_files(self, history, start, end):
        return ChangedFiles((), (), without_deletes=True)

    def data_files(self, history, asked):
        return None

    def older(self, history):
        return iter(list(self.tables[history.table].older))


def read(table, planned):
    """The rows that Iceberg's scans return for a range."""
    if planned.kind is Kind.EMPTY:
        return Counter()
    if planned.kind is Kind.FULL:
        return table.rows[planned.end.snapshot_id]
    chain = [planned.end.snapshot_id]
    while table.snapshots[chain[-1]].parent_id != planned.start.snapshot_id:
        chain.append(table.snapshots[chain[-1]].parent_id)
    found = Counter()
    if planned.append_scan:
        for number in chain:
            if table.snapshots[number].operation == "append":
                found += table.added[number]
    for addition in planned.additions:
        number = addition.end_id
        while number != addition.start_id:
            found += table.added[number]
            number = table.snapshots[number].parent_id
    return found


few_rows = st.lists(st.integers(0, 5), min_size=1, max_size=3)

incomplete_counts = st.sampled_from(
    [
        None,  # the writer counts everything
        {},  # it writes only the totals, as DuckDB 1.5 does for an UPDATE
        {"added-records": "1", "added-data-files": "1", "deleted-records": "0"},  # it counts delete files as data files
    ]
)


class Histories(RuleBasedStateMachine):
    """All operations on a source and a target, in any order."""

    @initialize(keeps_metadata=st.booleans(), config=st.sampled_from([{}, {"on_source_rewrite": "full_refresh"}]))
    def begin(self, keeps_metadata, config):
        self.source, self.target = Table(SOURCE), Table(TARGET, keeps_metadata)
        self.reader = Reader(self.source)
        self.policy = policy_of(config, "model.shop.staged")
        self.undone = False

    # The source

    @rule(rows=few_rows)
    def append(self, rows):
        self.source.append(rows)

    @rule()
    def append_nothing(self):
        self.source.append([])

    @precondition(lambda self: self.source.head is not None)
    @rule(rows=few_rows)
    def overwrite_an_empty_partition(self, rows):
        counted = {"added-records": str(len(rows)), "added-data-files": "1"}
        self.source.commit("overwrite", self.source.rows[self.source.head] + Counter(rows), counted, rows)

    @precondition(lambda self: self.source.rows[self.source.head])
    @rule(row=st.integers(6, 9), incomplete=incomplete_counts)
    def update(self, row, incomplete):
        rows = Counter(self.source.rows[self.source.head])
        rows[next(iter(rows.elements()))] -= 1
        counted = {"added-records": "1", "deleted-records": "1"} if incomplete is None else incomplete
        self.source.commit("overwrite", +rows + Counter([row]), counted, counts_all=incomplete is None)

    @precondition(lambda self: self.source.rows[self.source.head])
    @rule(merge_on_read=st.booleans(), incomplete=incomplete_counts, operation=st.sampled_from(["delete", "overwrite"]))
    def delete(self, merge_on_read, incomplete, operation):
        rows = Counter(self.source.rows[self.source.head])
        rows[next(iter(rows.elements()))] -= 1
        counted = {"added-position-deletes": "1"} if merge_on_read else {"deleted-records": "1"}
        counted = counted if incomplete is None else incomplete
        self.source.commit(operation, +rows, counted, counts_all=incomplete is None)

    @rule()
    def compact_the_source(self):
        self.source.compact()

    @precondition(lambda self: self.source.head is not None)
    @rule()
    def merge_that_changes_nothing(self):
        self.source.commit("overwrite", self.source.rows[self.source.head])

    @precondition(lambda self: self.source.head is not None)
    @rule(steps=st.integers(1, 3))
    def roll_the_source_back(self, steps):
        self.source.rollback(steps)

    @precondition(lambda self: self.source.head is not None)
    @rule(keep=st.integers(1, 4))
    def expire_the_source(self, keep):
        self.source.expire(keep)

    @rule(rows=few_rows)
    def replace_the_source(self, rows):
        self.source.replace(rows)

    @rule()
    def create_the_source_again(self):
        self.source.create()

    # The target

    @precondition(lambda self: self.target.head is not None)
    @rule()
    def compact_the_target(self):
        self.target.compact()

    @precondition(lambda self: self.target.head is not None)
    @rule(steps=st.integers(1, 3))
    def roll_the_target_back(self, steps):
        self.target.rollback(steps)

    @precondition(lambda self: self.target.head is not None)
    @rule(keep=st.integers(1, 2))
    def expire_the_target(self, keep):
        self.target.expire(keep)

    @precondition(lambda self: self.target.head is not None)
    @rule()
    def lose_the_property(self):
        self.target.log()
        self.target.properties.pop(KEY, None)

    # Runs

    @rule(full_refresh=st.sampled_from([False] * 4 + [True]), dies=st.sampled_from(["", "", "", "build", "mirror"]))
    def run(self, full_refresh, dies):
        before = (self.target.head, dict(self.target.properties))
        try:
            self.run_once(full_refresh, dies)
        except IncrementalError:
            assert (self.target.head, self.target.properties) == before
            return
        if dies != "build":
            assert self.target.rows[self.target.head] == self.source.rows[self.source.head]

    def run_once(self, full_refresh, dies):
        cuts = Cuts(lambda: self.reader)
        run = open_run(
            self.reader, cuts, model="model.shop.staged", target=TARGET, policy=self.policy,
            invocation_id=f"run-{next(_numbers)}", full_refresh=full_refresh,
        )  # fmt: skip
        run = capture(run, cuts, SOURCE, Read.CHANGES)
        planned = run.captured[SOURCE]
        if dies == "build" or run.action is Action.NOTHING:
            return
        checkpoint = run.next_checkpoint()
        carried = {KEY: checkpoint.to_json()}
        if run.action is Action.REBUILD:
            self.target.replace(read(self.source, planned).elements(), carried)
            self.reader.tables[TARGET] = self.target
        elif run.action is Action.APPLY:
            self.target.append(list(read(self.source, planned).elements()), carried)
        if dies != "mirror" or run.action is Action.ADVANCE:
            self.target.set_property(KEY, checkpoint.mirrored(self.target.head).to_json())

    @invariant()
    def the_checkpoint_never_claims_rows_that_the_target_lacks(self):
        """A run on the current state ends with the source's rows or with an error. The state is restored afterwards."""
        saved = (self.target.head, dict(self.target.properties), dict(self.target.snapshots), list(self.target.older))
        known = TARGET in self.reader.tables
        try:
            self.run_once(False, "")
        except IncrementalError:
            pass
        else:
            assert self.target.rows[self.target.head] == self.source.rows[self.source.head]
        self.target.head, self.target.properties, self.target.snapshots, self.target.older = saved
        if not known:
            self.reader.tables.pop(TARGET, None)


Histories.TestCase.settings = settings(
    max_examples=100, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
TestHistories = Histories.TestCase


def test_a_position_that_is_ahead_is_detected(monkeypatch):
    """The test must detect a planted bug, a checkpoint that is ahead of the commits that were read."""
    from iceberg_incremental.capture import source_policy

    plan_changes = source_policy.plan_changes

    def careless(history, position, end, **options):
        planned = plan_changes(history, position, end, **options)
        chain = list(history.ancestors(position.snapshot_id))
        return nothing_new(history, position, end) if chain and isinstance(planned, Appends) else planned

    monkeypatch.setattr(source_policy, "plan_changes", careless)
    from hypothesis.stateful import run_state_machine_as_test

    thorough = settings(Histories.TestCase.settings, max_examples=2000, phases=[Phase.generate])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Histories, settings=thorough)
