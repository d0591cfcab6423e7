"""What the loop builds, and what it retries and when, with simulated tables and a simulated dbt."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.spark.interrupt import InterruptError
from dbt.adapters.spark_iceberg.watch.build import Outcome
from dbt.adapters.spark_iceberg.watch.due import Backoff, Batching, Dag
from dbt.adapters.spark_iceberg.watch.log import Log
from dbt.adapters.spark_iceberg.watch.loop import Loop, Settings
from dbt.adapters.spark_iceberg.watch.periodic_tasks import PeriodicTask
from dbt.adapters.spark_iceberg.watch.signals import Stop
from dbt.adapters.spark_iceberg.watch.version import Version, Versions

from .statuses import status, up_to_date

A, B, VIEW, OTHER = "model.shop.a", "model.shop.b", "model.shop.view", "model.shop.other"
DAG = Dag({A: ["events"], B: [A], VIEW: [B], OTHER: ["others"]}, [A, B, VIEW, OTHER])


class World:
    """Simulated tables, dbt and project files, and a loop that watches them."""

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
        """Simulate a commit to a source of a model."""
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


def test_nothing_runs_without_a_commit():
    world = World()

    assert not any(world.step() for _ in range(3))
    assert world.built == []


def test_a_commit_builds_all_downstream_nodes_once():
    world = World()
    world.commit(A)

    assert [world.step() for _ in range(3)] == [True, False, False]
    assert world.built == [{A, B, VIEW}]


def test_the_loop_waits_until_a_source_is_quiet():
    world = World(batching=Batching(debounce=5))
    world.commit(A)
    world.last_changed["lake.raw.events"] = world.now

    assert not world.step(4)
    assert world.step(1)


def test_a_failure_is_retried_with_growing_delays_while_downstream_nodes_wait():
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


def test_a_failing_test_is_retried_even_if_its_model_is_not_due():
    world = World(backoff=Backoff(first=5))
    world.commit(A)
    world.outcomes = [Outcome(failed={A: "not_null_a_id: 1"})]
    world.step()
    world.statuses[A] = up_to_date(A, epoch=2)  # the model itself was published
    world.commit(B)

    assert not world.step(4)
    assert world.step(1)
    assert world.built[-1] == {A, B, VIEW}
    assert not world.step(60)


def test_a_failing_view_is_retried():
    world = World(backoff=Backoff(first=5))
    world.commit(A)
    world.outcomes = [Outcome(frozenset({A, B}), {VIEW: "no"})]

    assert [world.step(), world.step(), world.step(5), world.step(60)] == [True, False, True, False]
    assert world.built[-1] == {VIEW}


def test_waiting_nodes_are_built_once_another_process_has_fixed_a_model():
    """Another process fixes B. VIEW is then built with the rows of A, although neither A nor B is due."""
    dag = Dag({A: ["events"], B: ["others"], VIEW: [A, B]}, [A, B, VIEW])
    world = World(dag=dag, backoff=Backoff(5, 60))
    world.commit(B, error="rewritten")
    world.commit(A)
    assert world.step() and world.built == [{A}]
    assert not world.step(1)

    world.statuses[B] = up_to_date(B, 9)  # by a full refresh in another process
    assert world.step(10) and world.built == [{A}, {VIEW}]
    assert not world.step(10)


def test_nodes_that_waited_for_a_failing_test_are_built_once_the_model_is_up_to_date():
    world = World(backoff=Backoff(first=5))
    world.commit(B)
    world.outcomes = [Outcome(failed={B: "not_null_b_id: 1"})]
    assert world.step()
    world.commit(B, error="rewritten")
    assert not world.step(10)

    world.statuses[B] = up_to_date(B, 9)  # by ip_set_checkpoint
    assert world.step(10) and world.built == [{B, VIEW}, {VIEW}]
    assert not world.step(60)


def test_nodes_downstream_of_a_model_that_another_process_built_are_built():
    world = World()
    assert not world.step()
    world.statuses[A] = up_to_date(A, epoch=2)
    assert [world.step(1), world.step(1)] == [True, False]
    assert world.built == [{VIEW}]


def test_nodes_are_built_again_if_another_process_built_their_model_after_this_run_read_it():
    world = World()
    world.commit(A)
    build = world.build

    def overtaken(reach, passed):
        outcome = build(reach, passed)
        made = {name: world.statuses[name].epoch for name in outcome.done & world.statuses.keys()}
        if len(world.built) == 1:
            world.statuses[A] = up_to_date(A, made[A] + 1)
        return replace(outcome, passed=outcome.done, epochs=made)

    world.build = overtaken
    world.loop._versions.current = world.version()
    assert [world.step(), world.step(), world.step(60)] == [True, True, False]
    assert world.built == [{A, B, VIEW}, {VIEW}]
    assert A not in world.passed  # its tests have not seen the rows of the other process


def test_an_error_of_a_whole_run_is_logged_once():
    world = World()
    world.commit(A)
    world.commit(OTHER)
    world.outcomes = [Outcome(stopped="Could not connect")]
    world.step()
    said = [json.loads(line)["info"]["msg"] for line in world.log.getvalue().splitlines()]
    assert sum("Could not connect" in each for each in said) == 1
    assert f"{OTHER}: failed; next attempt in 5 seconds: see {A}" in said
    assert said[-1].endswith("failure; 0 nodes built, 0 failed, 4 not built")


def test_a_model_that_would_fail_is_not_run_and_is_checked_again():
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
        Outcome(failed={"operation.shop.on-run-start-0": "no"}),  # a hook failed, so dbt skips all nodes
        Outcome(),
    ],
)
def test_a_run_that_builds_no_node_is_not_repeated_at_once(outcome):
    world = World(backoff=Backoff(first=5))
    world.commit(A)
    world.outcomes = [outcome]

    assert [world.step(), world.step(), world.step(4), world.step(1)] == [True, False, False, True]
    assert world.built == [{A, B, VIEW}] * 2


def test_a_model_that_is_still_due_after_a_run_is_not_rebuilt_at_once():
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


def test_periodic_tasks_run_between_runs_and_their_failures_stop_nothing():
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


def test_the_first_run_builds_views_that_another_process_may_not_have_built():
    world = World()
    world.outcomes.append(InterruptError("SIGTERM"))
    world.loop.run()
    assert world.built == [{VIEW}]


def test_new_commits_do_not_shorten_the_wait_of_a_failing_model():
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
        f"{A}: failed; next attempt in 5 seconds",  # dbt has already logged the error
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


def test_a_failed_hook_is_cleared_by_a_successful_run():
    world = World(backoff=Backoff(first=5))
    world.commit(A)
    world.outcomes = [Outcome(failed={"operation.shop.on-run-start-0": "no"})]
    assert [world.step(), world.step(5)] == [True, True]
    assert not world.loop.situation().failures.nodes


def changed_files(world, version):
    """Change a file and run two steps. The second step loads the changed project."""
    world.files, world.next_version = {"m.sql": (len(world.files) + world.now, 1)}, version
    return [world.step(1), world.step(1)]


def test_a_changed_project_is_loaded_once_its_files_are_stable_and_failures_are_retried():
    world = World(backoff=Backoff(first=500))
    world.commit(A)
    world.outcomes = [Outcome(failed={A: "a syntax error"})]
    assert [world.step(), world.step(1)] == [True, False]

    fixed = world.version(definitions={A: "2", VIEW: "1"})
    fixed = replace(fixed, parsed={"m.sql": (1003.0, 1)})
    world.files = {"m.sql": (1002.0, 1)}
    world.next_version = fixed
    assert not world.step(1)  # the change is seen for the first time
    world.files = {"m.sql": (1003.0, 1)}
    assert not world.step(1)  # the file has changed again
    assert world.step(1)
    assert world.built == [{A, B, VIEW}, {A, B, VIEW}]
    (reloaded,) = world.events("ProjectReloaded")
    assert (reloaded["changed"], world.closed) == ([A, VIEW], 1)
    assert not world.step(1) and not world.loop.situation().failures.nodes


def test_changed_nodes_are_built_once_without_a_commit():
    world = World()
    world.loop._versions.current = world.version(definitions={OTHER: "1", VIEW: "1"})
    assert changed_files(world, world.version(definitions={OTHER: "1", VIEW: "2"})) == [False, True]
    assert world.built == [{VIEW}]
    assert not world.step(1)


def test_a_project_that_does_not_parse_is_logged_once_and_the_last_version_continues():
    world = World(backoff=Backoff(first=5))
    assert not world.step()
    assert changed_files(world, DbtRuntimeError("depends on nothing")) == [False, False]
    for _ in range(20):
        world.step(1)
    (said,) = world.events("ProjectNotReloaded")
    assert "depends on nothing" in said["error"]
    world.commit(A)
    assert world.step(1) and world.built == [{A, B, VIEW}]

    assert changed_files(world, OSError("gone")) == [False, False]  # any error of dbt
    assert len(world.events("ProjectNotReloaded")) == 2
    assert changed_files(world, world.version(definitions={VIEW: "2"})) == [False, True]
    assert world.built[-1] == {VIEW}


def test_a_model_that_was_removed_from_the_project_is_forgotten():
    world = World(backoff=Backoff(first=5))
    world.commit(A, error="rewritten")
    world.step()
    del world.statuses[A]
    changed_files(world, world.version(Dag({VIEW: [B]}, [B, VIEW, OTHER])))
    assert not world.loop.situation().failures.nodes


def test_changes_to_the_project_do_not_delay_maintenance():
    done = []

    def maintain(now):
        return PeriodicTask("ip_maintain", lambda: done.append(world.now), every=10, last=now)

    world = World(periodic_tasks=[maintain(1_000.0)])
    for _ in range(6):
        changed_files(world, world.version(periodic_tasks=[maintain(world.now)]))
    assert done == [1_010.0]
