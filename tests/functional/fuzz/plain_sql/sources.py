"""Random sources and their steps, as statements alone. Spark determines the contents of the tables.

``before`` in braces stands for the snapshot before the step, ``first`` for the table's first snapshot.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .values import LITERALS, TYPES, Column, Kind

_CANDIDATES: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("v", (Kind.INT, Kind.INT, Kind.DEC, Kind.DBL)),
    ("amount", (Kind.DEC,)),
    ("ratio", (Kind.DBL,)),
    ("name", (Kind.STR,)),
    ("Status", (Kind.STR,)),
    ("code", (Kind.NUMSTR,)),
    ("day", (Kind.DATE,)),
    ("due", (Kind.DATESTR,)),
    ("at", (Kind.TS,)),
    ("flag", (Kind.BOOL,)),
    ("tags", (Kind.INTS,)),
    ("info", (Kind.INFO,)),
    ("attrs", (Kind.ATTRS,)),
    ("items", (Kind.ITEMS,)),
    ("order id", (Kind.INT,)),
    ("select", (Kind.STR, Kind.INT)),
    ("naïve", (Kind.INT,)),
    ("a", (Kind.INT, Kind.STR)),
    ("date", (Kind.DATE,)),
    ("user", (Kind.STR,)),
    ("first", (Kind.INT,)),
    ("count", (Kind.INT,)),
    ("year", (Kind.INT,)),
    ("now", (Kind.TS,)),
    ("current_date", (Kind.DATE,)),
    ("X", (Kind.INT,)),
)

WEIGHTS = {
    "append": 10, "append_again": 2, "update": 9, "update_key": 4, "update_same": 1, "delete": 6, "delete_again": 2,
    "merge": 5, "overwrite": 3, "truncate": 1, "compact": 2, "compact_some": 1, "rewrite_manifests": 1,
    "add_column": 1, "widen": 1, "rename": 1, "reorder": 1, "add_field": 1, "upgrade": 1, "modes": 1,
    "swap": 2, "add_again": 2,
    "expire": 1, "rollback": 1, "replace": 1,
}  # fmt: skip
REUSED = ("swap", "add_again")
"""Steps after which names refer to other columns. Until the next commit, readers of a snapshot see the former ones."""
SCHEMA = ("add_column", "widen", "rename", "reorder", "add_field", *REUSED)
"""Steps after which a model's columns may differ from its table's."""


@dataclass(frozen=True)
class Step:
    """A step of a source: statements in which ``{t}`` is its name."""

    kind: str
    statements: tuple[str, ...]


@dataclass
class PlainSource:
    """A source after its steps, as far as this determines the next steps."""

    rng: random.Random
    name: str
    columns: tuple[Column, ...]
    types: dict[str, str]
    is_partitioned: bool = False
    partition: str = ""
    version: int = 2
    spare: str = "u"
    more: list[str] = field(default_factory=list)
    last_id: int = 0

    def create(self) -> Step:
        rng = self.rng
        by = {"k": "k", "day": "day", "id": "bucket(3, id)", "name": "truncate(1, name)", "at": "days(at)"}
        layouts = [by[column.name] for column in self.columns if column.name in by]
        partition = rng.choice((None, None, *layouts))
        self.is_partitioned = partition is not None
        self.partition = next((name for name, layout in by.items() if layout == partition), "")
        self.version = rng.choice((2, 3))
        mode = rng.choice(("copy-on-write", "merge-on-read"))
        properties = [f"'format-version'='{self.version}'"]
        properties += [f"'write.{each}.mode'='{mode}'" for each in ("delete", "update", "merge")]
        if rng.random() < 0.2:
            properties.append("'write.metadata.metrics.default'='none'")
        columns = ", ".join(f"`{column.name}` {self.types[column.name]}" for column in self.columns)
        sql = f"create table {{t}} ({columns}, {self.spare} string) using iceberg"
        sql += f" partitioned by ({partition})" if partition else ""
        return Step("create", (f"{sql} tblproperties ({', '.join(properties)})",))

    # Values

    def _rows(self, count: int) -> str:
        return ", ".join(f"({', '.join(self._value(column) for column in self.columns)}, 'u')" for _ in range(count))

    def _value(self, column: Column) -> str:
        if column.name == "id":
            self.last_id += 1
            return str(self.last_id)
        if self.rng.random() < 0.15:
            return "null"
        if column.name == "k":
            return str(self.rng.randrange(5))
        literal = self.rng.choice(LITERALS[column.kind])
        return f"{literal[:-1]}, 'c', 1)" if column.name in self.more else literal

    @property
    def seen(self) -> tuple[Column, ...]:
        """The columns as queries see them at first."""
        return (*self.columns, Column("u", Kind.SPARE))

    @property
    def _listed(self) -> str:
        return ", ".join([*(f"`{column.name}`" for column in self.columns), self.spare])

    def _some(self) -> str:
        """A predicate that some rows satisfy."""
        rng = self.rng
        modulus = rng.choice((2, 3, 5, 7, 11))
        column = rng.choice(self.columns)
        return rng.choice(
            (
                f"id % {modulus} = {rng.randrange(modulus)}",
                f"id % {modulus} = {rng.randrange(modulus)}",
                f"k = {rng.randrange(5)}",
                f"k is null or id = {rng.randrange(1, self.last_id + 2)}",
                f"`{column.name}` is null",
                f"id > {max(0, self.last_id - 3)}",
            )
        )

    # Changes of rows

    def append(self) -> list[str]:
        return [f"insert into {{t}} ({self._listed}) values {self._rows(self.rng.choice((1, 2, 3, 8)))}"]

    def append_many(self) -> list[str]:
        return [f"insert into {{t}} ({self._listed}) values {self._rows(10)}"]

    def append_again(self) -> list[str]:
        """Insert exact duplicates."""
        return [f"insert into {{t}} select * from {{t}} where id % 7 = {self.rng.randrange(7)}"]

    def update(self) -> list[str]:
        others = [column for column in self.columns if column.name not in ("id", "k")]
        chosen = self.rng.sample(others, min(len(others), self.rng.choice((1, 1, 2)))) or [Column("k", Kind.INT)]
        assigned = ", ".join(f"`{column.name}` = {self._value(column)}" for column in chosen)
        return [f"update {{t}} set {assigned} where {self._some()}"]

    def update_key(self) -> list[str]:
        value = self.rng.choice(("null", "k + 1", "(k + 2) % 5", str(self.rng.randrange(5))))
        return [f"update {{t}} set k = {value} where {self._some()}"]

    def update_same(self) -> list[str]:
        return [f"update {{t}} set k = k, {self.spare} = 'u' where {self._some()}"]

    def delete(self) -> list[str]:
        return [f"delete from {{t}} where {self._some()}"]

    def delete_again(self) -> list[str]:
        """Delete rows and insert them again unchanged."""
        if self.more:
            return []
        where = self._some()
        return [
            f"delete from {{t}} where {where}",
            f"insert into {{t}} select * from {{t}} version as of {{before}} where {where}",
        ]

    def merge(self) -> list[str]:
        rng = self.rng
        ids = sorted({rng.randrange(1, self.last_id + 2) for _ in range(rng.choice((1, 2, 4)))})
        used = ", ".join(f"({each})" for each in ids)
        column = rng.choice([each for each in self.columns if each.name != "id"])
        value = self._value(column)
        then = rng.choice(("delete", *2 * (f"update set t.`{column.name}` = {value}",)))
        rows = self._rows(1)
        return [
            f"merge into {{t}} t using (select * from values {used} as c(id)) s on t.id = s.id "
            f"when matched then {then}",
            f"merge into {{t}} t using (select * from values {rows} as c({self._listed})) s on t.id = s.id "
            f"when not matched then insert ({self._listed}) values ({self._listed})",
        ]

    def overwrite(self) -> list[str]:
        """Overwrite the partitions of the new rows. A table without partitions loses all of its rows."""
        count = 2 if self.is_partitioned else 10
        return [f"insert overwrite {{t}} ({self._listed}) values {self._rows(count)}"]

    def truncate(self) -> list[str]:
        return ["truncate table {t}", *self.append()]

    # Changes of the table

    def compact(self) -> list[str]:
        options = "options => map('rewrite-all', 'true')"
        return [f"call {{catalog}}.system.rewrite_data_files(table => '{{t}}', {options})"]

    def compact_some(self) -> list[str]:
        options = "options => map('delete-file-threshold', '1')"
        return [f"call {{catalog}}.system.rewrite_data_files(table => '{{t}}', {options})"]

    def rewrite_manifests(self) -> list[str]:
        return ["call {catalog}.system.rewrite_manifests('{t}')"]

    def add_column(self) -> list[str]:
        name = f"w{len(self.more)}"
        self.more.append(name)
        return [f"alter table {{t}} add column {name} int", f"update {{t}} set {name} = id % 2 where {self._some()}"]

    def widen(self) -> list[str]:
        narrow = [name for name, type_ in self.types.items() if type_ == "int" and name not in ("k", "id")]
        if not narrow:
            return []
        self.types[narrow[0]] = "bigint"
        return [f"alter table {{t}} alter column `{narrow[0]}` type bigint"]

    def rename(self) -> list[str]:
        old, self.spare = self.spare, f"u{self.rng.randrange(1000)}"
        return [f"alter table {{t}} rename column {old} to {self.spare}"]

    def swap(self) -> list[str]:
        """Swap the names of two columns of the same type."""
        free = [column for column in self.columns if column.name not in (self.partition, *self.more)]
        pairs = [(one, other) for one in free for other in free if one.name < other.name and self._is_alike(one, other)]
        if not pairs:
            return []
        self.more.append("")
        one, other = (f"`{column.name}`" for column in self.rng.choice(pairs))
        renames = ((one, "ip_swapped"), (other, one), ("ip_swapped", other))
        return [f"alter table {{t}} rename column {old} to {new}" for old, new in renames]

    def _is_alike(self, one: Column, other: Column) -> bool:
        return one.kind is other.kind and self.types[one.name] == self.types[other.name]

    def add_again(self) -> list[str]:
        """Drop a column and add it again, so that it is NULL in all rows."""
        free = [column.name for column in self.columns if column.name not in ("id", "k", self.partition, *self.more)]
        if not free:
            return []
        self.more.append("")
        name = self.rng.choice(free)
        return [f"alter table {{t}} drop column `{name}`", f"alter table {{t}} add column `{name}` {self.types[name]}"]

    def reorder(self) -> list[str]:
        """Change the order of the columns, and commit, because a source is read with the columns of its last commit."""
        self.more.append("")
        first = self.rng.choice(self.columns).name
        return [f"alter table {{t}} alter column `{first}` first", f"update {{t}} set id = id where {self._some()}"]

    def add_field(self) -> list[str]:
        structs = [column.name for column in self.columns if column.kind is Kind.INFO]
        if not structs or structs[0] in self.more:
            return []
        self.more.append(structs[0])
        return [f"alter table {{t}} add column {structs[0]}.c int"]

    def upgrade(self) -> list[str]:
        self.version = 3
        return ["alter table {t} set tblproperties ('format-version'='3')"]

    def modes(self) -> list[str]:
        mode = self.rng.choice(("copy-on-write", "merge-on-read"))
        modes = ", ".join(f"'write.{each}.mode'='{mode}'" for each in ("delete", "update", "merge"))
        return [f"alter table {{t}} set tblproperties ({modes})"]

    def expire(self) -> list[str]:
        when = "older_than => timestamp'2100-01-01'"
        return [f"call {{catalog}}.system.expire_snapshots(table => '{{t}}', {when}, retain_last => 1)"]

    def rollback(self) -> list[str]:
        return [*self.delete(), "call {catalog}.system.rollback_to_snapshot('{t}', {before})"]

    def replace(self) -> list[str]:
        return ["create or replace table {t} using iceberg as select * from {t} where id % 3 > 0"]

    def step(self, kind: str) -> Step | None:
        """A step of this kind. None if the table does not meet its preconditions."""
        make: Callable[[], list[str]] = getattr(self, kind)
        statements = make()
        return Step(kind, tuple(statements)) if statements else None


def source(rng: random.Random, name: str) -> PlainSource:
    """A source with random columns, including ``id`` and ``k``."""
    candidates = rng.sample(_CANDIDATES, rng.choice((2, 3, 4, 6)))
    columns = [Column("id", Kind.INT), Column("k", Kind.INT)]
    columns += [Column(each, rng.choice(kinds)) for each, kinds in candidates]
    if rng.random() < 0.3:
        rng.shuffle(columns)
    types = {column.name: rng.choice(TYPES[column.kind]) for column in columns}
    types |= {"id": "int", "k": rng.choice(("int", "int", "bigint"))}
    return PlainSource(rng, name, tuple(columns), types)
