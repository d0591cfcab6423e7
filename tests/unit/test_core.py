"""Each line of tests/core.txt names a test. If one does not, pytest-xdist runs no test and does not report why."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "tests" / "core.txt").read_text(encoding="utf-8").splitlines()
NAMED = [line for line in LINES if not line.startswith("#")]


def exists(node_id: str) -> bool:
    path, *names = re.sub(r"\[.*", "", node_id).split("::")
    file = ROOT / path
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return bool(text) and all(re.search(rf"^\s*(?:def|class) {name}\b", text, re.MULTILINE) for name in names)


def test_each_line_names_a_test():
    assert [line for line in NAMED if not exists(line)] == []


def test_no_line_is_repeated():
    assert sorted(set(NAMED)) == sorted(NAMED)
