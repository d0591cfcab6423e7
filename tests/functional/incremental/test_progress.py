"""A terminal shows Spark's progress on one line, which never mixes with dbt's log lines."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import threading

import pytest

from dbt.adapters.spark_iceberg.progress import display
from tests.unit.adapter.progress.screen import screen

from .shop import Shop

LOG_LINE = re.compile(r"(\d\d:\d\d:\d\d  .*)?")
SLOW = "select count(*) as n from {source} where hash(id, id + 1, 'a') % 1000003 = 1"
ROWS = 80_000_000


class Terminal:
    """A terminal of 250 columns. ``text``: all output, complete once the terminal is closed."""

    def __init__(self) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 250, 0, 0))
        self.stream = os.fdopen(follower, "w", encoding="utf-8")
        self._written = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def text(self) -> str:
        return self._written.decode()

    def close(self) -> None:
        self.stream.close()
        self._reader.join(10)
        os.close(self._leader)

    def _read(self) -> None:
        try:
            while part := os.read(self._leader, 65_536):
                self._written.extend(part)
        except OSError:
            return  # the other end is closed


def shown(shop: Shop, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """The output of a run on a terminal."""
    monkeypatch.setattr(display, "_SHOWN_AFTER", 0.3)
    monkeypatch.setattr(display, "_INTERVAL", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal.stream)
    try:
        shop.run(*arguments)
    finally:
        terminal.close()
    return terminal.text


@pytest.fixture
def slow(shop: Shop) -> Shop:
    shop.model("slow", SLOW.format(source=f"range(0, {ROWS}, 1, 8)"), materialized="table")
    # as many tasks as files
    small_splits = "tblproperties ('read.split.target-size' = '4096', 'read.split.open-file-cost' = '4096')"
    rows = f"select id from range(0, {ROWS // 40}, 1, 24)"
    shop.sql(f"create table {shop.raw('big')} using iceberg {small_splits} as {rows}")
    shop.declare("big")
    shop.model(
        "reading", SLOW.format(source="{{ source('raw', 'big') }} cross join range(40) as r(n)"), materialized="table"
    )
    return shop


@pytest.mark.core
def test_long_statements_are_shown_and_log_lines_stay_whole(slow: Shop, monkeypatch: pytest.MonkeyPatch):
    in_work = (r"slow: stage \d of \d, \d+ of \d+ tasks, .*\d s", r"reading: stage \d of \d, [^|]*rows, [^|]*iB, \d+ s")
    text = ""
    for _ in range(4):  # on a busy machine, a stage may begin and end between two updates
        text = shown(slow, monkeypatch, "--threads", "2")
        if all(re.search(pattern, text) for pattern in in_work):
            break

    assert [pattern for pattern in in_work if not re.search(pattern, text)] == []
    lines = screen(text)
    assert not [line for line in lines if not LOG_LINE.fullmatch(line)]
    assert len([line for line in lines if "OK created sql table model" in line]) == 2


@pytest.mark.parametrize("option", ["--quiet", "--no-use-colors", "--log-format=json"])
def test_progress_can_be_turned_off(slow: Shop, monkeypatch: pytest.MonkeyPatch, option: str):
    assert "stage 1 of" not in shown(slow, monkeypatch, option, "--select", "slow")
