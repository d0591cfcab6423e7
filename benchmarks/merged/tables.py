"""The tables of one layout: the dimension, its changes, and the tables of all methods."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from dbt.adapters.spark_iceberg.spark.connections import SparkIcebergConnectionManager
from dbt.adapters.spark_iceberg.spark.port import DbtSpark

from .. import check
from ..lake import CATALOG, Lake, run_dbt, write_profile
from ..meter import Meter, Spent
from . import by_hand, changes
from .cases import DEFAULT_LAYOUT, FOREIGN, MERGE, WARM_UP_ROUNDS, Case, Sizes, properties
from .outcome import Outcome
from .ways import (
    CHANGELOG_VIEW,
    CHANGES,
    FEED,
    FLOOR,
    FLOOR_DEFAULT,
    REBUILD,
    REBUILD_DISTINCT,
    REBUILD_SUM,
    SIGNED_SUMS,
    SOURCE,
    WATERMARK,
    WHOLE_MERGE,
    Way,
    in_turn,
)

PROJECT = Path(__file__).resolve().parent / "project"


@dataclass
class Tables:
    """The schema of a layout. Before each case, all tables are rolled back to their initial rows.

    ``heads``: the snapshots of the tables after their creation. ``seen``: the snapshot up to which the changelog view
    was read. ``writer``: the strategy of the dimension's model. It is constant within a case, because dbt parses the
    project again after each change.
    """

    lake: Lake
    meter: Meter
    sizes: Sizes
    layout: str
    ways: Sequence[Way]
    heads: dict[str, int] = field(default_factory=dict)
    seen: int = 0
    writer: str = MERGE

    @property
    def schema(self) -> str:
        """The schema's name."""
        return self.layout.replace("-", "_")

    def table(self, name: str) -> str:
        """A table's name in Spark."""
        return f"{CATALOG}.{self.schema}.{name}"

    def make(self) -> None:
        """Create the dimension, and from it the tables of the methods."""
        self.lake.sql(f"create schema {CATALOG}.{self.schema}")
        write_profile(self.lake.folder / self.schema, "merged", {**self.lake.target, "schema": self.schema})
        first = f"select *, 'INSERT' as _change_type from ({changes.first_rows(self.sizes.rows)})"
        self.lake.sql(by_hand.table_as(self.table(FEED), properties(DEFAULT_LAYOUT), first))
        models = [way.name for way in self.ways if way.is_model]
        self.dbt(SOURCE, *models)
        for way in self.ways:
            if not way.is_model:
                self.lake.sql(self._rebuilt(way))
        for name in (FEED, SOURCE, *(way.name for way in self.ways if not way.is_rebuild)):
            self.heads[name] = self.lake.head(self.table(name))

    def drop(self) -> None:
        """Drop all tables."""
        self.lake.sql(f"drop table if exists {self.table(CHANGES)}")
        for name in (*self.heads, *(way.name for way in self.ways if way.is_rebuild)):
            self.lake.sql(f"drop table {self.table(name)} purge")

    def run(self, case: Case, names: Sequence[str]) -> Outcome:
        """Measure methods in a case. Raises ValueError if a table is wrong at the end."""
        for name, head in self.heads.items():
            self.lake.sql(f"call {CATALOG}.system.rollback_to_snapshot('{self.schema}.{name}', {head})")
        self.seen, self.writer = self.heads[SOURCE], MERGE if case.writer == FOREIGN else case.writer
        outcome, ways = Outcome(case, self.sizes), [way for way in self.ways if way.name in names]
        print(f"== {case.title}", flush=True)
        for number in range(1, WARM_UP_ROUNDS + self.sizes.rounds_of(case) + 1):
            changed = self.change(case, number)
            for way in in_turn(ways, number):
                spent = self._measure(way, number, case.by_sql)
                if number > WARM_UP_ROUNDS:
                    outcome.steps.setdefault(way.name, []).append(spent)
            if number > WARM_UP_ROUNDS:
                outcome.changed.append(changed)
        self._check(outcome, ways)
        return outcome

    def change(self, case: Case, number: int) -> int:
        """Change the dimension for a round. Returns the number of changes."""
        source, made = self.table(SOURCE), self.table(CHANGES)
        query = changes.changes(case, source, self.sizes.rows, number)
        self.lake.sql(by_hand.table_as(made, properties(DEFAULT_LAYOUT), f"select /*+ coalesce(1) */ * from ({query})"))
        if case.writer == FOREIGN:
            self.lake.sql(by_hand.merge_changes(source, made))
        else:
            self.lake.sql(f"insert into {self.table(FEED)} select * from {made}")
            self.dbt(SOURCE)
        if case.writer == MERGE:
            deleted = f"select id from {made} where _change_type = 'DELETE'"
            self.lake.sql(f"delete from {source} where id in ({deleted})")
        if case.compacted:
            self._compact()
        return check.rows(self.lake, made)

    def dbt(self, *models: str, by_sql: bool = False) -> None:
        """``dbt run`` of models. ``by_sql``: as in Case."""
        known = {"properties": properties(self.layout), "files": self.sizes.files, "writer": self.writer}
        with _server_statements() if by_sql else nullcontext():
            run_dbt(PROJECT, self.lake.folder / self.schema, "--vars", json.dumps(known), "--select", *models)

    def _compact(self) -> None:
        """Rewrite all files of the dimension. The number of files stays about the same."""
        (size,) = self.lake.sql(f"select sum(file_size_in_bytes) from {self.table(SOURCE)}.data_files")[0]
        options = f"map('rewrite-all', 'true', 'target-file-size-bytes', '{size // self.sizes.files}')"
        self.lake.sql(
            f"call {CATALOG}.system.rewrite_data_files(table => '{self.schema}.{SOURCE}', options => {options})"
        )

    def _measure(self, way: Way, number: int, by_sql: bool) -> Spent:
        update = self._update(way, by_sql)
        with self.meter.measuring() as spent:
            update()
        print(
            f"  round {number} {way.name:<16} {spent.run:7.2f} s of executors, {spent.cpu:6.2f} s of CPU,"
            f" {spent.wall:6.2f} s in all, {spent.rows:11,} rows, {spent.read >> 20:5,} MiB read",
            flush=True,
        )
        return spent

    def _update(self, way: Way, by_sql: bool) -> Callable[[], object]:
        """The function that updates the table of a method once."""
        table, source = self.table(way.name), self.table(SOURCE)
        if way.is_model:
            return lambda: self.dbt(way.name, by_sql=by_sql)
        if way.name == CHANGELOG_VIEW:
            return lambda: self._merge_changelog(table)
        statement = {
            FLOOR: by_hand.merge_changes(table, self.table(CHANGES)),
            FLOOR_DEFAULT: by_hand.merge_changes(table, self.table(CHANGES)),
            WATERMARK: by_hand.merge_newer(table, source),
            WHOLE_MERGE: by_hand.merge_all(table, source),
        }.get(way.name) or self._rebuilt(way)
        return lambda: self.lake.sql(statement)

    def _rebuilt(self, way: Way) -> str:
        """The statement that builds the table of a method from scratch."""
        query = {REBUILD_SUM: by_hand.SUMS, REBUILD_DISTINCT: by_hand.DISTINCT}.get(way.name, "select * from {}")
        layout = DEFAULT_LAYOUT if way.name == FLOOR_DEFAULT else self.layout
        return by_hand.table_as(self.table(way.name), properties(layout), query.format(self.table(SOURCE)))

    def _merge_changelog(self, table: str) -> None:
        """Execute a MERGE of the changes since the last call, from Iceberg's changelog view."""
        start, self.seen = self.seen, self.lake.head(self.table(SOURCE))
        self.lake.sql(by_hand.changelog_view("dimension_changes", self.table(SOURCE), start, self.seen))
        self.lake.sql(by_hand.merge_changes(table, by_hand.last_changes("dimension_changes")))

    def _check(self, outcome: Outcome, ways: Sequence[Way]) -> None:
        """Compare the methods' tables with the dimension or the rebuilt aggregate, and count the missed deletes."""
        for name, expected in ((REBUILD, SOURCE), (REBUILD_SUM, REBUILD_SUM), (REBUILD_DISTINCT, REBUILD_DISTINCT)):
            kept = [self._compared(way) for way in ways if way.rebuild == name and way.name != expected]
            if kept:
                check.require_same_sums(self.lake, self.table(expected), *kept)
        for way in ways:
            if not way.exact:
                alive = f"select 1 from {self.table(SOURCE)} as alive where alive.id = kept.id"
                deleted = f"(select * from {self.table(way.name)} as kept where not exists ({alive}))"
                outcome.missed[way.name] = check.rows(self.lake, deleted)

    def _compared(self, way: Way) -> str:
        """The part of a method's table to compare, without rows that it should have deleted and auxiliary columns."""
        table = self.table(way.name)
        if not way.exact:
            return f"(select * from {table} where id in (select id from {self.table(SOURCE)}))"
        return f"(select * except (balances) from {table})" if way.name == SIGNED_SUMS else table


@contextmanager
def _server_statements() -> Iterator[None]:
    """Let dbt use the statements for a Spark in another process within the block."""
    with (
        patch.object(DbtSpark, "scans", None),
        patch.object(SparkIcebergConnectionManager, "holds_rows", lambda self: False),
    ):
        yield
