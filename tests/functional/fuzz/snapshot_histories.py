"""Random histories of a source with dbt snapshots, and of the snapshots' tables."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

KEYS = 12
"""Rows with ids from 1 to this number are inserted, changed, deleted and inserted again."""

COLUMNS = "id int, part string, name string, amount decimal(10, 2), updated_at timestamp"
QUERIES = (
    "select * from {source}",
    "select * from {source} where amount > 3 or name is null",
    "select id, part, upper(name) as name, amount * 2 as amount, updated_at from {source} where part <> 'x'",
    "with kept as (select * from {source} o where o.id % 5 <> 0) select * from kept",
)
_COMPACT = "call lakehouse.system.rewrite_data_files(table => '{}', options => map('rewrite-all', 'true'))"
_EXPIRE = (
    "call lakehouse.system.expire_snapshots(table => '{}', retain_last => 1, older_than => timestamp '2100-01-01')"
)
_LAYOUTS = [
    {"format-version": version, **{f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")}}
    for version in ("2", "3")
    for mode in ("copy-on-write", "merge-on-read")
]


@dataclass(frozen=True)
class Taken:
    """A snapshot: its name, its query and its config."""

    name: str
    query: str
    config: dict[str, Any]

    def edited(self, choice: random.Random) -> Taken:
        """Change the query, or the treatment of deleted rows."""
        if choice.random() < 0.5:
            return replace(self, query=choice.choice(QUERIES))
        return replace(self, config={**self.config, "hard_deletes": choice.choice(["ignore", "invalidate"])})


@dataclass(frozen=True)
class Step:
    """Statements on the source, ``{source}``, or on the table, ``{target}``, of the snapshot ``of``."""

    kind: str
    statements: tuple[str, ...] = ()
    of: str | None = None


@dataclass(frozen=True)
class SnapshotHistory:
    """A history: the layout of the source, its snapshots, and the steps before each run."""

    number: int
    layout: dict[str, str]
    snapshots: tuple[Taken, ...]
    first: tuple[Step, ...]
    rounds: tuple[tuple[Step, ...], ...]


def snapshot_history(seed: int, number: int, rounds: int) -> SnapshotHistory:
    """The history with this number."""
    choice = random.Random(f"{seed} {number}")
    taken = tuple(_taken(choice, f"h{number}_s{place}") for place in range(2))
    steps = _Steps(choice, [each.name for each in taken], wild=number % 3 == 2)
    first = (steps.insert(6), steps.insert(4))
    return SnapshotHistory(
        number,
        choice.choice(_LAYOUTS),
        taken,
        first,
        tuple(tuple(steps.some()) for _ in range(rounds)),
    )


def _taken(choice: random.Random, name: str) -> Taken:
    config: dict[str, Any] = {"unique_key": choice.choice(["id", ["id", "part"], ["id"]])}
    if choice.random() < 0.5:
        config |= {"strategy": "timestamp", "updated_at": "updated_at"}
    else:
        config |= {"strategy": "check", "check_cols": choice.choice(["all", ["name", "amount"]])}
        if choice.random() < 0.3:
            config["updated_at"] = "updated_at"
    if choice.random() < 0.8:
        config["hard_deletes"] = choice.choice(["ignore", "invalidate", "new_record"])
    if choice.random() < 0.3:
        config["dbt_valid_to_current"] = "to_timestamp('9999-12-31')"
    if choice.random() < 0.3:
        config["snapshot_meta_column_names"] = {"dbt_valid_to": "until", "dbt_scd_id": "version_id"}
    return Taken(name, choice.choice(QUERIES), config)


class _Steps:
    """Creates steps. ``wild``: includes steps after which dbt itself may fail or mix up versions."""

    def __init__(self, choice: random.Random, targets: list[str], *, wild: bool) -> None:
        self._choice = choice
        self._targets = targets
        self._wild = wild
        self._has_aside = False

    def some(self) -> Iterator[Step]:
        kinds: dict[Callable[[], Step], float] = {
            self.insert: 3, self.update: 6, self.touch: 1, self.delete: 4, self.merge: 2, self.overwrite: 0.5,
            self.compact: 1, self.expire: 0.7, self.replace: 0.4, self.roll_back: 0.4, self.of_target: 1.5,
            self.edit: 0.6, self.add_column: 0.3, self.alter: 0.4,
        }  # fmt: skip
        if self._has_aside:
            kinds[self.bring_back] = 3
        if self._wild:
            kinds |= {self.repeat: 1.2, self.null_key: 1}
        count = self._choice.choices([0, 1, 2, 4], [1, 4, 3, 2])[0]
        for kind in self._choice.choices(list(kinds), list(kinds.values()), k=count):
            yield kind()

    def insert(self, count: int = 2) -> Step:
        """Insert new or deleted ids, but none that the source has."""
        rows = ", ".join(self._row(key) for key in self._keys(count))
        return Step(
            "insert",
            (
                f"insert into {{source}} (id, part, name, amount, updated_at) select * from values {rows}"
                " as t (id, part, name, amount, updated_at)"
                " where id not in (select id from {source} where id is not null)",
            ),
        )

    def update(self) -> Step:
        column = self._choice.choice(["name", "amount", "name = name, amount"])
        value = self._name() if column == "name" else self._amount()
        at = self._choice.choice([f", updated_at = {self._time()}"] * 3 + [""])
        return Step("update", (f"update {{source}} set {column} = {value}{at} where {self._some()}",))

    def touch(self) -> Step:
        """A commit that writes rows unchanged."""
        return Step("touch", (f"update {{source}} set name = name where {self._some()}",))

    def delete(self) -> Step:
        """Delete rows. Some are inserted again unchanged, at once or later; others as in ``insert``."""
        if self._choice.random() < 0.25:
            return Step(
                "move",
                (
                    f"create or replace table {{kept}} using iceberg as select * from {{source}} where {self._some()}",
                    "delete from {source} where id in (select id from {kept})",
                    "insert into {source} by name select * from {kept}",
                ),
            )
        if self._choice.random() < 0.4:
            self._has_aside = True
            return Step(
                "put_aside",
                (
                    f"create or replace table {{aside}} using iceberg as select * from {{source}} where {self._some()}",
                    "delete from {source} where id in (select id from {aside})",
                ),
            )
        return Step("delete", (f"delete from {{source}} where {self._some()}",))

    def bring_back(self) -> Step:
        """Insert the rows that were last put aside, with their earlier values and times."""
        listed = "id, part, name, amount, updated_at"
        return Step(
            "bring_back",
            (
                f"insert into {{source}} ({listed}) select {listed} from {{aside}}"
                " where id not in (select id from {source} where id is not null)",
            ),
        )

    def merge(self) -> Step:
        key = self._keys(1)[0]
        values = self._row(key)
        return Step(
            "merge",
            (
                f"merge into {{source}} t using (select * from values {values} as v (id, part, name, amount,"
                " updated_at)) s on t.id = s.id when matched then update set name = s.name, updated_at = s.updated_at"
                " when not matched then insert (id, part, name, amount, updated_at)"
                " values (s.id, s.part, s.name, s.amount, s.updated_at)",
            ),
        )

    def overwrite(self) -> Step:
        return Step(
            "overwrite",
            (
                "create or replace table {kept} using iceberg as select * from {source}",
                f"insert overwrite {{source}} select * from {{kept}} where not ({self._some()})",
            ),
        )

    def compact(self) -> Step:
        return Step("compact", (_COMPACT.format("{plain}"),))

    def expire(self) -> Step:
        """Keep only the newest snapshot."""
        return Step("expire", (_EXPIRE.format("{plain}"),))

    def replace(self) -> Step:
        return Step(
            "replace",
            (
                "create or replace table {kept} using iceberg as select * from {source}",
                "create or replace table {source} using iceberg tblproperties ({properties}) as select * from {kept}",
                self.update().statements[0],
            ),
        )

    def roll_back(self) -> Step:
        return Step("roll_back", ("roll back",))

    def add_column(self) -> Step:
        name = f"c{self._choice.randrange(3)}"
        return Step(
            "add_column",
            (f"alter table {{source}} add columns ({name} int)", f"update {{source}} set {name} = 1 where id < 4"),
        )

    def alter(self) -> Step:
        """Replace a column with an empty one of the same name, without a commit."""
        return Step(
            "alter", ("alter table {source} drop column name", "alter table {source} add columns (name string)")
        )

    def of_target(self) -> Step:
        """Another writer of a snapshot's table, or its maintenance."""
        kind, statement = self._choice.choice(
            [
                ("target_delete", f"delete from {{target}} where id = {self._keys(1)[0]}"),
                ("target_update", f"update {{target}} set name = 'w' where {self._some()}"),
                ("target_compact", _COMPACT.format("{plain_target}")),
                ("target_expire", _EXPIRE.format("{plain_target}")),
                (
                    "target_alter",
                    "alter table {target} drop column name; alter table {target} add columns (name string)",
                ),
            ]
        )
        return Step(kind, tuple(statement.split("; ")), self._choice.choice(self._targets))

    def edit(self) -> Step:
        return Step("edit", (), self._choice.choice(self._targets))

    def repeat(self) -> Step:
        """Insert a second row with an existing id."""
        return Step(
            "repeat",
            (f"insert into {{source}} (id, part, name, amount, updated_at) values {self._row(self._keys(1)[0])}",),
        )

    def null_key(self) -> Step:
        row = self._row(0).replace("(0,", "(null,", 1)
        return Step(
            "null_key",
            (
                f"insert into {{source}} (id, part, name, amount, updated_at) values {row}"
                if self._choice.random() < 0.6
                else "delete from {source} where id is null",
            ),
        )

    def _keys(self, count: int) -> list[int]:
        return self._choice.sample(range(1, KEYS + 1), count)

    def _some(self) -> str:
        return f"id in ({', '.join(map(str, self._keys(self._choice.randint(1, 3))))})"

    def _row(self, key: int) -> str:
        part = "'x'" if key % 4 == 0 else "'y'"
        return f"({key}, {part}, {self._name()}, {self._amount()}, {self._time()})"

    def _name(self) -> str:
        return self._choice.choice(["null", "'a'", "'b'", "'c'", "''"])

    def _amount(self) -> str:
        value = self._choice.choice([None, 1, 2, 4, 8])
        return f"cast({'null' if value is None else value} as decimal(10, 2))"

    def _time(self) -> str:
        """One of few times, so that a row can have a time again that it had before."""
        if self._choice.random() < 0.05:
            return "cast(null as timestamp)"
        return f"timestamp '2020-01-0{self._choice.randint(1, 6)}'"
