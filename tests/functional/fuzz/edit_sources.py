"""The sources of edited models: an append-only table, a mirror of a table, and a log of changes.

The histories of a batch share them. A seed and the number of the batch always create the same commits.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .edit_values import Value

SourceRow = tuple[int | None, int | None, int | None, int | None, int, str]
"""id, k, d, v, at, op. ``at`` increases with each version of a row, and is unique within a source."""
COLUMNS = ("id", "k", "d", "v", "at", "op")
STREAM, MIRROR, LOG = "stream", "mirror", "log"

_K, _D = (1, 2, 3, 10), (1, 2, 10)


@dataclass(frozen=True)
class Commit:
    """A commit: its statement, and the rows that it appends, or None if it changes or deletes rows."""

    sql: str
    added: Counter[SourceRow] | None


@dataclass
class SharedSource:
    """A source, and its rows after each of its commits."""

    kind: str
    name: str
    rng: random.Random
    commits: list[Commit] = field(default_factory=list)
    held: list[Counter[SourceRow]] = field(default_factory=lambda: [Counter()])
    _late: list[SourceRow] = field(default_factory=list)
    _at: int = 0

    @property
    def head(self) -> int:
        """The number of commits so far."""
        return len(self.commits)

    def create_sql(self) -> str:
        """The statement that creates the table, with one of Iceberg's formats and write modes."""
        mode = self.rng.choice(("copy-on-write", "merge-on-read"))
        modes = ", ".join(f"'write.{each}.mode'='{mode}'" for each in ("delete", "update", "merge"))
        return (
            f"create table {self.name} (id int, k int, d int, v int, at int, op string) using iceberg "
            f"tblproperties ('format-version'='{self.rng.choice((2, 3))}', {modes})"
        )

    def commit(self) -> str:
        """Make one more commit; returns its statement."""
        made = {STREAM: self._append, MIRROR: self._change, LOG: self._log}[self.kind]()
        self.commits.append(made)
        return made.sql

    def _next_at(self) -> int:
        self._at += 1
        return self._at

    def _row(self, id_: int | None, op: str = "I") -> SourceRow:
        rng = self.rng
        value = None if rng.random() < 0.1 else rng.randrange(1, 60)
        day = None if rng.random() < 0.05 else rng.choice(_D)
        return id_, rng.choice(_K), day, value, self._next_at(), op

    def _insert(self, rows: list[SourceRow]) -> Commit:
        self.held.append(self.held[-1] + Counter(rows))
        return Commit(f"insert into {self.name} values {', '.join(map(_values, rows))}", Counter(rows))

    def _append(self) -> Commit:
        """Mostly new ids, some existing ids, and NULL."""
        ids = self.rng.sample(range(1, 80), self.rng.randrange(1, 4))
        if self.rng.random() < 0.1:
            ids.append(ids[0])
        rows = [self._row(None if self.rng.random() < 0.03 else each) for each in ids]
        return self._insert(rows)

    def _log(self) -> Commit:
        """Versions and deletions of a few ids. Some arrive in a later commit than newer ones."""
        rows = [
            self._row(self.rng.randrange(1, 7), "D" if self.rng.random() < 0.2 else "I")
            for _ in range(self.rng.randrange(1, 4))
        ]
        if self._late and self.rng.random() < 0.6:
            rows.append(self._late.pop(self.rng.randrange(len(self._late))))
        if len(rows) > 1 and self.rng.random() < 0.5:
            self._late.append(rows.pop(0))
        return self._insert(rows)

    def _change(self) -> Commit:
        """Insert, update, delete or merge rows with unique ids."""
        rng, now = self.rng, self.held[-1]
        known = sorted(row[0] for row in now if row[0] is not None)
        free = [each for each in range(1, 25) if each not in known]
        changes: list[Callable[[], Commit]] = [lambda: self._insert([self._row(each) for each in rng.sample(free, 2)])]
        if len(known) > 2:
            changes += [lambda: self._update(rng.choice(known)), lambda: self._delete(rng.choice(known))]
            changes += [lambda: self._merge([rng.choice(known), rng.choice(free)])]
        return rng.choices(changes, weights=(5, 3, 2, 3)[: len(changes)])[0]()

    def _replace(self, sql: str, removed: list[int], rows: list[SourceRow]) -> Commit:
        kept = Counter({row: n for row, n in self.held[-1].items() if row[0] not in removed})
        self.held.append(kept + Counter(rows))
        return Commit(sql, None)

    def _update(self, id_: int) -> Commit:
        row = self._row(id_)
        assigned = ", ".join(f"{name} = {_sql(value)}" for name, value in zip(COLUMNS, row, strict=True))
        return self._replace(f"update {self.name} set {assigned} where id = {id_}", [id_], [row])

    def _delete(self, id_: int) -> Commit:
        return self._replace(f"delete from {self.name} where id = {id_}", [id_], [])

    def _merge(self, ids: list[int]) -> Commit:
        rows = [self._row(each) for each in ids]
        sql = (
            f"merge into {self.name} t using (select * from values {', '.join(map(_values, rows))} "
            f"as u({', '.join(COLUMNS)})) u on t.id = u.id "
            "when matched then update set * when not matched then insert *"
        )
        return self._replace(sql, ids, rows)


def plain(row: SourceRow) -> dict[str, Value]:
    """A row by the names of its columns."""
    return dict(zip(COLUMNS, row, strict=True))


def appended(commits: list[Commit]) -> Iterator[SourceRow]:
    """The rows of the commits that only add rows."""
    for each in commits:
        yield from (each.added or Counter()).elements()


def _values(row: SourceRow) -> str:
    return f"({', '.join(map(_sql, row))})"


def _sql(value: object) -> str:
    return "null" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
