from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.progress.display import Terminal, wanted
from tests.unit.adapter.progress.screen import screen

PLAIN = {"QUIET": False, "USE_COLORS": True, "LOG_FORMAT": "default", "LOG_LEVEL": "info"}
XTERM = {"TERM": "xterm-256color"}


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    logger = logging.getLogger("stdout_log")
    before, level = logger.handlers[:], logger.level
    logger.propagate = False
    logger.setLevel(logging.INFO)
    logger.handlers[:] = [logging.StreamHandler(Tty())]
    yield logger
    logger.handlers[:] = before
    logger.setLevel(level)


def test_a_terminal_shows_the_progress_line():
    assert wanted(SimpleNamespace(**PLAIN), XTERM)
    assert wanted(SimpleNamespace(**PLAIN), {**XTERM, "CI": "false"})
    assert wanted(None, XTERM)


@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        ({"QUIET": True}, XTERM),
        ({"USE_COLORS": False}, XTERM),
        ({"LOG_FORMAT": "json"}, XTERM),
        ({"LOG_LEVEL": "warn"}, XTERM),
        ({}, {**XTERM, "CI": "true"}),
        ({}, {**XTERM, "CI": "1"}),
        ({}, {"TERM": "dumb"}),
        ({}, {}),
    ],
)
def test_logs_and_ci_show_no_progress_line(flags: dict[str, Any], environment: dict[str, str]):
    assert not wanted(SimpleNamespace(**{**PLAIN, **flags}), environment)


def test_log_lines_and_the_progress_line_never_mix(log: logging.Logger):
    stream = log.handlers[0].stream  # type: ignore[attr-defined]
    terminal = Terminal.of_dbt()
    assert terminal is not None
    log.info("1 of 2 START")
    terminal.draw("daily: 2 s")
    terminal.draw("daily: 10 of 20 tasks, 3 s")
    assert screen(stream.getvalue()) == ["1 of 2 START", "daily: 10 of 20 tasks, 3 s"]

    log.info("1 of 2 OK")
    log.info("2 of 2 START")
    assert screen(stream.getvalue()) == ["1 of 2 START", "1 of 2 OK", "2 of 2 START", ""]

    terminal.draw("orders: 2 s")
    terminal.close()
    log.info("2 of 2 OK")
    assert screen(stream.getvalue()) == ["1 of 2 START", "1 of 2 OK", "2 of 2 START", "2 of 2 OK", ""]
    assert log.handlers[0].stream is stream  # type: ignore[attr-defined]


def test_output_of_a_macro_is_not_overwritten(log: logging.Logger, monkeypatch: pytest.MonkeyPatch):
    stream = log.handlers[0].stream  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "stdout", stream)
    terminal = Terminal.of_dbt()
    assert terminal is not None
    terminal.draw("daily: 2 s")
    print("printed", flush=True)  # noqa: T201
    terminal.draw("daily: 3 s")
    terminal.close()
    assert screen(stream.getvalue()) == ["printed", ""]
    assert sys.stdout is stream


def test_a_log_that_is_not_a_terminal_is_left_alone(log: logging.Logger):
    log.handlers[:] = [logging.StreamHandler(io.StringIO())]
    assert Terminal.of_dbt() is None
    log.handlers.clear()
    assert Terminal.of_dbt() is None
