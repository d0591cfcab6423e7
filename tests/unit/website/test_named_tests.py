"""Each test file and each test that a page names exists under tests/."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from website import DOCS

TESTS = Path(__file__).parents[2]
NAME = re.compile(
    r"`(?:tests/)?(?:(?P<file>(?:[\w…]+/)*test_\w+\.py)|(?P<folder>(?:unit|functional)(?:/\w+)+)|(?=::))(?:::(?P<test>\w+))?`"
)
PAGES = [page for page in sorted(DOCS.glob("*.md")) if NAME.search(page.read_text(encoding="utf-8"))]


def named(text: str) -> Iterator[tuple[str, str | None]]:
    """The files and folders that a text names, each with a test or None. A test alone is in the previous file."""
    last = ""
    for found in NAME.finditer(text):
        last = found["file"] or last
        yield found["folder"] or last, found["test"]


def files_of(path: str) -> Sequence[Path]:
    """The files that match a path on a page, where `…` replaces folders."""
    found = TESTS.glob(f"**/{path.replace('…', '**')}")
    return [file for each in found for file in ([each] if each.is_file() else each.rglob("*.py"))]


def defines(file: Path, test: str) -> bool:
    return re.search(rf"^\s*(?:def|class) {test}\b", file.read_text(encoding="utf-8"), re.MULTILINE) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_named_test_exists(page):
    missing = [
        f"{path}::{test}" if test else path
        for path, test in named(page.read_text(encoding="utf-8"))
        if not any(test is None or defines(file, test) for file in files_of(path))
    ]
    assert missing == []


def test_evidence_md_names_many_tests():
    assert len(list(named((DOCS / "evidence.md").read_text(encoding="utf-8")))) > 120
