"""``watch``: checks the metadata, and builds due nodes, one run at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from dbt_common.exceptions import DbtBaseException

from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.quantities import counted

from ..spark.interrupt import InterruptError
from ..status.live import RunInProgress
from ..status.model_status import ModelStatus
from .build import Outcome
from .due import Backoff, Batching, Dag, Failures, Reach
from .files import changed_definitions
from .log import Log
from .metrics import Metrics
from .report import Reporter, Situation
from .signals import Stop
from .version import Version, Versions
from .watched import Watched

_HOOK = "operation."
"""The prefix of the unique ids of a project's hooks. No build selects hooks."""


@dataclass(frozen=True)
class Settings:
    """The interval of checks in seconds, and the settings for batching and retries."""

    interval: float = 2.0
    batching: Batching = field(default_factory=Batching)
    backoff: Backoff = field(default_factory=Backoff)


class Loop:
    """Watches until it is stopped. It stores no state on disk, because checkpoints contain the models' positions."""

    def __init__(
        self,
        versions: Versions,
        settings: Settings,
        stop: Stop,
        log: Log,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``clock``: seconds since 1970."""
        self._versions = versions
        self._settings = settings
        self._stop = stop
        self._log = log
        self._metrics = metrics
        self._clock = clock
        self._reporter = Reporter(self.situation, settings.interval, log, metrics, clock)
        self._failures = Failures(settings.backoff)
        self._due_since: dict[str, float] = {}
        self._owed: frozenset[str] = frozenset()
        self._epochs: dict[str, int] = {}
        self._passed: frozenset[str] = frozenset()
        self._unparsed: str | None = None
        self._running: RunInProgress | None = None
        self._is_busy = False

    @property
    def _dag(self) -> Dag:
        return self._versions.current.dag

    @property
    def _watched(self) -> Watched:
        return self._versions.current.watched

    def situation(self) -> Situation:
        """Return the current state of the loop. Thread-safe."""
        return Situation(self._versions.current, self._failures, self._running, self._is_busy)

    def run(self) -> None:
        """Alternate checks and builds until a signal arrives. Raises the errors of the first check and report.

        The first build includes all downstream nodes that are never due by themselves, because an earlier process may
        have ended after it built a model, but before it built these nodes.
        """
        self._look()
        self._owed = self._dag.reach(self._watched.statuses.keys()).nodes - self._watched.statuses.keys()
        self._reporter.start()
        try:
            while not self._stop.asked:
                began = time.monotonic()
                if not self.step():
                    self._stop.wait(self._settings.interval - (time.monotonic() - began))
        finally:
            self._reporter.stop()

    def step(self) -> bool:
        """Check once, build due nodes, and run periodic tasks. Returns whether any node was due."""
        self._reload()
        if self._stop.asked:
            return False
        self._look()
        reach = self._next()
        if reach.nodes:
            self._run(reach)
        else:
            self._do_chores()
        return bool(reach.nodes)

    def _reload(self) -> None:
        """Load the project again if its files have changed. If it cannot be loaded, log the error once."""
        before = self._versions.current
        try:
            with self._stop.building():
                version = self._versions.newer(self._clock())
        except InterruptError:
            return
        except Exception as error:  # noqa: BLE001 (dbt raises errors of any kind for a file that it cannot parse)
            if (said := str(error).strip()) != self._unparsed:
                self._log.problem(
                    "ProjectNotReloaded",
                    f"the project has changed and cannot be loaded; watch continues with its last version: {said}",
                    error=said,
                )
            self._unparsed = said
            return
        if version is not None:
            self._unparsed = None
            self._take_over(before, version)

    def _take_over(self, before: Version, version: Version) -> None:
        """Switch to a new version of the project: build the nodes that have changed, and retry failed nodes."""
        new = changed_definitions(before.definitions, version.definitions) & version.dag.selected
        models = sorted(version.watched.models)
        self._log.event(
            "ProjectReloaded",
            f"the project has changed: {counted(len(new), 'node')} to build, watching {counted(len(models), 'model')}",
            changed=sorted(new),
            models=models,
        )
        gone = [name for name in self._failures.nodes if name not in version.dag.selected]
        self._failures = self._failures.drop(gone).retry_all(self._clock())
        self._owed = (self._owed & version.dag.selected) | version.dag.reach(new).nodes
        self._passed = frozenset()
        for task, known in zip(version.periodic_tasks, before.periodic_tasks, strict=False):
            task.mark_attempt(known.last)  # a reload of the project does not postpone the task
        before.close()
        self._reporter.wake()

    def _do_chores(self) -> None:
        for task in self._versions.current.periodic_tasks:
            if self._stop.asked or not task.is_due(self._clock()):
                continue
            try:
                with self._busy():
                    task.do()
            except InterruptError:
                return
            except (DbtBaseException, IncrementalError) as error:
                if self._stop.wait(0):  # a signal caused the error
                    return
                self._log.problem("ChoreFailed", f"{task.name} failed: {error}", chore=task.name, error=str(error))
            task.mark_attempt(self._clock())

    @contextmanager
    def _busy(self, run: RunInProgress | None = None) -> Iterator[None]:
        """Within the block, a signal cancels Spark's statements, and the reporter checks the metadata."""
        self._running, self._is_busy = run, True
        self._reporter.wake()
        try:
            with self._stop.building():
                yield
        finally:
            self._running, self._is_busy = None, False
            self._reporter.wake()

    def _look(self, built: Collection[str] = (), outcome: Outcome | None = None) -> None:
        """Check for changes, and record models whose next run would fail. ``built``: nodes that were just built.

        If another process has built a model, its downstream nodes must be built, as after a build of this process.
        """
        now, began = self._clock(), time.monotonic()
        foreseen = {name for name, failure in self._failures.nodes.items() if failure.foreseen}
        self._watched.look(again={name for name in foreseen if not self._failures.waits(name, now)})
        statuses = self._watched.statuses
        epochs = {model: status.epoch for model, status in statuses.items()}
        made: Mapping[str, int] = {} if outcome is None else outcome.epochs  # a later epoch is that of another process
        moved = {model for model, epoch in {**self._epochs, **made}.items() if epochs.get(model, epoch) != epoch}
        by_others = self._dag.reach(moved - (set(built) - made.keys())).nodes
        self._owed |= by_others - statuses.keys()
        self._passed -= by_others
        self._epochs = epochs
        for model, status in statuses.items():
            if status.is_due:
                self._due_since.setdefault(model, now)
            else:
                self._due_since.pop(model, None)
            if status.fails:
                self._foresee(model, str(status.error), now)
        self._failures = self._failures.drop(
            name for name in foreseen if name not in statuses or not statuses[name].fails
        )
        if self._metrics is not None:
            self._metrics.looked(self._clock(), time.monotonic() - began)

    def _foresee(self, model: str, message: str, now: float) -> None:
        """Record that a model's next run would fail, and log it once."""
        known = self._failures.nodes.get(model)
        if known is None or not known.is_like(message):
            self._failed(model, message, now, foreseen=True)
        elif not self._failures.waits(model, now):
            self._failures = self._failures.add(model, message, now, foreseen=True)

    def _failed(self, node: str, message: str, now: float, *, foreseen: bool = False, said: str = "") -> None:
        """Record and log that a node is failing.

        ``said``: the end of the log line, if dbt has not logged the message.
        """
        self._failures = self._failures.add(node, message, now, foreseen=foreseen)
        failure = self._failures.nodes[node]
        retry = self._settings.backoff.delay(failure.failures)
        if foreseen:
            how, said = "not run, because it would fail", message
        elif failure.is_repeated:
            how, said = f"failed again, {failure.failures} times in a row; next attempt in {retry:g} seconds", ""
        else:
            how = f"failed; next attempt in {retry:g} seconds"
        self._log.problem(
            "NodeFailing",
            f"{node}: {how}{f': {said}' if said else ''}",
            node=node,
            error=message,
            failures=failure.failures,
        )
        if self._metrics is not None:
            self._metrics.failed(node)

    def _next(self) -> Reach:
        """The nodes to build now: due models, and nodes whose retry is due."""
        now, statuses = self._clock(), self._watched.statuses
        due = {name for name, status in statuses.items() if status.is_due}
        ripe = {name for name in due if self._is_ripe(name, statuses[name], now)}
        tried = {name for name, failure in self._failures.nodes.items() if not failure.foreseen}
        waiting = {name for name in self._failures.nodes if self._failures.waits(name, now)}
        failing = waiting | {name for name, each in statuses.items() if each.fails}
        return self._dag.reach(ripe | tried | self._owed, failing, due - ripe)

    def _is_ripe(self, model: str, status: ModelStatus, now: float) -> bool:
        since = self._due_since.get(model, now)
        return self._settings.batching.is_ready(status, self._watched.last_changed, since, now)

    def _run(self, reach: Reach) -> None:
        """Build the nodes, check again, and record failures."""
        began, before = time.monotonic(), dict(self._watched.statuses)
        due, nodes = sorted(reach.due), sorted(reach.nodes)
        message = f"due: {', '.join(due)}; builds {counted(len(nodes), 'node')}"
        self._log.event("RunStarted", message, due=due, nodes=nodes)
        self._owed |= self._behind(reach)
        try:
            with self._busy(RunInProgress(self._clock(), len(nodes))):
                outcome = self._versions.current.build(reach, self._passed)
        except InterruptError as error:
            outcome = Outcome(stopped=str(error.msg))
        took = time.monotonic() - began
        if self._stop.asked:
            self._ended("stopped", took, reach, outcome)
            return
        self._owed -= outcome.done
        self._passed = ((self._passed - reach.nodes) | outcome.passed) - outcome.failed.keys()
        self._look(reach.nodes, outcome)  # another process may have built a model again since
        self._take(reach, outcome, before)
        self._ended("failure" if outcome.failed or outcome.stopped else "success", took, reach, outcome)

    def _behind(self, reach: Reach) -> frozenset[str]:
        """The downstream nodes of a run that are never due by themselves, and must be built.

        Otherwise, no later run would include a node that waits for an upstream node, if another process fixes this one.
        """
        return self._dag.reach(reach.due).nodes - self._watched.statuses.keys()

    def _take(self, reach: Reach, outcome: Outcome, before: Mapping[str, ModelStatus]) -> None:
        """Record which nodes a run has built or fixed, and which are failing."""
        now, statuses = self._clock(), self._watched.statuses
        hooks = {name for name in self._failures.nodes if name.startswith(_HOOK) and not outcome.stopped}
        self._failures = self._failures.drop(outcome.done | (hooks - outcome.failed.keys()))
        for node, message in outcome.failed.items():
            self._failed(node, message, now)
        unbuilt = sorted(reach.due - outcome.done - self._dag.downstream(outcome.failed))
        for node in unbuilt:
            message = outcome.stopped or "dbt did not build it; see its log"
            self._failed(node, message, now, said=message if node == unbuilt[0] else f"see {unbuilt[0]}")
        for node in sorted(outcome.done & before.keys()):
            if statuses[node].is_as_due_as(before[node]):
                message = "it was built without an error, but is still due"
                self._failed(node, message, now, said=message)
        if self._metrics is not None:
            for node in outcome.done & before.keys():
                self._metrics.succeeded(node, now)

    def _ended(self, how: str, took: float, reach: Reach, outcome: Outcome) -> None:
        """Log the end of a run: ``success``, ``failure``, or ``stopped`` by a signal."""
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
        self._reporter.wake()
