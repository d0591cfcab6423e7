"""What the loop builds, what it tries again and when, with tables and dbt played by the test."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.spark.interrupt import InterruptError
from dbt.adapters.spark_iceberg.watch.backoff import Backoff
from dbt.adapters.spark_iceberg.watch.batching import Batching
from dbt.adapters.spark_iceberg.watch.due import Dag
from dbt.adapters.spark_iceberg.watch.log import Log
from dbt.adapters.spark_iceberg.watch.loop import Loop, Settings
from dbt.adapters.spark_iceberg.watch.outcome import Outcome
from dbt.adapters.spark_iceberg.watch.periodic_tasks import PeriodicTask
from dbt.adapters.spark_iceberg.watch.signals import Stop
from dbt.adapters.spark_iceberg.watch.version import Version, Versions

from .statuses import status, up_to_date

A, B, VIEW, OTHER = "model.shop.a", "model.shop.b", "model.shop.view", "model.shop.other"
DAG = Dag({A: ["events"], B: [A], VIEW: [B], OTHER: ["others"]}, [A, B, VIEW, OTHER])


class World:
    """The tables as the models see them, and dbt."""

    def __init__(self, periodic_tasks=(), dag=DAG, **settings):
        self.statuses = {name: up_to_date(name) for name in (A, B, OTHER)}
        self.last_changed = {}
        self.models = list(self.statuses)
        self.now = 1_000.0
        self.built = []
        self.judged_again = []
        self.outcomes = []
        self.files = {}
        self.closed = 0
        self.next_version = None
        self.stop = Stop()
        self.log = io.StringIO()
        settings = Settings(**settings)
        versions = Versions(self.version(dag, periodic_tasks=periodic_tasks), self.load, settings.backoff)
        self.loop = Loop(versions, settings, self.stop, Log(as_json=True, stream=self.log), clock=lambda: self.now)

    def version(self, dag=DAG, **details):
        def close():
            self.closed += 1

        return Version(self, dag, self.build, stamps=lambda: self.files, parsed=self.files, close=close, **details)

    def load(self):
        if isinstance(self.next_version, BaseException):
            raise self.next_version
        return self.next_version

    def look(self, again=()):
        self.judged_again.append(set(again))

    def commit(self, model, **details):
        """A source of a model was committed to."""
        self.statuses[model] = status(model, epoch=self.statuses[model].epoch, **details)

    def build(self, reach, passed):
        nodes = reach.nodes
        self.passed = set(passed)
        self.waiting = set(reach.waiting)
        self.built.append(set(nodes))
        if self.outcomes:
            outcome = self.outcomes.pop(0)
            if isinstance(outcome, BaseException):
                self.stop._asked.set()
                raise outcome
        else:
            outcome = Outcome(frozenset(nodes))
        for name in outcome.done & self.statuses.keys():
            self.statuses[name] = up_to_date(name, self.statuses[name].epoch + 1)
        return outcome

    def step(self, seconds=0.0):
        self.now += seconds
        return self.loop.step()

    def events(self, name):
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line["data"] for line in lines if line["info"]["name"] == name]


def test_nothing_runs_while_nothing_came():
    world = World()

    assert not any(world.step() for _ in range(3))
    assert world.built == []


def test_a_commit_is_built_with_what_lies_downstream_once():
    world = World()
    world.commit(A)

    assert [world.step() for _ in range(3)] == [True, False, False]
    assert world.built == [{A, B, VIEW}]


def test_it_waits_until_a_source_is_quiet():
    world = World(batching=Batching(debounce=5))
    world.commit(A)
    world.last_changed["lake.raw.events"] = world.now

    assert not world.step(4)
    assert world.step(1)


def test_a_failure_is_tried_again_later_and_later_and_what_is_behind_it_waits():
    world = World(backoff=Backoff(first=5, longest=60))
    world.commit(A)
    world.commit(B)
    failed = Outcome(failed={A: "no"})
    world.outcomes = [failed, Outcome(frozenset({OTHER})), failed, failed]

    assert world.step()
    assert not world.step(4)
    world.commit(OTHER)
    assert world.step(0)
    assert world.built[-1] == {OTHER}
    assert world.step(1)
    assert not world.step(9)
    assert world.step(1)
    assert world.built == [{A, B, VIEW}, {OTHER}, {A, B, VIEW}, {A, B, VIEW}]
    assert [event["failures"] for event in world.events("NodeFailing")] == [1, 2, 3]


def test_a_failing_test_is_tried_again_though_its_model_is_not_due():
    world = World(backoff=Backoff(first=5))
    world.commit(A)
    world.outcomes = [Outcome(failed={A: "not_null_a_id: 1"})]
    world.step()
    world.statuses[A] = up_to_date(A, epoch=2)  # it has committed
    world.commit(B)

    assert not world.step(4)
    assert world.step(1)
    assert world.built[-1] == {A, B, VIEW}
    assert not world.step(60)


def test_a_failing_view_is_tried_again():
    world = World(backoff=Backoff(first=5))
    world.commit(A)
    world.outcomes = [Outcome(frozenset({A, B}), {VIEW: "no"})]

    assert [world.step(), world.step(), world.step(5), world.step(60)] == [True, False, True, False]
    assert world.built[-1] == {VIEW}


def test_what_waits_for_a_model_is_built_once_others_have_mended_it():
    """A table that reads two models gets the rows of the one when the other no longer fails, though it is not due."""
    dag = Dag({A: ["events"], B: ["others"], VIEW: [A, B]}, [A, B, VIEW])
    world = World(dag=dag, backoff=Backoff(5, 60))
    world.commit(B, next_run="fails", error="rewritten")
    world.commit(A)
    assert world.step() and world.built == [{A}]
    assert not world.step(1)

    world.statuses[B] = up_to_date(B, 9)  # by a full refresh elsewhere
    assert world.step(10) and world.built == [{A}, {VIEW}]
    assert not world.step(10)


def test_what_a_failing_test_has_held_back_is_built_though_the_model_needs_no_run_any_more():
    world = World(backoff=Backoff(first=5))
    world.commit(B)
    world.outcomes = [Outcome(failed={B: "not_null_b_id: 1"})]
    assert world.step()
    world.commit(B, next_run="fails", error="rewritten")
    assert not world.step(10)

    world.statuses[B] = up_to_date(B, 9)  # by ip_set_checkpoint
    assert world.step(10) and world.built == [{B, VIEW}, {VIEW}]
    assert not world.step(60)


def test_what_lies_behind_a_model_that_another_process_has_built_is_built():
    world = World()
    assert not world.step()
    world.statuses[A] = up_to_date(A, epoch=2)
    assert [world.step(1), world.step(1)] == [True, False]
    assert world.built == [{VIEW}]


def test_an_error_of_a_whole_run_is_said_once():
    world = World()
    world.commit(A)
    world.commit(OTHER)
    world.outcomes = [Outcome(stopped="Could not connect")]
    world.step()
    said = [json.loads(line)["info"]["msg"] for line in world.log.getvalue().splitlines()]
    assert sum("Could not connect" in each for each in said) == 1
    assert f"{OTHER}: failed; next attempt in 5 seconds: as {A}" in said
    assert said[-1].endswith("failure; 0 nodes built, 0 failed, 4 not built")


def test_a_model_that_would_fail_is_not_run_said_once_and_judged_again():
    world = World(backoff=Backoff(first=5))
    world.commit(A, error="rewritten")
    world.commit(B)

    assert [world.step(), world.step(1), world.step(4), world.step(1), world.step(9)] == [False] * 5
    assert len(world.events("NodeFailing")) == 1
    assert world.judged_again == [set(), set(), {A}, set(), {A}]

    world.statuses[A] = status(A)
    assert world.step(1)
    assert world.built == [{A, B, VIEW}]


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(stopped="Could not connect"),
        Outcome(failed={"operation.shop.on-run-start-0": "no"}),  # a hook, whereupon dbt skips all
        Outcome(),
    ],
)
def test_a_run_that_does_not_come_to_its_nodes_is_no_loop(outcome):
    world = World(backoff=Backoff(first=5))
    world.commit(A)
    world.outcomes = [outcome]

    assert [world.step(), world.step(), world.step(4), world.step(1)] == [True, False, False, True]
    assert world.built == [{A, B, VIEW}] * 2


def test_a_model_that_stays_as_due_as_it_was_is_no_loop():
    world = World(backoff=Backoff(first=5))
    world.commit(A)
    before = world.statuses[A]

    outcome = Outcome(frozenset({A, B, VIEW}))
    world.build = lambda reach, passed: world.statuses.update({A: before}) or outcome
    world.loop._versions.current = world.version()
    assert [world.step(), world.step(), world.step(5)] == [True, False, True]
    assert "still due" in world.events("NodeFailing")[0]["error"]


def test_a_signal_ends_the_run_and_the_loop():
    world = World()
    world.commit(A)
    world.outcomes = [InterruptError("SIGTERM")]

    world.loop.run()

    assert world.events("RunEnded")[-1]["outcome"] == "stopped"
    assert world.events("NodeFailing") == []
    assert len(world.built) == 1


def test_chores_are_done_in_their_time_between_runs_and_stop_nothing_where_they_fail():
    done = []

    def fails():
        done.append(1)
        raise DbtRuntimeError("no such procedure")

    world = World([PeriodicTask("maintenance", fails, every=10, last=1_000.0)])
    world.step()
    assert done == []

    world.commit(A)
    world.step(10)
    assert done == []  # A is due
    assert [world.step(), world.step()] == [False, False]
    assert done == [1]
    assert "maintenance failed: " in world.log.getvalue() and "no such procedure" in world.log.getvalue()
    world.step(10)
    assert done == [1, 1]


def test_what_another_process_may_have_left_behind_a_model_is_built_first():
    world = World()
    world.outcomes.append(InterruptError("SIGTERM"))
    world.loop.run()
    assert world.built == [{VIEW}]


def test_a_busy_source_does_not_end_the_wait_of_a_poison_row_whose_error_is_said_once():
    world = World(backoff=Backoff(first=5, longest=60))
    world.commit(A)
    world.outcomes = [Outcome(failed={A: f"task {number}: cannot cast 'x'"}) for number in range(9)]
    tries = []
    for second in range(40):
        world.commit(A, commits=second + 1)
        if world.step(1):
            tries.append(second)

    assert tries == [0, 5, 15, 35]
    said = [json.loads(line)["info"]["msg"] for line in world.log.getvalue().splitlines()]
    assert [each for each in said if each.startswith(A)] == [
        f"{A}: failed; next attempt in 5 seconds",  # dbt's lines before have the error
        *(
            f"{A}: failed again, {n} times in a row; next attempt in {wait} seconds"
            for n, wait in ((2, 10), (3, 20), (4, 40))
        ),
    ]


def test_tests_that_read_a_waiting_model_are_left_out():
    world = World(batching=Batching(debounce=5))
    world.commit(A, error="rewritten")
    world.commit(OTHER)
    world.last_changed = {}
    assert world.step()
    assert (world.built, world.waiting) == ([{OTHER}], {A, B, VIEW})


def test_a_hook_that_failed_is_no_longer_failing_after_a_run():
    world = World(backoff=Backoff(first=5))
    world.commit(A)
    world.outcomes = [Outcome(failed={"operation.shop.on-run-start-0": "no"})]
    assert [world.step(), world.step(5)] == [True, True]
    assert not world.loop.situation().failures.nodes


def changed_files(world, version):
    """Write a file; the look that sees it waits for the next one."""
    world.files, world.next_version = {"m.sql": (len(world.files) + world.now, 1)}, version
    return [world.step(1), world.step(1)]


def test_a_changed_project_is_loaded_once_its_files_rest_and_what_failed_is_tried_at_once():
    world = World(backoff=Backoff(first=500))
    world.commit(A)
    world.outcomes = [Outcome(failed={A: "a syntax error"})]
    assert [world.step(), world.step(1)] == [True, False]

    fixed = world.version(definitions={A: "2", VIEW: "1"})
    fixed = replace(fixed, parsed={"m.sql": (1003.0, 1)})
    world.files = {"m.sql": (1002.0, 1)}
    world.next_version = fixed
    assert not world.step(1)  # seen for the first time
    world.files = {"m.sql": (1003.0, 1)}
    assert not world.step(1)  # still being written
    assert world.step(1)
    assert world.built == [{A, B, VIEW}, {A, B, VIEW}]
    (reloaded,) = world.events("ProjectReloaded")
    assert (reloaded["changed"], world.closed) == ([A, VIEW], 1)
    assert not world.step(1) and not world.loop.situation().failures.nodes


def test_what_a_change_of_the_project_changes_is_built_once_though_nothing_was_committed():
    world = World()
    world.loop._versions.current = world.version(definitions={OTHER: "1", VIEW: "1"})
    assert changed_files(world, world.version(definitions={OTHER: "1", VIEW: "2"})) == [False, True]
    assert world.built == [{VIEW}]
    assert not world.step(1)


def test_a_project_that_does_not_parse_is_said_once_and_the_last_version_goes_on():
    world = World(backoff=Backoff(first=5))
    assert not world.step()
    assert changed_files(world, DbtRuntimeError("depends on nothing")) == [False, False]
    for _ in range(20):
        world.step(1)
    (said,) = world.events("ProjectNotReloaded")
    assert "depends on nothing" in said["error"]
    world.commit(A)
    assert world.step(1) and world.built == [{A, B, VIEW}]

    assert changed_files(world, OSError("gone")) == [False, False]  # whatever dbt raises
    assert len(world.events("ProjectNotReloaded")) == 2
    assert changed_files(world, world.version(definitions={VIEW: "2"})) == [False, True]
    assert world.built[-1] == {VIEW}


def test_a_model_that_the_project_no_longer_has_is_forgotten():
    world = World(backoff=Backoff(first=5))
    world.commit(A, error="rewritten")
    world.step()
    del world.statuses[A]
    changed_files(world, world.version(Dag({VIEW: [B]}, [B, VIEW, OTHER])))
    assert not world.loop.situation().failures.nodes


def test_maintenance_is_due_when_it_was_however_often_the_project_changes():
    done = []

    def maintain(now):
        return PeriodicTask("ip_maintain", lambda: done.append(world.now), every=10, last=now)

    world = World(periodic_tasks=[maintain(1_000.0)])
    for _ in range(6):
        changed_files(world, world.version(periodic_tasks=[maintain(world.now)]))
    assert done == [1_010.0]
