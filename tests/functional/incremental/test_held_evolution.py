"""Held positions in sources that are altered, overwritten, rolled back or replaced between expiries: exact or errors.

``HELD_SEED`` and ``HELD_ROUNDS`` set the random histories and their length.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from .shop import CATALOG, Shop
from .test_held_positions import FORGETS, GROUPED, HELD, MIRROR, compact, expire, source

SEED = os.environ.get("HELD_SEED", "20261123")
ROUNDS = int(os.environ.get("HELD_ROUNDS", "3"))
ROWS = "id, v"
DELTAS = "select v, _change_sign as n, _change_sign * id as s from {{ ip_signed_changes(source('raw', 'events')) }}"
SUMS = "select v, sum(n), sum(s) from {} group by v having sum(n) <> 0"


class Writer:
    """Makes random commits to a source that starts with the columns ``id`` and ``v``."""

    def __init__(self, shop: Shop, table: str, chance: random.Random) -> None:
        self.shop, self.table, self.chance = shop, table, chance
        self.name = table.replace("`", "")
        self.count = 0

    def sql(self, statement: str) -> None:
        self.shop.sql(statement.format(t=self.table, v=self.chance.choice("abcd"), some=self.some()))

    def some(self) -> str:
        return ", ".join(str(self.chance.randrange(30)) for _ in range(4))

    def procedure(self, call: str) -> None:
        self.shop.sql(f"call {CATALOG}.system.{call}")

    def new_name(self) -> str:
        self.count += 1
        return f"extra_{self.count}"

    # Steps that keep the table's definition

    def insert(self) -> None:
        self.sql(
            "insert into {t} (id, v) select n, '{v}' from explode(array({some})) as t(n) "
            "where n not in (select id from {t}) group by n"
        )

    def update(self) -> None:
        self.sql("update {t} set v = '{v}' where id in ({some})")

    def delete(self) -> None:
        self.sql("delete from {t} where id in ({some})")

    def compact(self) -> None:
        compact(self.shop, self.table)

    def compact_with_deletes(self) -> None:
        self.procedure(f"rewrite_position_delete_files(table => '{self.name}', options => map('rewrite-all', 'true'))")

    def rewrite_manifests(self) -> None:
        self.procedure(f"rewrite_manifests('{self.name}')")

    # Steps that change the definition or the history

    def overwrite(self) -> None:
        self.sql("insert overwrite {t} select * from {t} where id % 3 <> 0")

    def overwrite_with_itself(self) -> None:
        self.sql("insert overwrite {t} select * from {t}")

    def undo(self) -> None:
        before = self.shop.head(self.table)
        self.update()
        self.insert()
        self.procedure(f"rollback_to_snapshot('{self.name}', {before})")

    def undo_what_was_read(self) -> None:
        earlier = self.shop.sql(f"select parent_id from {self.table}.history h where h.snapshot_id = {self.head()}")
        if earlier and earlier[0][0] in {
            row[0] for row in self.shop.sql(f"select snapshot_id from {self.table}.snapshots")
        }:
            self.procedure(f"set_current_snapshot('{self.name}', {earlier[0][0]})")

    def head(self) -> int | None:
        return self.shop.head(self.table)

    def go_back_to_what_is_held(self) -> None:
        held = self.shop.sql(f"select snapshot_id from {self.table}.refs where type = 'TAG' order by 1")
        if held:
            self.procedure(f"set_current_snapshot('{self.name}', {self.chance.choice(held)[0]})")

    def fast_forward(self) -> None:
        branch = self.new_name()
        self.sql(f"alter table {{t}} create branch {branch}")
        self.shop.sql(f"update {self.name}.branch_{branch} set v = 'b' where id % 3 = 1")
        self.procedure(f"fast_forward('{self.name}', 'main', '{branch}')")
        self.sql(f"alter table {{t}} drop branch {branch}")

    def another_branch_becomes_main(self) -> None:
        branch = self.new_name()
        self.sql(f"alter table {{t}} create branch {branch}")
        self.insert()
        self.shop.sql(f"delete from {self.name}.branch_{branch} where id % 5 = 2")
        head = dict(self.shop.sql(f"select name, snapshot_id from {self.table}.refs"))[branch]
        self.procedure(f"set_current_snapshot('{self.name}', {head})")
        self.sql(f"alter table {{t}} drop branch {branch}")

    def cherry_pick(self) -> None:
        before = self.shop.head(self.table)
        self.insert()
        picked = self.shop.head(self.table)
        if picked == before:
            return
        self.procedure(f"rollback_to_snapshot('{self.name}', {before})")
        self.delete()
        self.procedure(f"cherrypick_snapshot('{self.name}', {picked})")

    def add_column(self) -> None:
        self.sql(f"alter table {{t}} add column {self.new_name()} int first")

    def add_and_fill_column(self) -> None:
        name = self.new_name()
        self.sql(f"alter table {{t}} add column {name} int")
        self.sql(f"update {{t}} set {name} = id where id % 2 = 0")

    def drop_column(self) -> None:
        if self.count:
            extra = [row[0] for row in self.shop.sql(f"describe {self.table}") if row[0].startswith("extra_")]
            if extra:
                self.sql(f"alter table {{t}} drop column {self.chance.choice(extra)}")

    def rename_and_back(self) -> None:
        self.sql("alter table {t} rename column v to w")
        self.sql("update {t} set w = 'r' where id in ({some})")
        self.sql("alter table {t} rename column w to v")
        self.touch()

    def touch(self) -> None:
        """Commit with the current columns. Until then, a range has the columns of the last commit."""
        self.sql("insert into {t} (id, v) values (1000, 'new')")
        self.sql("delete from {t} where id = 1000")

    def swap_column(self) -> None:
        """Add another column with the same name, after renaming the original one."""
        self.unpartition()
        self.sql("alter table {t} write unordered")
        former = self.new_name()
        self.sql(f"alter table {{t}} rename column v to {former}")
        self.sql("alter table {t} add column v string")
        self.sql(f"update {{t}} set v = concat({former}, '2') where id % 2 = 1")
        self.touch()

    def widen(self) -> None:
        self.sql("alter table {t} alter column id type bigint")

    def partition(self) -> None:
        spec = self.chance.choice(["bucket(4, id)", "v", "truncate(1, v)", "bucket(3, id)"])
        if not any(spec == row[1] for row in self.shop.sql(f"describe {self.table}") if row[0].startswith("Part ")):
            self.sql(f"alter table {{t}} add partition field {spec}")

    def unpartition(self) -> None:
        for row in self.shop.sql(f"describe {self.table}"):
            if row[0].startswith("Part "):
                self.sql(f"alter table {{t}} drop partition field {row[1]}")

    def order(self) -> None:
        self.sql("alter table {t} write ordered by v, id")

    def upgrade(self) -> None:
        version = int(self.shop.properties(self.table)["format-version"])
        if version < 3:
            self.sql(f"alter table {{t}} set tblproperties ('format-version'='{version + 1}')")

    def other_mode(self) -> None:
        if self.shop.properties(self.table)["format-version"] == "1":
            return  # it has no delete files
        mode = self.chance.choice(["merge-on-read", "copy-on-write"])
        self.sql(f"alter table {{t}} set tblproperties ('write.update.mode'='{mode}', 'write.delete.mode'='{mode}')")

    def delete_all(self) -> None:
        kept = self.shop.sql(f"select id, v from {self.table} where id % 2 = 1")
        self.sql("delete from {t}")
        if kept:
            rows = ", ".join(f"({key}, {'null' if v is None else repr(v)})" for key, v in kept)
            self.sql(f"insert into {{t}} (id, v) values {rows}")

    def truncate(self) -> None:
        self.sql("truncate table {t}")

    def replace(self) -> None:
        version = self.shop.properties(self.table)["format-version"]
        self.sql(
            f"create or replace table {{t}} using iceberg tblproperties ('format-version'='{version}') "
            "as select id, v from {t} where id % 5 <> 1"
        )


USUAL: list[Callable[[Writer], None]] = [
    Writer.insert,
    Writer.insert,
    Writer.update,
    Writer.update,
    Writer.delete,
    Writer.compact,
    Writer.compact_with_deletes,
    Writer.rewrite_manifests,
]
EVOLVING: list[Callable[[Writer], None]] = [
    Writer.overwrite,
    Writer.overwrite_with_itself,
    Writer.undo,
    Writer.undo_what_was_read,
    Writer.go_back_to_what_is_held,
    Writer.fast_forward,
    Writer.another_branch_becomes_main,
    Writer.cherry_pick,
    Writer.add_column,
    Writer.add_and_fill_column,
    Writer.drop_column,
    Writer.rename_and_back,
    Writer.swap_column,
    Writer.widen,
    Writer.partition,
    Writer.unpartition,
    Writer.order,
    Writer.upgrade,
    Writer.other_mode,
    Writer.delete_all,
    Writer.truncate,
    Writer.replace,
]


EXPECTED = (
    "rolled_back",  # commits that a run has read were rolled back
    "rebuilt",
    "which refers to a different column than in the model's last run",  # the model groups by the values of this column
    "refer to different columns than in the model's last run",  # the model adds up the values of these columns
    "do not fit the values",  # a column of the source now has a wider type
)
"""Messages of runs that may fail. Each error would occur without the tag too, and none is caused by expiry."""


@pytest.mark.parametrize(
    ("version", "mode", "more"),
    [
        (2, "merge-on-read", FORGETS),
        (3, "copy-on-write", ""),
        *(
            pytest.param(version, mode, more, marks=pytest.mark.thorough)
            for version, mode in ((1, "copy-on-write"), (2, "copy-on-write"), (3, "merge-on-read"))
            for more in ("", FORGETS)
        ),
    ],
)
def test_a_source_that_evolves(shop, version, mode, more):
    chance = random.Random(f"{SEED} {version} {mode} {more}")
    writer = Writer(shop, source(shop, version, mode, more), chance)
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id", **HELD)
    shop.model("grouped", GROUPED, incremental_strategy="merge", unique_key="v", **HELD)
    shop.model("deltas", DELTAS, **HELD)
    shop.insert(writer.table, *(f"({n}, '{chance.choice('abc')}')" for n in range(20)))
    shop.run()
    played = []
    for _ in range(ROUNDS):
        moves = [*chance.sample(EVOLVING, chance.randint(1, 3)), *chance.choices(USUAL, k=chance.randint(1, 4))]
        chance.shuffle(moves)
        played.append([move.__name__ for move in moves])
        for move in moves:
            move(writer)
        if chance.random() < 0.8:
            expire(shop, writer.table)
        found = shop.dbt("run")
        failed = [str(node.message) for node in found.nodes.values() if node.status != "success"]
        assert all(any(each in message for each in EXPECTED) for message in failed), (played, failed)
        if failed:
            shop.run("--full-refresh")
        assert shop.rows(shop.built("mirror"), ROWS) == shop.rows(writer.table, ROWS), played
        groups = Counter(shop.sql(f"select v, count(*), sum(id) from {writer.table} group by v"))
        assert shop.rows(shop.built("grouped")) == groups, played
        assert Counter(shop.sql(SUMS.format(shop.built("deltas")))) == groups, played
