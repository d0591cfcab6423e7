"""A terminal shows the progress of a long statement, as the server reports it."""

from __future__ import annotations

import re

import pytest

from tests.functional.incremental.test_progress import (
    LOG_LINE,
    ROWS,
    SLOW,
    shown,
    slow,  # noqa: F401 (a fixture)
)
from tests.unit.adapter.progress.screen import screen


@pytest.mark.thorough
def test_stages_and_tasks_are_shown_and_log_lines_stay_whole(slow, monkeypatch):  # noqa: F811
    # the server reports every 2 s
    slow.model("slow", SLOW.format(source=f"range(0, {5 * ROWS}, 1, 8)"), materialized="table")
    text = shown(slow, monkeypatch, "--threads", "2")

    assert re.search(r"slow: stage \d of \d, \d+ of \d+ tasks, \d+ s", text)
    assert re.search(r"reading: stage \d of \d, \d+ of \d+ tasks, .*\d s", text)
    assert all(LOG_LINE.fullmatch(line) for line in screen(text))
