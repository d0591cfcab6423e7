"""Random histories of sources, each with a model that keeps its versions. Several are played in one project."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from iceberg_incremental.table.commits import Effect, effect
from iceberg_incremental.table.history import History, Snapshot
from tests.functional.incremental.shop import Shop

from .version_oracle import Key, Row, Versions

COLUMNS = ["k", "j", "a", "b"]
_MODES = "'write.delete.mode'='{0}', 'write.update.mode'='{0}', 'write.merge.mode'='{0}'"
_STEPS = {
    "insert": 4,
    "update": 5,
    "update_back": 2,
    "delete": 4,
    "insert_again": 4,
    "merge": 4,
    "untracked": 2,
    "nothing": 1,
    "compact": 2,
    "add_column": 1,
}
_BEFORE_RUN = ("expire", "replace", "crash", "refresh")
LONGEST_END = "timestamp '9999-12-31 00:00:00'"
BYTES = "cast(unhex(hex(128 + k)) as string) as t"
"""A column that identifies the same rows as k, as text that is not UTF-8."""
MAPPED = "map('x', cast(unhex(hex(128 + a)) as string)) as m"
"""A column that changes together with a, as a map of text that is not UTF-8."""


class WrongVersionsError(AssertionError):
    """A table does not have the versions that its source's commits define."""


def jittered(snapshot: Snapshot) -> int:
    """The time of a commit according to another clock, up to three seconds earlier or later."""
    return snapshot.timestamp_ms + (snapshot.snapshot_id % 7 - 3) * 1000


@dataclass
class Kept:
    """A source, and the model that keeps its versions."""

    name: str
    random: random.Random
    shop: Shop
    table: str = ""
    versions: Versions = field(default_factory=lambda: Versions("", (), []))
    keys: tuple[str, ...] = ("k",)
    where: str = ""
    position: int | None = None
    is_built: bool = False
    steps: Counter[str] = field(default_factory=Counter)
    checks: int = 0

    def begin(self) -> None:
        """Create the source and the model."""
        choose = self.random.choice
        mode, version = choose(["copy-on-write", "merge-on-read"]), choose([2, 3])
        properties = f"'format-version'='{version}', {_MODES.format(mode)}"
        clauses = choose(["", "partitioned by (j)"]) + f" tblproperties ({properties})"
        self.table = self.shop.source(self.name, "k int, j int, a int, b string", clauses)
        self.keys = choose([("k",), ("k", "j")])
        self.where = choose(["", "", "where a <> 2"])
        deletes, check_cols = choose(["invalidate", "ignore", "new_record"]), choose([(), (), ("a",), ("a", "b")])
        self.versions = Versions(deletes, check_cols, COLUMNS)
        config: dict[str, Any] = {"unique_key": list(self.keys), "hard_deletes": deletes}
        if check_cols:
            config["check_cols"] = list(check_cols)
        if choose([True, False]):
            config["dbt_valid_to_current"] = LONGEST_END
        if choose([True, False, False]):
            config["tblproperties"] = {"format-version": "2", "write.merge.mode": "copy-on-write"}
        more = ""
        if choose([True, False, False]):
            more, config["unique_key"] = f", {BYTES}", ["t", *self.keys[1:]]
        if check_cols == ("a",) and choose([True, False]):
            more, config["check_cols"] = f"{more}, {MAPPED}", ["m"]
        self.shop.model(
            f"of_{self.name}",
            f"select *{more} from {{{{ ip_changelog(source('raw', '{self.name}')) }}}} {self.where}",
            incremental_strategy="history",
            on_schema_change="append_new_columns",
            on_history_break="full_refresh",
            **config,
        )
        if self.random.random() < 0.8:
            self.insert()

    # Steps: each is at most one commit

    def some_steps(self) -> None:
        """Play the steps before a run."""
        for _ in range(self.random.randint(0, 4)):
            self.step()

    def step(self) -> None:
        """Play a random step."""
        kind = self.random.choices(list(_STEPS), list(_STEPS.values()))[0]
        self.steps[kind] += 1
        getattr(self, kind)()

    def insert(self) -> None:
        taken = {key for (key,) in self.shop.sql(f"select k from {self.table}")}
        free: list[Any] = [k for k in range(12) if k not in taken] or [max(taken - {None}) + 1]
        chosen = self.random.sample(free, min(len(free), self.random.randint(1, 4)))
        if None not in taken and self.random.random() < 0.2:
            chosen.append("null")
        rows = ", ".join(f"({k}, {k} % 3, {self._number()}, '{self._letter()}')" for k in chosen)
        self.shop.sql(f"insert into {self.table} (k, j, a, b) values {rows}")

    insert_again = insert

    def update(self) -> None:
        self.shop.sql(f"update {self.table} set a = {self._number()}, b = '{self._letter()}' where {self._some()}")

    def update_back(self) -> None:
        self.update()
        self.update()

    def untracked(self) -> None:
        self.shop.sql(f"update {self.table} set b = '{self._letter()}' where {self._some()}")

    def delete(self) -> None:
        self.shop.sql(f"delete from {self.table} where {self._some()}")

    def merge(self) -> None:
        number, letter = self._number(), self._letter()
        self.shop.sql(
            f"merge into {self.table} t using (select int(id) as k from range({self.random.randint(1, 12)})) s"
            f" on t.k = s.k when matched and t.k % 4 = {self.random.randint(0, 3)} then delete"
            f" when matched and t.k % 2 = 0 then update set a = {number}"
            f" when not matched and s.k % 3 = {self.random.randint(0, 2)}"
            f" then insert (k, j, a, b) values (s.k, s.k % 3, {number}, '{letter}')"
        )

    def nothing(self) -> None:
        self.shop.sql(f"update {self.table} set a = a where k % 2 = 0")

    def compact(self) -> None:
        catalog = self.shop.catalog
        self.shop.sql(
            f"call {catalog}.system.rewrite_data_files(table => '{self.table}', options => map('rewrite-all', 'true'))"
        )

    def add_column(self) -> None:
        names = self.shop.frame(f"select * from {self.table}").columns
        self.shop.sql(f"alter table {self.table} add column x{len(names)} int")
        self.shop.sql(f"update {self.table} set x{len(names)} = {self._number()} where {self._some()}")

    def expire(self) -> None:
        self.shop.sql(
            f"call {self.shop.catalog}.system.expire_snapshots(table => '{self.table}', retain_last => 1,"
            " older_than => timestamp '2100-01-01')"
        )

    def replace(self) -> None:
        self.shop.sql(
            f"create or replace table {self.table} using iceberg as select * from {self.table} where k % 3 <> 0"
            f" union all select 20 as k, 2 as j, {self._number()} as a, 'z' as b"
            f"{self._nulls()} where not exists (select 1 from {self.table} where k = 20)"
        )

    def _nulls(self) -> str:
        names = self.shop.frame(f"select * from {self.table}").columns
        return "".join(f", null as {name}" for name in names if name not in COLUMNS)

    def _some(self) -> str:
        return self.random.choice(["k % 2 = 0", "k % 3 = 1", f"k = {self.random.randint(0, 11)}", "j = 1", "k < 3"])

    def _number(self) -> int:
        return self.random.randint(0, 3)

    def _letter(self) -> str:
        return self.random.choice("pqr")

    # The expected table

    def follow(self, history: History | None, *, compares: bool) -> None:
        """Replay the commits that a run reads. ``history``: of the source, as the run reads it."""
        if history is None or history.current is None:
            self.is_built = True
            return
        end = history.current
        commits = None
        known = self.position in history.snapshots or (self.is_built and self.position is None)
        if known and not compares:
            commits = history.commits_since(self.position, end)
        follows = commits is not None
        # the times of commits that change nothing do not count either
        commits = [each for each in commits or () if effect(each) is not Effect.NONE]
        states = self.states({end.snapshot_id, *(each.snapshot_id for each in commits)})
        self.versions.begin_run(self.columns(end.snapshot_id))
        if not follows:
            self.versions.compare(end.timestamp_ms, states[end.snapshot_id])
        for commit in commits:
            self.versions.commit(commit.timestamp_ms, states[commit.snapshot_id])
        self.position, self.is_built = end.snapshot_id, True

    def columns(self, snapshot_id: int) -> list[str]:
        return list(self.shop.frame(f"select * from {self.table} version as of {snapshot_id}").columns)

    def states(self, snapshot_ids: Iterable[int]) -> dict[int, dict[Key, Row]]:
        """The rows that the model's SQL returns for each snapshot, by their keys. One query reads all snapshots."""
        found: dict[int, dict[Key, Row]] = {each: {} for each in snapshot_ids}
        names = {each: self.columns(each) for each in found}
        queries = (
            f"select {each}L as at, to_json(struct(*), map('ignoreNullFields', 'false')) as row"
            f" from {self.table} version as of {each} {self.where}"
            for each in found
        )
        for at, text in self.shop.sql(" union all ".join(queries)):
            row = json.loads(text)
            assert list(row) == names[at]
            found[at][tuple(row[name] for name in self.keys)] = row
        return found

    def check(self) -> None:
        """Compare the table with the oracle. Raises WrongVersionsError."""
        built = self.shop.built(f"of_{self.name}")
        columns = self.shop.frame(f"select * from {built}").columns
        names = [each for each in columns if each not in ("t", "m") and not each.startswith("dbt_")]
        deleted = "dbt_is_deleted = 'True'" if self.versions.hard_deletes == "new_record" else "false"
        end = f"if(dbt_valid_to = {LONGEST_END}, null, unix_millis(dbt_valid_to))"
        found = self.shop.sql(
            f"select struct({', '.join(names)}), unix_millis(dbt_valid_from), {end}, unix_millis(dbt_updated_at),"
            f" {deleted}, dbt_scd_id from {built}"
        )
        assert len({each[5] for each in found}) == len(found), f"{self.name}: ids are not unique"
        rows = Counter((tuple(each[0]), *each[1:5]) for each in found)
        self.versions.columns = names
        self.checks += 1
        expected = self.versions.table()
        if rows != expected:
            raise WrongVersionsError(
                f"{self.name} ({self.versions.hard_deletes}, {self.versions.check_cols}, {self.keys}, {self.where!r}):"
                f"\n  too many {sorted((rows - expected).items(), key=str)}"
                f"\n  missing {sorted((expected - rows).items(), key=str)}"
            )


def before_runs(chosen: random.Random, rounds: int) -> list[str]:
    """The step before each run. The first run has none, and then all kinds occur equally often."""
    found = [""]
    while len(found) < rounds:
        found += chosen.sample(_BEFORE_RUN, len(_BEFORE_RUN))
    return found[:rounds]
