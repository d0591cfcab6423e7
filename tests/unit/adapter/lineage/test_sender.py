"""Events reach a real receiver in order. A receiver that is down or hangs delays the run for a limited time."""

from __future__ import annotations

import json
import socket
import time
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from dbt.adapters.spark_iceberg.lineage.facts import Event, State
from dbt.adapters.spark_iceberg.lineage.listener import Sender

pytest.importorskip("openlineage.client", reason="the extra openlineage is not installed")

RUN = str(uuid.uuid4())
TRANSPORT = "OPENLINEAGE__TRANSPORT"


@pytest.fixture
def port() -> Iterator[int]:
    """A port that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def sent(*states: State, seconds: float = 10) -> str | None:
    from dbt.adapters.spark_iceberg.lineage.events import Events

    sender = Sender(lambda: Events("1", "2").run_event)
    for state in states:
        sender.put(Event(state, datetime.now(timezone.utc), "dbt", "job", "JOB", RUN))
    return sender.close(seconds)


def test_events_are_sent_in_order(monkeypatch, tmp_path):
    log = tmp_path / "events.jsonl"
    for name, value in {"TYPE": "file", "LOG_FILE_PATH": str(log), "APPEND": "true"}.items():
        monkeypatch.setenv(f"{TRANSPORT}__{name}", value)
    assert sent(State.START, State.COMPLETE) is None
    assert [json.loads(line)["eventType"] for line in log.read_text().splitlines()] == ["START", "COMPLETE"]


def test_a_receiver_that_is_down(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    for name, value in {"TYPE": "http", "URL": f"http://127.0.0.1:{closed}", "RETRY": '{"total": 0}'}.items():
        monkeypatch.setenv(f"{TRANSPORT}__{name}", value)
    failure = sent(State.START, State.COMPLETE)
    assert failure is not None and "ConnectionError" in failure


def test_a_receiver_that_never_responds(monkeypatch, port):
    for name, value in {"TYPE": "http", "URL": f"http://127.0.0.1:{port}", "RETRY": '{"total": 0}'}.items():
        monkeypatch.setenv(f"{TRANSPORT}__{name}", value)
    began = time.monotonic()
    failure = sent(State.START, State.COMPLETE, seconds=1)
    assert failure == "The receiver has not accepted the events within 1 seconds."
    assert time.monotonic() - began < 5


def test_a_transport_that_does_not_exist(monkeypatch):
    monkeypatch.setenv(f"{TRANSPORT}__TYPE", "no_such")
    failure = sent(State.START)
    assert failure is not None and "no_such" in failure
