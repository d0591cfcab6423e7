"""What the loop builds, what it tries again and when, with tables and dbt played by the test."""

from __future__ import annotations

import io
import json
import shutil

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.incremental.errors import ConfigError
from dbt.adapters.spark_iceberg.interrupt import InterruptError
from dbt.adapters.spark_iceberg.watch.backoff import Backoff
from dbt.adapters.spark_iceberg.watch.batching import Batching
from dbt.adapters.spark_iceberg.watch.chores import Chore
from dbt.adapters.spark_iceberg.watch.due import Dag
from dbt.adapters.spark_iceberg.watch.log import Log
from dbt.adapters.spark_iceberg.watch.loop import Loop, Settings
from dbt.adapters.spark_iceberg.watch.metrics import Metrics
from dbt.adapters.spark_iceberg.watch.outcome import Outcome
from dbt.adapters.spark_iceberg.watch.signals import Stop

from .standings import standing, up_to_date

A, B, VIEW, OTHER = "model.shop.a", "model.shop.b", "model.shop.view", "model.shop.other"
DAG = Dag({A: ["events"], B: [A], VIEW: [B], OTHER: ["others"]}, [A, B, VIEW, OTHER])


class World:
    """The tables as the models see them, and dbt."""

    def __init__(self, chores=(), metrics=None, **settings):
        self.standings = {name: up_to_date(name) for name in (A, B, OTHER)}
        self.last_changed = {}
        self.heads = {}
        self.now = 1_000.0
        self.built = []
        self.judged_again = []
        self.changed = True
        self.outcomes = []
        self.stop = Stop()
        self.log = io.StringIO()
        self.loop = Loop(
            self, DAG, self.build, Settings(**settings), self.stop, Log(as_json=True, stream=self.log),
            metrics, chores, clock=lambda: self.now,
        )  # fmt: skip

    def look(self, again=()):
        self.judged_again.append(set(again))
        changed, self.changed = self.changed, False
        return changed

    def inputs(self, node):
        return self.heads.get(node)

    def commit(self, model, **details):
        """A source of a model was committed to."""
        self.changed = True
        self.heads[model] = self.heads.get(model, 0) + 1
        self.standings[model] = standing(model, epoch=self.standings[model].status.epoch, **details)

    def build(self, nodes, passed):
        self.passed = set(passed)
        self.built.append(set(nodes))
        if self.outcomes:
            outcome = self.outcomes.pop(0)
            if isinstance(outcome, BaseException):
                self.stop._asked.set()
                raise outcome
        else:
            outcome = Outcome(frozenset(nodes))
        for name in outcome.done & self.standings.keys():
            self.standings[name] = up_to_date(name, self.standings[name].status.epoch + 1)
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
    world.standings[A] = up_to_date(A, epoch=2)  # it has committed
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


def test_what_waits_for_a_model_is_built_once_others_have_mended_it(monkeypatch):
    """A table that reads two models gets the rows of the one when the other no longer fails, though it is not due."""
    dag = Dag({A: ["events"], B: ["others"], VIEW: [A, B]}, [A, B, VIEW])
    world = World(backoff=Backoff(5, 60))
    monkeypatch.setattr(world.loop, "_dag", dag)
    world.commit(B, next_run="fails", error="rewritten")
    world.commit(A)
    assert world.step() and world.built == [{A}]
    assert not world.step(1)

    world.standings[B] = up_to_date(B, 9)  # by a full refresh elsewhere
    assert world.step(10) and world.built == [{A}, {VIEW}]
    assert not world.step(10)


def test_what_a_failing_test_has_held_back_is_built_though_the_model_needs_no_run_any_more():
    world = World(backoff=Backoff(first=5))
    world.commit(B)
    world.outcomes = [Outcome(failed={B: "not_null_b_id: 1"})]
    assert world.step()
    world.commit(B, next_run="fails", error="rewritten")
    assert not world.step(10)

    world.standings[B] = up_to_date(B, 9)  # by ip_set_checkpoint
    assert world.step(10) and world.built == [{B, VIEW}, {VIEW}]
    assert not world.step(60)


def test_what_lies_behind_a_model_that_another_process_has_built_is_built():
    world = World()
    assert not world.step()
    world.standings[A] = up_to_date(A, epoch=2)
    assert [world.step(1), world.step(1)] == [True, False]
    assert world.built == [{VIEW}]


def test_metrics_that_cannot_be_written_end_nothing_after_the_start(tmp_path):
    folder = tmp_path / "metrics"
    world = World(metrics=Metrics(folder / "m.prom"))
    with pytest.raises(ConfigError, match="were not written"):
        world.step()
    folder.mkdir()
    world.step()
    shutil.rmtree(folder)
    world.commit(A)
    assert [world.step(1), world.step(1)] == [True, False]
    assert len(world.events("MetricsNotWritten")) == 1


def test_an_error_of_a_whole_run_is_said_once():
    world = World()
    world.commit(A)
    world.commit(OTHER)
    world.outcomes = [Outcome(stopped="Could not connect")]
    world.step()
    said = [json.loads(line)["info"]["msg"] for line in world.log.getvalue().splitlines()]
    assert sum("Could not connect" in each for each in said) == 1
    assert f"{OTHER}: failed; next try in 5 seconds: as {A}" in said
    assert said[-1].endswith("failure; 0 nodes built, 0 failed, 4 not built")


def test_a_model_that_would_fail_is_not_run_said_once_and_judged_again():
    world = World(backoff=Backoff(first=5))
    world.commit(A, error="rewritten")
    world.commit(B)

    assert [world.step(), world.step(1), world.step(4), world.step(1), world.step(9)] == [False] * 5
    assert len(world.events("NodeFailing")) == 1
    assert world.judged_again == [set(), set(), {A}, set(), {A}]

    world.standings[A] = standing(A)
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
    before = world.standings[A]

    def build(nodes, passed):
        world.built.append(set(nodes))
        world.standings[A] = before
        return Outcome(frozenset(nodes))

    world.loop._build = build
    assert [world.step(), world.step(), world.step(5)] == [True, False, True]
    assert "as due as before" in world.events("NodeFailing")[0]["error"]


def test_a_signal_ends_the_run_and_the_loop():
    world = World()
    world.commit(A)
    world.outcomes = [InterruptError("SIGTERM")]

    world.loop.run()

    assert world.events("RunEnded")[-1]["outcome"] == "stopped"
    assert world.events("NodeFailing") == []
    assert len(world.built) == 1


def test_chores_are_done_in_their_time_and_stop_nothing_where_they_fail():
    done = []

    def fails(failing):
        done.append("upkeep")
        raise DbtRuntimeError("no such procedure")

    page = Chore("page", lambda failing: done.append("page"), every=60, at_changes=True, last=1_000.0)
    upkeep = Chore("upkeep", fails, every=10, between_runs=True, last=1_000.0)
    world = World([page, upkeep])
    world.loop.step()
    assert done == ["page"]  # the first look is a change
    world.loop.step()
    assert done == ["page"]

    world.now += 10
    world.commit(A, commits=1)
    world.loop.step()
    assert done == ["page", "page"]  # A is due: the upkeep waits
    world.standings[A] = up_to_date(A, world.standings[A].status.epoch)
    world.loop.step()
    assert done == ["page", "page", "upkeep"]
    assert "upkeep failed: " in world.log.getvalue() and "no such procedure" in world.log.getvalue()

    world.now += 60
    world.loop.step()
    assert done[3:] == ["page", "upkeep"]


def test_what_another_process_may_have_left_behind_a_model_is_built_first():
    world = World()
    world.outcomes.append(InterruptError("SIGTERM"))
    world.loop.run()
    assert world.built == [{VIEW}]
