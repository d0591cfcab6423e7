"""Queries of a folder as models with the strategy ``auto``. After each run, all tables equal their rebuild.

By default, the queries are those of TPC-H. ``FUZZ_QUERY_FOLDER``: a folder of SQL files without LIMIT at the end.
``FUZZ_QUERY_DATA``: a folder with a Parquet file of each of their tables, from which values are taken.
``FUZZ_QUERY_ROWS``: the maximum number of rows of a table. ``FUZZ_SEED`` and ``FUZZ_ROUNDS``: as in test_plain_sql.py.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from benchmarks.plain_sql_tpch import data
from tests.functional.incremental.shop import Shop
from tests.unit.incremental.query.given_rows import GivenRows, Row, generated, on

from .plain_sql.comparing import differences, rows_of

FOLDER, DATA = (os.environ.get(name) for name in ("FUZZ_QUERY_FOLDER", "FUZZ_QUERY_DATA"))
SEED = int(os.environ.get("FUZZ_SEED", "24"))
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "3"))
ROWS = int(os.environ.get("FUZZ_QUERY_ROWS", "3000"))
MERGE_ON_READ = ", ".join(f"'write.{command}.mode' = 'merge-on-read'" for command in ("delete", "update", "merge"))


class GivenSources:
    """The tables as sources. Each change is one MERGE per table."""

    def __init__(self, shop: Shop, given: GivenRows, folder: Path) -> None:
        self._shop, self._given, self._folder = shop, given, folder
        self._before: dict[str, dict[int, Row]] = {name: {} for name in given.schema}
        for name, columns in given.schema.items():
            typed = ", ".join(" ".join(each) for each in columns.items())
            shop.source(name, typed, f"tblproperties ('format-version' = '3', {MERGE_ON_READ})")
        self.publish()

    def publish(self) -> None:
        """Commit the changes of the rows."""
        for name, rows in self._given.rows.items():
            old, new = self._before[name], {row[f"{name}_row"]: dict(row) for row in rows}
            changed = [(row, False) for number, row in new.items() if old.get(number) != row]
            changed += [(row, True) for number, row in old.items() if number not in new]
            self._before[name] = new
            if changed:
                self._merge(name, changed)

    def _merge(self, name: str, changed: list[tuple[Row, bool]]) -> None:
        columns = self._given.schema[name]
        file = self._folder / f"{name}.parquet"
        texts = {each: [None if row[each] is None else str(row[each]) for row, _ in changed] for each in columns}
        rows = pa.table({**texts, "is_gone": [is_gone for _, is_gone in changed]})
        with duckdb.connect() as db:
            db.register("rows", rows)
            types = {each: "varchar" if type_ == "string" else type_ for each, type_ in columns.items()}
            typed = ", ".join(f"cast({each} as {type_}) as {each}" for each, type_ in types.items())
            db.execute(f"copy (select {typed}, is_gone from rows) to '{file}' (format parquet)")
        self._shop.session.read.parquet(str(file)).createOrReplaceTempView("changed_rows")
        listed, values = ", ".join(columns), ", ".join(f"s.{each}" for each in columns)
        self._shop.sql(
            f"merge into {self._shop.raw(name)} t using changed_rows s on t.{name}_row = s.{name}_row"
            " when matched and s.is_gone then delete"
            f" when matched then update set {', '.join(f't.{each} = s.{each}' for each in columns)}"
            f" when not matched then insert ({listed}) values ({values})"
        )


@pytest.mark.nightly
def test_each_table_equals_its_rebuild(
    small_shop: Shop, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    files = sorted((Path(FOLDER) if FOLDER else data.QUERIES).glob("*.sql"))
    plain = {file.stem: file.read_text(encoding="utf-8").format_map({n: n for n in data.TABLES}) for file in files}
    given = GivenRows(SEED, Path(DATA) if DATA else generated(tmp_path), plain, ROWS)
    sources = GivenSources(small_shop, given, tmp_path)
    for name, sql in plain.items():
        text = on(sql, "{{{{ source('raw', '{}') }}}}")
        small_shop.model(name, text, incremental_strategy="auto", rebuild_above=1)
    wrong, done = [], Counter[str]()
    for number in range(ROUNDS + 1):
        if number:
            given.change(given.rng.choice([*given.rows]) if number % 3 == 2 else None)
            sources.publish()
        found = small_shop.dbt("run", "--quiet")
        for name, sql in plain.items():
            rebuilt = rows_of(small_shop.session, on(sql, small_shop.raw("{}")))
            assert name in found.nodes, found.printed[-2000:]
            if str(found.nodes[name].status) != "success":
                wrong.append(f"{name}, round {number}: {found.message(name)}")
            elif (rows := rows_of(small_shop.session, f"select * from {small_shop.built(name)}")) != rebuilt:
                wrong.append("\n".join([f"{name}, round {number}:", *differences(rebuilt[1], rows[1])]))
            done["with rows" if rebuilt[1] else "empty"] += 1
    record_property("fuzz_given_queries", f"seed {SEED}: {len(plain)} queries, {dict(done)}")
    assert not wrong, "\n".join(wrong)
