"""Generates docs/engines.md from the outcomes that the tests of other engines check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests.functional.engines.outcomes import (
    ENGINES,
    LAYOUTS,
    NOT_TESTED,
    QUESTIONS,
    READERS,
    RIGHT,
    STRATEGIES,
    WRITERS,
    Read,
    Written,
)

_HEAD = """# Other engines

Other engines can write the sources of your models, and can read the tables of your models. The tests start each engine
of this page and compare its rows with those of Spark SQL. `make engines` runs all of them, with Spark 4.1.4 and Iceberg
1.12.0. A test fails if an engine behaves better or worse than this page states.

## Engines that write sources

Each row is a commit of an engine. Models of five strategies read the table before and after it, and after a later
append. `merge` has `on_source_rewrite: upserts`. A result is one of these:

- **right**: the model's table contains what its SQL returns for the source. Under `merge`, deleted rows remain.
- **the name of an error**: the run fails and publishes nothing. The error describes how to continue.
- **refused**: the engine itself cannot make the commit.

The tests are the cases of `functional/engines/test_writers.py::test_models_follow_an_engine`, and for refused commits
of `::test_an_engine_refuses_to_write`. The last column is the beginning of their ids.
"""
_READERS = """## Engines that read tables

Each engine reads the table of an `apply_changes` model after two runs that changed and deleted rows: the number of its
rows, the rows within a filter, all rows, all rows at each earlier snapshot, and all three after a compaction.
**Refused** means that the engine raises an error.

The tests are the cases of `functional/engines/test_readers.py::test_an_engine_reads_the_table_of_a_model`. The last
column is the beginning of their ids.
"""
_TAIL = """## Tables that every engine reads
"""
_NOT_TESTED = """## Engines without tests here
"""


def page() -> str:
    """The page."""
    return "\n".join((_HEAD, *_writers(), "", _READERS, *_readers(), "", _TAIL, _NOT_TESTED, *_not_tested(), ""))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |".replace("| --- ", "|---").replace("|--- |", "|---|").replace("--- |", "---|")


def _writers() -> Iterator[str]:
    head = ("engine", "commit", "format", *(f"`{strategy}`" for strategy in STRATEGIES), "test")
    return _table(head, (_writer(each) for each in WRITERS))


def _writer(written: Written) -> list[str]:
    engine = ENGINES[written.engine]
    mode = f", {written.mode}" if written.mode else ""
    formats = ", ".join(f"v{version}" for version in written.formats)
    results = ["refused"] * len(STRATEGIES) if written.refused else [_result(written, each) for each in STRATEGIES]
    return [f"{engine.title} {engine.version}", f"{written.text}{mode}", formats, *results, f"`{written.id}`"]


def _result(written: Written, strategy: str) -> str:
    outcome = written.outcome(strategy)
    return RIGHT if outcome == RIGHT else f"[{outcome}](errors/{outcome}.md)"


def _readers() -> Iterator[str]:
    return _table(("engine", "layout", *QUESTIONS, "test"), (_reader(each) for each in READERS))


def _reader(read: Read) -> list[str]:
    engine = ENGINES[read.engine]
    results = [read.outcome(question) for question in QUESTIONS]
    return [f"{engine.title} {engine.version}", LAYOUTS[read.layout].text, *results, f"`{read.engine}-{read.layout}`"]


def _not_tested() -> Iterator[str]:
    return _table(("engine", "reason"), NOT_TESTED.items())
