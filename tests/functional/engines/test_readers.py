"""Other engines read the tables of models: with deletes, at earlier snapshots, and after a compaction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from ..incremental.shop import CATALOG, Shop
from .conftest import of_engine
from .outcomes import LAYOUTS, PLAIN_PATHS, QUESTIONS, READERS, RIGHT, Read
from .process import Engine, EngineError
from .programs import contract

SOURCE = "id int, v string, amount decimal(10, 2), day date, seen_at timestamp"
LOG = "select * from {{ ip_changelog(source('raw', 'orders')) }}"
CASES = [
    pytest.param(
        each,
        question,
        id=f"{each.engine}-{each.layout}-{question.replace(' ', '_')}",
        marks=of_engine(each.engine),
    )
    for each in READERS
    for question in QUESTIONS
]


def row(number: int, v: str) -> list[Any]:
    """A row as engines return it."""
    return [number, v, f"{number}.25", f"2026-02-{number:02}", f"2026-03-01T{number:02}:30:00+00:00"]


def literal(number: int, v: str) -> str:
    """The same row as in VALUES."""
    return f"({number}, '{v}', {number}.25, date '2026-02-{number:02}', timestamp '2026-03-01 {number:02}:30:00 UTC')"


FIRST = {number: row(number, "new") for number in range(1, 11)}
SECOND = {number: each for number, each in FIRST.items() if number != 4} | {7: row(7, "once"), 11: row(11, "late")}
THIRD = {number: each for number, each in SECOND.items() if number != 5} | {1: row(1, "again"), 7: row(7, "twice")}
STATES = (FIRST, SECOND, THIRD)
"""The rows of the tables after each run, by id."""
CHANGES = (
    (f"insert into {{0}} values {', '.join(literal(number, 'new') for number in FIRST)}",),
    (
        "delete from {0} where id = 4",
        "update {0} set v = 'once' where id = 7",
        f"insert into {{0}} values {literal(11, 'late')}",
    ),
    ("delete from {0} where id = 5", "update {0} set v = if(id = 1, 'again', 'twice') where id in (1, 7)"),
)
"""The statements before each run."""


class Built:
    """A table of a model after its three runs. ``snapshots``: the current snapshot after each run."""

    def __init__(self, shop: Shop, name: str) -> None:
        self.shop, self.table = shop, shop.built(name)
        self.snapshots: list[int] = []

    @property
    def metadata(self) -> str:
        """The path of the current metadata file."""
        files = f"select file from {self.table}.metadata_log_entries order by timestamp desc, file desc limit 1"
        return str(self.shop.sql(files)[0][0])


@pytest.fixture(scope="module")
def built(module_shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    """The tables by layout, and those that were also compacted, as ``compacted_<layout>``.

    Their paths are URIs, as in object storage. Those of the embedded lakehouse have no scheme.
    """
    folder = tmp_path_factory.mktemp("read_by_engines").as_uri()
    shop = module_shop
    source = shop.source("orders", SOURCE)
    tables: dict[str, Built] = {}
    for layout, about in LAYOUTS.items():
        for name in (layout, f"compacted_{layout}"):
            config = {"tblproperties": dict(about.properties), "location_root": folder, "unique_key": "id"}
            shop.model(name, LOG, incremental_strategy="apply_changes", **config)
            tables[name] = Built(shop, name)
    for statements in CHANGES:
        for statement in statements:
            shop.sql(statement.format(source))
        shop.run()
        for each in tables.values():
            each.snapshots.append(shop.head(each.table) or 0)
    for layout in LAYOUTS:
        table = f"{shop.schema}.compacted_{layout}"
        options = "options => map('rewrite-all', 'true')"
        shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{table}', {options})")
    return tables


def answer(engine: Engine, tables: dict[str, Built], layout: str, question: str) -> tuple[Any, Any]:
    """The answer of an engine, and the right answer."""
    table, rows = tables[layout], [THIRD[number] for number in sorted(THIRD)]
    within = [each for each in rows if contract.LOWEST <= each[0] <= contract.HIGHEST]

    def read(table: Built, asked: str, snapshot: int | None = None) -> Any:
        return engine.ask("read", metadata=table.metadata, snapshot=snapshot, question=asked)

    if question == "count":
        return read(table, "count"), len(rows)
    if question == "filter":
        return read(table, "filter"), within
    if question == "rows":
        return read(table, "rows"), rows
    if question == "time travel":
        found = [read(table, "rows", snapshot) for snapshot in table.snapshots]
        return found, [[state[number] for number in sorted(state)] for state in STATES]
    compacted = tables[f"compacted_{layout}"]
    return [read(compacted, asked) for asked in ("count", "filter", "rows")], [len(rows), within, rows]


@pytest.mark.parametrize(("case", "question"), CASES)
def test_an_engine_reads_the_table_of_a_model(
    engines: Callable[[str], Engine], built: dict[str, Built], case: Read, question: str
) -> None:
    engine, outcome = engines(case.engine), case.outcome(question)
    if question in case.refusals:
        with pytest.raises(EngineError, match=re.escape(case.refusals[question])):
            answer(engine, built, case.layout, question)
        return
    found, expected = answer(engine, built, case.layout, question)
    assert (found == expected) is (outcome == RIGHT), found


@pytest.fixture(scope="module")
def in_the_lakehouse(built: dict[str, Built]) -> Built:
    """A table with the paths of the embedded lakehouse, which have no scheme."""
    shop = next(iter(built.values())).shop
    shop.model("plain", LOG, incremental_strategy="apply_changes", unique_key="id")
    shop.run("--select", "plain")
    return Built(shop, "plain")


@pytest.mark.parametrize("name", [pytest.param(name, marks=of_engine(name)) for name in PLAIN_PATHS])
def test_paths_without_a_scheme(engines: Callable[[str], Engine], in_the_lakehouse: Built, name: str) -> None:
    metadata, engine, refused = in_the_lakehouse.metadata, engines(name), PLAIN_PATHS[name]
    assert metadata.startswith("/")
    if refused:
        with pytest.raises(EngineError, match=re.escape(refused)):
            engine.ask("read", metadata=metadata, snapshot=None, question="count")
    else:
        assert engine.ask("read", metadata=metadata, snapshot=None, question="count") == len(THIRD)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_tables_have_their_layouts(built: dict[str, Built], layout: str) -> None:
    """Without the deletes, the tests above would pass for an engine that ignores them."""
    shop = built[layout].shop
    kinds = {
        name: {row[0] for row in shop.sql(f"select lower(file_format) from {table.table}.delete_files")}
        for name, table in built.items()
    }
    deletes = {"v3": {"puffin"}, "v2": {"parquet"}, "v2_copy_on_write": set()}[layout]
    # a compaction of v2 leaves deletes that no longer apply to any file
    assert (kinds[layout], kinds[f"compacted_{layout}"]) == (deletes, set() if layout == "v3" else deletes)
    for snapshot, state in zip(built[layout].snapshots, STATES, strict=True):
        rows = shop.sql(
            f"select {', '.join(contract.MODEL_COLUMNS)} from {built[layout].table} version as of {snapshot}"
        )
        assert [[contract.plain(each[0]), each[1]] for each in sorted(rows)] == [
            [number, state[number][1]] for number in sorted(state)
        ]
