"""A terminal shows what Spark is doing, on one line that never mixes with dbt's log lines."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterator

import pytest

from dbt.adapters.spark_iceberg.progress import display
from tests.unit.adapter.progress.screen import screen

from .shop import Shop

LOG_LINE = re.compile(r"(\d\d:\d\d:\d\d  .*)?")
SLOW = "select count(*) as n from {source} where hash(id, id + 1, 'a') % 1000003 = 1"
ROWS = 40_000_000


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Standard output as a terminal; gives what was written to it, and closes it."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 250, 0, 0))
    found = bytearray()

    def read() -> None:
        try:
            while part := os.read(leader, 65_536):
                found.extend(part)
        except OSError:
            return  # the other end is closed

    reader = threading.Thread(target=read)
    reader.start()
    stream = os.fdopen(follower, "w", encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(display, "_SHOWN_AFTER", 0.3)
    monkeypatch.setattr(display, "_INTERVAL", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)

    def close() -> str:
        stream.close()
        reader.join(10)
        return found.decode()

    yield close
    close()
    os.close(leader)


@pytest.fixture
def slow(shop: Shop) -> Shop:
    shop.model("slow", SLOW.format(source=f"range(0, {ROWS * 10}, 1, 8)"), materialized="table")
    shop.sql(f"create table {shop.raw('big')} using iceberg as select id from range({ROWS // 10})")
    shop.declare("big")
    shop.model("reading", SLOW.format(source="{{ source('raw', 'big') }} cross join range(20)"), materialized="table")
    return shop


def test_long_statements_are_shown_and_log_lines_stay_whole(slow: Shop, written: Callable[[], str]):
    slow.run("--threads", "2")

    text = written()
    assert re.search(r"slow: stage \d of \d, \d+ of \d+ tasks, .*\d s", text)
    assert re.search(r"reading: stage \d of \d, [^|]*rows, [^|]*iB, \d+ s", text)
    lines = screen(text)
    assert not [line for line in lines if not LOG_LINE.fullmatch(line)]
    assert [line for line in lines if "OK created sql table model" in line]


@pytest.mark.parametrize("option", ["--quiet", "--no-use-colors", "--log-format=json"])
def test_it_is_off_where_it_is_not_wanted(slow: Shop, written: Callable[[], str], option: str):
    slow.run(option, "--select", "slow")
    assert "stage 1 of" not in written()
