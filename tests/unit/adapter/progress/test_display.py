from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.progress import Display, Work, display
from dbt.adapters.spark_iceberg.progress.display import Terminal


class Recorded:
    """A terminal that records each text that is drawn."""

    def __init__(self) -> None:
        self.width = 100
        self.drawn: list[str] = []
        self.closed = threading.Event()

    def draw(self, text: str) -> None:
        self.drawn.append(text)

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded()
    monkeypatch.setattr(Terminal, "of_dbt", lambda: recorded)
    monkeypatch.setattr(display, "_SHOWN_AFTER", 0.05)
    monkeypatch.setattr(display, "_INTERVAL", 0.01)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return recorded


def until(seen: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.005)


def handle(work: Work | None) -> Any:
    return SimpleNamespace(progress=lambda: work)


def test_a_long_statement_is_shown_and_then_erased(terminal: Recorded):
    shown = Display(None)
    with shown.statement("model.shop.daily", handle(Work(1, 2, 3, 4))):
        until(lambda: bool(terminal.drawn))
    assert terminal.closed.wait(10)
    assert terminal.drawn[0] == "daily: stage 1 of 2, 3 of 4 tasks, 0 s"


def test_a_short_statement_is_not_shown(terminal: Recorded):
    shown = Display(None)
    for _ in range(10):
        with shown.statement("model.shop.daily", handle(None)):
            pass
    assert not terminal.drawn


def test_without_progress_the_time_is_shown(terminal: Recorded):
    with Display(None).statement("model.shop.daily", object()):
        until(lambda: bool(terminal.drawn))
    assert terminal.drawn[0] == "daily: 0 s"


def test_statements_of_several_threads_share_the_line(terminal: Recorded):
    shown, done = Display(None), threading.Event()

    def run() -> None:
        with shown.statement("model.shop.orders", object()):
            done.wait(10)

    other = threading.Thread(target=run)
    other.start()
    with shown.statement("model.shop.daily", object()):
        until(lambda: any("daily" in each and "orders" in each for each in terminal.drawn))
    done.set()
    other.join()
    assert terminal.closed.wait(10)


def test_a_nested_statement_is_shown_as_the_outer_one(terminal: Recorded):
    shown = Display(None)
    with shown.statement("model.shop.daily", object()):
        with shown.statement("inner", object()):
            pass
        until(lambda: bool(terminal.drawn))
    assert not [each for each in terminal.drawn if "inner" in each]


def test_nothing_is_shown_in_ci(terminal: Recorded, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI", "true")
    with Display(None).statement("model.shop.daily", object()):
        time.sleep(0.15)
    assert not terminal.drawn
