"""The conversion of dbt's events to OpenLineage events."""

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import env_secrets, scrub_secrets

from iceberg_incremental import errors

from .facts import Event, Parent, State, Touched
from .recorder import Look, Recorder

logger = AdapterLogger("SparkIceberg")
_CLIENT = "openlineage"
"""The name of the client's Python logger."""


class Sender:
    """Sends events in order. After the first event that cannot be sent, no more events are sent."""

    def __init__(self, build: Callable[[], Callable[[Event], Any]]) -> None:
        """``build``: called in the thread; returns the function that converts an event to the client's class."""
        self._build = build
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._failure: str | None = None
        self._deadline = 0.0
        self._thread = threading.Thread(target=copy_context().run, args=(self._send,), name="lineage", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Queue an event without waiting until it is sent."""
        self._events.put(event)

    def close(self, seconds: float) -> str | None:
        """Wait until all events are sent, at most for this many seconds. Returns the error, or None."""
        self._deadline = time.monotonic() + seconds
        self._events.put(None)
        self._thread.join(seconds)
        if self._failure is None and self._thread.is_alive():
            return f"The receiver has not accepted the events within {seconds:g} seconds."
        return self._failure

    def _send(self) -> None:
        """Send events until the queue is closed, or until an event cannot be sent."""
        logging.getLogger(_CLIENT).addHandler(logging.NullHandler())  # otherwise, Python prints the client's warnings
        try:
            from openlineage.client import OpenLineageClient

            client, run_event = OpenLineageClient(), self._build()
            while (event := self._events.get()) is not None:
                client.emit(run_event(event))
            client.close(max(self._deadline - time.monotonic(), 0.1))
        except Exception as error:  # noqa: BLE001 (no error may affect the run)
            self._failure = f"{type(error).__name__}: {error}"


_WITHOUT_TABLE = ("view", "ephemeral")
_JOB_TYPES = {"model": "MODEL", "seed": "SEED", "snapshot": "SNAPSHOT"}
_STATES = {"success": State.COMPLETE, "no-op": State.COMPLETE, "skipped": State.ABORT}
_WAIT_SECONDS = 5.0
"""The maximum time that the end of a command waits for the receiver."""


@dataclass
class _NodeRun:
    """The run of a node. ``depth``: the number of its runs in progress, such as the batches of a model."""

    unique_id: str
    job_type: str
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    depth: int = 0
    before: Look | None = None
    touched: Touched = field(default_factory=Touched)


class Listener:
    """Sends the events of one dbt command: for the command, and for each node that builds a table."""

    def __init__(
        self, parent: Parent, outer: Parent | None, recorder: Recorder, open_sender: Callable[[], Sender]
    ) -> None:
        """``parent``: the command's run. ``outer``: the run that started dbt; None if unknown."""
        self._parent = parent
        self._outer = outer
        self._recorder = recorder
        self._open_sender = open_sender
        self._sender: Sender | None = None
        self._runs: dict[str, _NodeRun] = {}
        self._failure: str | None = None
        self._lock = threading.Lock()

    def hear(self, message: Any) -> None:
        """Handle a dbt event. Never raises an error, because dbt would attribute it to the node."""
        try:
            match message.info.name:
                case "NodeStart":
                    self._started(message.data.node_info)
                case "NodeFinished":
                    self._finished(message.data.node_info, message.data.run_result)
                case "CommandCompleted":
                    self._completed(message.data.success)
        except Exception as error:  # noqa: BLE001 (lineage must not fail a run)
            self._note(error)

    def before(self, node: Any) -> Any:
        """Read a node's tables before its statements. Returns the argument for ``after``; None if no event follows."""
        run = self._runs.get(node.unique_id)
        if run is None:
            return None
        try:
            if run.before is None:
                run.before = self._recorder.look(node.unique_id)
        except Exception as error:  # noqa: BLE001 (lineage must not fail a run)
            self._note(error)
            return None
        return node

    def after(self, node: Any) -> None:
        """Read a node's tables after its statements, whether they succeeded or not."""
        run = self._runs.get(node.unique_id)
        if run is None or run.before is None:
            return
        try:
            sql = getattr(node, "compiled_code", None) if getattr(node, "language", "sql") == "sql" else None
            run.touched = self._recorder.touched(node.unique_id, run.before, sql and _without_secrets(sql))
        except Exception as error:  # noqa: BLE001 (lineage must not fail a run)
            self._note(error)

    def _started(self, info: Any) -> None:
        if info.resource_type not in _JOB_TYPES or info.materialized in _WITHOUT_TABLE:
            return
        with self._lock:
            if self._sender is None:
                self._sender = self._open_sender()
                self._send(self._of_command(State.START))
            run = self._runs.setdefault(info.unique_id, _NodeRun(info.unique_id, _JOB_TYPES[info.resource_type]))
            run.depth += 1
            if run.depth == 1:
                self._send(self._of_node(run, State.START))

    def _finished(self, info: Any, result: Any) -> None:
        with self._lock:
            run = self._runs.get(info.unique_id)
            if run is None:
                return
            run.depth -= 1
            if run.depth == 0:
                del self._runs[run.unique_id]
                state = _STATES.get(info.node_status, State.FAIL)
                self._send(self._of_node(run, state, result.message if state is State.FAIL else None))

    def _completed(self, success: bool) -> None:
        """Send the last events, and close the sender. Nodes that dbt has not completed were interrupted."""
        with self._lock:
            sender, self._sender = self._sender, None
            runs, self._runs = list(self._runs.values()), {}
        if sender is None:
            return
        for run in runs:
            sender.put(self._of_node(run, State.ABORT))
        sender.put(self._of_command(State.COMPLETE if success else State.FAIL))
        failure = sender.close(_WAIT_SECONDS) or self._failure
        if failure is not None:
            logger.warning(
                errors.message(
                    "OpenLineage: not all events of this command were sent. The run itself is not affected.",
                    found=_without_secrets(failure),
                    fix="check the receiver that OPENLINEAGE_URL or the OpenLineage configuration file names, or set "
                    "OPENLINEAGE_DISABLED=true.",
                )
            )

    def _of_command(self, state: State) -> Event:
        parent = self._parent
        return Event(state, _now(), parent.namespace, parent.job, "JOB", parent.run_id, self._outer)

    def _of_node(self, run: _NodeRun, state: State, error: str | None = None) -> Event:
        root = None if self._outer is None else self._outer.root or self._outer
        parent = Parent(self._parent.namespace, self._parent.job, self._parent.run_id, root)
        message = None if error is None else _without_secrets(error)
        touched = run.touched
        if state is not State.COMPLETE and not touched.wrote and touched.output is not None:
            touched = replace(touched, output=replace(touched.output, version=None, statistics=None))
        namespace = self._parent.namespace
        return Event(state, _now(), namespace, run.unique_id, run.job_type, run.run_id, parent, message, touched)

    def _send(self, event: Event) -> None:
        if self._sender is not None:
            self._sender.put(event)

    def _note(self, error: Exception) -> None:
        """Store the first failure, for the single warning at the end of the command."""
        logger.debug(f"Lineage: {type(error).__name__}: {error}")
        self._failure = self._failure or f"{type(error).__name__}: {error}"


def _without_secrets(text: str) -> str:
    """A text without the values of dbt's secret environment variables."""
    return str(scrub_secrets(text, env_secrets()))


def _now() -> datetime:
    return datetime.now(timezone.utc)
