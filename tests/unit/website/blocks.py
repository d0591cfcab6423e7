"""The code blocks of the pages, and the blocks that no test can run."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from website import DOCS, GENERATED

ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "DEVELOPMENT.md")
PAGES = (*(DOCS.parent / name for name in ROOT_PAGES), *sorted(DOCS.glob("*.md")))
_FENCED = re.compile(r"^(?P<indent> *)```(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)

_ERASES = "run by tests/functional/incremental/test_erasure.py; sqlglot cannot parse it"
NOT_RUN = {
    ("README.md", " source('ops','flights')"): "a picture",
    ("erase.md", "call lake.system.rewrite_data_files"): _ERASES,
    ("erase.md", "call lake.system.rewrite_manifests"): _ERASES,
    ("erase.md", "call lake.system.expire_snapshots"): _ERASES,
    ("leave.md", "alter table lake.analytics.daily_delays unset"): "a statement that sqlglot cannot parse",
    ("migration.md", "-- before\nCREATE FLOW"): "SQL of Databricks' pipelines, which Spark cannot parse",
    (
        "tutorial.md",
        "                                   ip_changes reads",
    ): "what `make demo` prints, after some minutes",
    ("tutorial.md", "compared with a rebuild from scratch"): "what `make demo` prints, after some minutes",
}
"""Blocks that no test runs, with the reason. The keys are the page and the first characters of the block."""


@dataclass(frozen=True)
class Block:
    """A code block, without the indent of a surrounding list. ``line`` is the 1-based line of its opening fence."""

    page: str
    line: int
    language: str
    text: str

    @property
    def reason(self) -> str | None:
        """Why no test runs the block, or None if a test does."""
        found = [why for (page, start), why in NOT_RUN.items() if page == self.page and self.text.startswith(start)]
        return found[0] if found else None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*languages: str) -> Iterator[Block]:
    """The blocks of these languages, or of all languages, that a test must run.

    Generated pages are left out, because another test compares them with the code.
    """
    return (each for each in all_blocks() if each.reason is None and (not languages or each.language in languages))


def all_blocks() -> Iterator[Block]:
    """All blocks of the pages that are not generated."""
    for path in PAGES:
        if path not in GENERATED:
            page = path.read_text(encoding="utf-8")
            for found in _FENCED.finditer(page):
                text = found["text"] if found["indent"] == "" else textwrap.dedent(found["text"])
                yield Block(path.name, page.count("\n", 0, found.start()) + 1, found["language"], text)
