"""Generates docs/engines.md from the outcomes that the tests of other engines check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests.functional.engines.outcomes import (
    ENGINES,
    LAYOUTS,
    NOT_TESTED,
    ON_SAIL,
    QUESTIONS,
    READERS,
    RIGHT,
    STRATEGIES,
    WRITERS,
    Read,
    Written,
)

_HEAD = """# Other engines

Other engines can write the sources of your models, and can read the tables of your models. `make engines` starts each
engine below and compares the rows with the results of Spark SQL (Spark 4.1.4, Iceberg 1.12.0). A test fails if an
engine behaves better or worse than this page states.

## Engines that write sources

Each row is a commit of an engine. Models of five strategies read the table before and after it, and after a later
append. `merge` has `on_source_rewrite: upserts`. A result is one of these:

- **right**: the model's table contains what its SQL returns for the source. Under `merge`, deleted rows remain.
- **the name of an error**: the run fails and publishes nothing. The error describes how to continue.
- **refused**: the engine itself cannot make the commit.

PyIceberg, Polars, Daft and dlt replace rows in several snapshots, first with a delete and then with an append. A
`history` table has the versions of every snapshot, so it ends the version of a replaced row and begins a new one, even
if the new row is the same.

Flink's upsert streams commit equality deletes even if all keys are new, so models with strategy `append` cannot read
their tables.

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
_READ_BY_ALL = """\
Maven Central has no server of Trino after version 476, so the tests use this version.

DataFusion reads only tables whose paths are URIs, such as `s3://…` or `file:/…`. The paths of the [embedded
lakehouse](lakehouse.md) have no scheme, unless a model sets `location_root` to a URI.

## Tables that every engine reads

Tables of `auto`, `merge`, `apply_changes` and `history` are format v3 with deletion vectors by default. Every engine of
the previous table reads format v2:

```sql
{{ config(
    materialized='iceberg_incremental_snapshot',
    incremental_strategy='auto',
    tblproperties={'format-version': '2'}
) }}
```

"""
_PRICES = {
    "none (v3, deletion vectors)": (
        "every engine above except Daft, ClickHouse and Trino, which can read it after a compaction that leaves no "
        "deletes",
        "none",
    ),
    "`'format-version': '2'`": (
        "every engine above",
        "Without row lineage, models that read the table find its changes by comparing values. A compaction leaves "
        "delete files that no longer apply; `rewrite_position_delete_files` removes them",
    ),
    "`'format-version': '2'`, and `'copy-on-write'` as `write.delete.mode`, `write.update.mode`, `write.merge.mode`": (
        "also engines that read no deletes at all",
        "Each run rewrites all files that contain a changed row. In the [benchmark](benchmarks.md#merged), "
        "`apply_changes` cost 3.42 times a rebuild for scattered keys, compared with 0.30 for v3",
    ),
}
_SAIL = """\
Tables of `append` and `insert_overwrite` have no deletes unless another writer adds them, so every engine reads them.

## Sail as the server of `method: connect`

Sail has a Spark Connect server, but it cannot run the models of this package. `dbt debug` fails, because the server
does not list its catalogs. `functional/engines/test_sail_server.py` tests these statements:

| statement | result |
|---|---|"""
_NOT_TESTED = """## Engines without tests
"""


def page() -> str:
    """The page."""
    parts = [_HEAD, *_writers(), *_refusals(_refused_writes()), _READERS, *_readers(), *_refusals(_refused_reads())]
    parts += [_READ_BY_ALL, *_prices(), "", _SAIL, *_on_sail(), ""]
    if NOT_TESTED:
        parts += [_NOT_TESTED, *_table(("engine", "what is known"), NOT_TESTED.items()), ""]
    return "\n".join(parts)


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
    return [engine.shown, f"{written.text}{mode}", formats, *results, f"`{written.id}`"]


def _result(written: Written, strategy: str) -> str:
    outcome = written.outcome(strategy)
    return RIGHT if outcome == RIGHT else f"[{outcome}](errors/{outcome}.md)"


def _readers() -> Iterator[str]:
    return _table(("engine", "layout", *QUESTIONS, "test"), (_reader(each) for each in READERS))


def _reader(read: Read) -> list[str]:
    engine = ENGINES[read.engine]
    results = [read.outcome(question) for question in QUESTIONS]
    return [engine.shown, LAYOUTS[read.layout].text, *results, f"`{read.engine}-{read.layout}`"]


def _refused_writes() -> Iterator[tuple[str, str]]:
    for each in WRITERS:
        if each.refused:
            yield ENGINES[each.engine].title, each.refused


def _refused_reads() -> Iterator[tuple[str, str]]:
    for each in READERS:
        for error in each.refusals.values():
            yield ENGINES[each.engine].title, error


def _refusals(found: Iterable[tuple[str, str]]) -> list[str]:
    """A list of the errors of engines, each once."""
    return [
        "",
        "The errors of the engines contain:",
        "",
        *dict.fromkeys(f"- {engine}: `{error}`" for engine, error in found),
        "",
    ]


def _prices() -> Iterator[str]:
    rows = ((properties, *others) for properties, others in _PRICES.items())
    return _table(("`tblproperties`", "read by", "price"), rows)


def _on_sail() -> Iterator[str]:
    for statement, refused in ON_SAIL.items():
        yield f"| `{statement.format('t', '…')}` | {'refused' if refused else 'works'} |"
