"""``watch``: looks at the metadata, and builds what is due, one run at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dbt_common.exceptions import DbtBaseException

from ..incremental.errors import ConfigError
from ..incremental.explain.wording import counted
from ..interrupt import InterruptError
from .backoff import Backoff, Failures
from .batching import Batching
from .chores import Chore
from .due import Dag, Reach, Standing
from .log import Log
from .look import Watched
from .metrics import Metrics
from .outcome import Outcome
from .signals import Stop


@dataclass(frozen=True)
class Settings:
    """How often to look (seconds), when to build, and when to try again."""

    interval: float = 2.0
    batching: Batching = field(default_factory=Batching)
    backoff: Backoff = field(default_factory=Backoff)


class Loop:
    """Watches until it is stopped. It keeps nothing on disk: the models' checkpoints say what they have read."""

    def __init__(
        self,
        watched: Watched,
        dag: Dag,
        build: Callable[[Collection[str], Collection[str]], Outcome],
        settings: Settings,
        stop: Stop,
        log: Log,
        metrics: Metrics | None = None,
        chores: Sequence[Chore] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``build``: builds nodes, given those that have passed their tests. ``chores``: what is done beside.

        ``clock``: seconds since the epoch.
        """
        self._watched = watched
        self._dag = dag
        self._build = build
        self._settings = settings
        self._stop = stop
        self._log = log
        self._metrics = metrics
        self._chores = chores
        self._clock = clock
        self._failures = Failures(settings.backoff)
        self._due_since: dict[str, float] = {}
        self._owed: frozenset[str] = frozenset()
        self._epochs: dict[str, int] = {}
        self._passed: frozenset[str] = frozenset()
        self._exported: str | None = None

    def run(self) -> None:
        """Look and build in turn until a signal comes.

        First comes what lies downstream of the watched models and is never due by itself: an earlier process may have
        ended between a model and what lies behind it.
        """
        self._look()
        self._owed = self._dag.reach(self._watched.standings.keys()).nodes - self._watched.standings.keys()
        while not self._stop.asked:
            began = time.monotonic()
            if not self.step():
                self._stop.wait(self._settings.interval - (time.monotonic() - began))

    def step(self) -> bool:
        """Look once, build what is due, and do the chores; whether anything was due."""
        self._look()
        reach = self._next()
        if reach.nodes:
            self._run(reach)
        self._do_chores(idle=not reach.nodes)
        return bool(reach.nodes)

    def _do_chores(self, *, idle: bool) -> None:
        for chore in self._chores:
            if self._stop.asked or not chore.is_due(self._clock(), idle=idle):
                continue
            try:
                with self._stop.building():
                    chore.do({node: failure.message for node, failure in self._failures.nodes.items()})
            except InterruptError:
                return
            except DbtBaseException as error:
                if self._stop.wait(0):  # a signal came meanwhile, and this is its error
                    return
                self._log.problem("ChoreFailed", f"{chore.name} failed: {error}", chore=chore.name, error=str(error))
            chore.was_tried(self._clock())

    def _look(self, built: Collection[str] = ()) -> None:
        """See what has changed, and note the models whose next run would fail. ``built``: by this process just now.

        What lies downstream of a model that another process has built is owed, as is what this one leaves behind.
        """
        now, began = self._clock(), time.monotonic()
        foreseen = {name for name, failure in self._failures.nodes.items() if failure.foreseen}
        if self._watched.look(again={name for name in foreseen if not self._waits(name, now)}):
            for chore in self._chores:
                chore.saw_change = True
        standings = self._watched.standings
        epochs = {model: standing.status.epoch for model, standing in standings.items()}
        moved = {model for model, epoch in self._epochs.items() if epoch != epochs[model]}
        by_others = self._dag.reach(moved.difference(built)).nodes
        self._owed |= by_others - standings.keys()
        self._passed -= by_others
        self._epochs = epochs
        for model, standing in standings.items():
            if standing.is_due:
                self._due_since.setdefault(model, now)
            else:
                self._due_since.pop(model, None)
            if standing.fails:
                self._foresee(model, str(standing.status.error), now)
        self._failures = self._failures.drop(name for name in foreseen if not standings[name].fails)
        if self._metrics is not None:
            self._metrics.looked(standings, self._failures.nodes, self._clock(), time.monotonic() - began)
            self._export(self._metrics)

    def _export(self, metrics: Metrics) -> None:
        """Write the metrics' file. Raises ConfigError the first time; what fails later is said once."""
        try:
            metrics.write()
            said = ""
        except ConfigError as error:
            if self._exported is None:
                raise
            said = str(error.msg)
            if said != self._exported:
                self._log.problem("MetricsNotWritten", said, error=said)
        self._exported = said

    def _foresee(self, model: str, message: str, now: float) -> None:
        """Note that a model's next run would fail; say so once."""
        known = self._failures.nodes.get(model)
        if known is None or known.message != message:
            self._failed(model, message, now, foreseen=True)
        elif not self._waits(model, now):
            self._failures = self._failures.add(model, message, self._watched.inputs(model), now, foreseen=True)

    def _failed(self, node: str, message: str, now: float, *, foreseen: bool = False, said: str = "") -> None:
        """Note that a node is failing, and say so. ``said``: instead of a message that has been said."""
        self._failures = self._failures.add(node, message, self._watched.inputs(node), now, foreseen=foreseen)
        failure = self._failures.nodes[node]
        retry = self._settings.backoff.delay(failure.failures)
        how = "not run, since it would fail" if foreseen else f"failed; next try in {retry:g} seconds"
        self._log.problem(
            "NodeFailing", f"{node}: {how}: {said or message}", node=node, error=message, failures=failure.failures
        )
        if self._metrics is not None:
            self._metrics.failed(node)

    def _waits(self, node: str, now: float) -> bool:
        return self._failures.waits(node, self._watched.inputs(node), now)

    def _next(self) -> Reach:
        """What to build now: models that are due, and nodes whose time has come to be tried again."""
        now, standings = self._clock(), self._watched.standings
        ripe = {name for name, standing in standings.items() if self._is_ripe(name, standing, now)}
        tried = {name for name, failure in self._failures.nodes.items() if not failure.foreseen}
        waiting = {name for name in self._failures.nodes if self._waits(name, now)}
        failing = waiting | {name for name, each in standings.items() if each.fails}
        return self._dag.reach(ripe | tried | self._owed, failing)

    def _is_ripe(self, model: str, standing: Standing, now: float) -> bool:
        since = self._due_since.get(model, now)
        batching = self._settings.batching
        return standing.is_due and batching.is_ripe(standing, self._watched.last_changed, since, now)

    def _run(self, reach: Reach) -> None:
        """Build, look again, and note what failed."""
        began, before = time.monotonic(), self._watched.standings.copy()
        due, nodes = sorted(reach.due), sorted(reach.nodes)
        self._log.event("RunStarted", f"due: {', '.join(due)}; builds {len(nodes)} nodes", due=due, nodes=nodes)
        self._owed |= self._behind(reach)
        try:
            with self._stop.building():
                outcome = self._build(reach.nodes, self._passed)
        except InterruptError as error:
            outcome = Outcome(stopped=str(error.msg))
        took = time.monotonic() - began
        if self._stop.asked:
            self._ended("stopped", took, reach, outcome)
            return
        self._look(reach.nodes)
        self._take(reach, outcome, before)
        self._ended("failure" if outcome.failed or outcome.stopped else "success", took, reach, outcome)

    def _behind(self, reach: Reach) -> frozenset[str]:
        """What lies downstream of a run and is never due by itself: owed until it is built.

        It waits where a node before it fails, which may be mended by others, so that no run of that reaches it.
        """
        return self._dag.reach(reach.due).nodes - self._watched.standings.keys()

    def _take(self, reach: Reach, outcome: Outcome, before: Mapping[str, Standing]) -> None:
        """Note which nodes a run has mended, and which it left failing."""
        now, standings = self._clock(), self._watched.standings
        self._failures = self._failures.drop(outcome.done)
        self._owed -= outcome.done
        self._passed = (self._passed | outcome.done | outcome.passed) - outcome.failed.keys()
        for node, message in outcome.failed.items():
            self._failed(node, message, now)
        unbuilt = sorted(reach.due - outcome.done - self._dag.downstream(outcome.failed))
        for node in unbuilt:
            message = outcome.stopped or "dbt has not built it, as its log says"
            self._failed(node, message, now, said="" if node == unbuilt[0] else f"as {unbuilt[0]}")
        for node in sorted(outcome.done & before.keys()):
            if standings[node].is_as_due_as(before[node]):
                self._failed(node, "it was built without an error, and is as due as before", now)
        if self._metrics is not None:
            for node in outcome.done & before.keys():
                self._metrics.succeeded(node, now)

    def _ended(self, how: str, took: float, reach: Reach, outcome: Outcome) -> None:
        """A run has ended: as a ``success``, a ``failure``, or ``stopped`` by a signal."""
        done, failed = sorted(outcome.done), sorted(outcome.failed)
        counts = f"{counted(len(done), 'node')} built, {len(failed)} failed"
        if unbuilt := len(reach.nodes - outcome.done - outcome.failed.keys()):
            counts += f", {unbuilt} not built"
        self._log.event(
            "RunEnded",
            f"run ended in {took:.1f} seconds: {how}; {counts}",
            outcome=how,
            seconds=round(took, 3),
            done=done,
            failed=failed,
        )
        if self._metrics is not None:
            self._metrics.ran(how, took)
            self._export(self._metrics)
