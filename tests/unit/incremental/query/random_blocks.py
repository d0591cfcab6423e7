"""Random joins of CTEs with GROUP BY, DISTINCT and PARTITION BY, over the small tables.

The order of a window may leave open which of several rows comes first.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

_TABLES = {"a": ("k", "x", "s"), "b": ("k", "y", "s", "num"), "c": ("y", "z", "s", "num")}
_TEXTS = ("s", "num")


@dataclass(frozen=True)
class _Block:
    """A relation. ``columns``: those with values of rows. ``values``: those with numbers that are computed.

    ``parts``: the columns of its last PARTITION BY.
    """

    columns: tuple[str, ...]
    values: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.columns, *self.values)


class _Writer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._ctes: list[str] = []

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def some(self, names: Sequence[str], most: int) -> list[str]:
        return self.rng.sample(names, min(len(names), self.rng.randint(1, most)))

    def query(self) -> str:
        """A query. Every second one returns the columns by which its first relation is partitioned."""
        is_kept = self.chance(0.5)
        first = self._partitioned() if is_kept else self._source()
        sources = [first, *(self._source() for _ in range(self.rng.choice((1, 1, 2) if is_kept else (0, 1, 1, 1, 2))))]
        sql, seen = f"{sources[0][0]} r0", [("r0", sources[0][1])]
        kinds = ("join", "join", "left join", "left join", "left semi join", "left anti join")
        for at, (name, block) in enumerate(sources[1:], 1):
            kind = self.rng.choice(kinds if is_kept else (*kinds, "right join", "full join"))
            sql += f" {kind} {name} r{at} on {self._on(seen, f'r{at}', block)}"
            if "semi" not in kind and "anti" not in kind:
                seen.append((f"r{at}", block))
        named = [f"{alias}.{name}" for alias, block in seen for name in block.all]
        plain = [f"{alias}.{name}" for alias, block in seen for name in block.columns]
        if self.chance(0.35):
            column = self.rng.choice(named)
            sql += f" where {self.rng.choice((f'{column} is not null', f'{column} is null', self._same(named)))}"
        before = f"with {', '.join(self._ctes)} " if self._ctes else ""
        parts = [f"r0.{name}" for name in first[1].parts] if is_kept else []
        if not parts and self.chance(0.3):
            keys, value = self.some(plain, 2), self.rng.choice(named)
            listed = ", ".join(f"{each} as c{at}" for at, each in enumerate(keys))
            return f"{before}select {listed}, count(*) as n, max({value}) as v from {sql} group by {', '.join(keys)}"
        chosen = (
            parts
            + self.some(named, 4 if not parts else 2)
            + (self.some(plain, 2) if self.chance(0.7) and not parts else [])
        )
        listed = ", ".join(f"{each} as c{at}" for at, each in enumerate(dict.fromkeys(chosen)))
        return f"{before}select {'distinct ' if self.chance(0.1) else ''}{listed} from {sql}"

    def _on(self, seen: Sequence[tuple[str, _Block]], alias: str, block: _Block) -> str:
        texts = self.chance(0.2)
        mine = [f"{other}.{n}" for other, each in seen for n in each.columns if (n in _TEXTS) == texts]
        theirs = [name for name in block.columns if (name in _TEXTS) == texts]
        if not mine or not theirs:
            return "true"
        sql = f"{self.rng.choice(mine)} = {alias}.{self.rng.choice(theirs)}"
        if not texts and self.chance(0.35):
            name = self.rng.choice(block.values or theirs)
            sql += self.rng.choice((f" and {alias}.{name} = 1", f" and {self.rng.choice(mine)} = {alias}.{name}"))
        return sql

    def _same(self, named: Sequence[str]) -> str:
        numbers = [each for each in named if each.split(".")[1] not in _TEXTS] or ["1"]
        return f"{self.rng.choice(numbers)} {self.rng.choice(('=', '<'))} {self.rng.choice((*numbers, '1', '2'))}"

    def _source(self) -> tuple[str, _Block]:
        table = self.rng.choice(list(_TABLES))
        name, block = f"db.{table}", _Block(_TABLES[table])
        for _ in range(self.rng.choice((0, 1, 1, 1, 2, 2, 3))):
            sql, block = self.rng.choice((self._groups, self._windows, self._windows, self._latest, self._some))(
                name, block
            )
            name = self._cte(sql)
        return name, block

    def _partitioned(self) -> tuple[str, _Block]:
        table = self.rng.choice(list(_TABLES))
        name, block = f"db.{table}", _Block(_TABLES[table])
        for write in self.rng.choice(((self._windows,), (self._latest,), (self._groups, self._latest),
                                      (self._windows, self._some), (self._latest, self._some))):  # fmt: skip
            sql, block = write(name, block)
            name = self._cte(sql)
        return name, block

    def _cte(self, sql: str) -> str:
        name = f"q{len(self._ctes)}"
        self._ctes.append(f"{name} as ({sql})")
        return name

    def _groups(self, source: str, block: _Block) -> tuple[str, _Block]:
        keys = self.some(block.columns, 2)
        if self.chance(0.3):
            return f"select distinct {', '.join(keys)} from {source}", _Block(tuple(keys))
        value = self.rng.choice(block.all)
        call = self.rng.choice((f"count({value})", "count(*)", f"max({value})" if value not in _TEXTS else "count(*)"))
        name = f"n{len(self._ctes)}"
        having = " having count(*) > 1" if self.chance(0.2) else ""
        sql = f"select {', '.join(keys)}, {call} as {name} from {source} group by {', '.join(keys)}{having}"
        return sql, _Block(tuple(keys), (name,))

    def _windows(self, source: str, block: _Block) -> tuple[str, _Block]:
        parts, window = self._window(block)
        name = f"n{len(self._ctes)}"
        numbers = [each for each in block.all if each not in _TEXTS] or ["1"]
        call = self.rng.choice(("row_number()", "row_number()", f"lead({self.rng.choice(numbers)})",
                                f"lag({self.rng.choice(numbers)})", "rank()", "count(*)"))  # fmt: skip
        columns = block.columns if self.chance(0.7) else tuple(dict.fromkeys(self.some(block.columns, 3)))
        columns = tuple(dict.fromkeys((*columns, *parts)))
        listed = ", ".join((*columns, *block.values))
        sql = f"select {listed}, {call} over ({window}) as {name} from {source}"
        return sql, _Block(columns, (*block.values, name), parts)

    def _latest(self, source: str, block: _Block) -> tuple[str, _Block]:
        """One of the rows of each partition."""
        listed = ", ".join(block.all)
        parts, window = self._window(block)
        ranked = f"select {listed}, row_number() over ({window}) as n from {source}"
        return f"select {listed} from ({ranked}) where n = 1", replace(block, parts=parts)

    def _some(self, source: str, block: _Block) -> tuple[str, _Block]:
        """The rows with a condition."""
        name = self.rng.choice(block.all)
        condition = f"{name} <> '1'" if name in _TEXTS else f"{name} {self.rng.choice(('>', '<', '='))} 2"
        return f"select {', '.join(block.all)} from {source} where {condition}", block

    def _window(self, block: _Block) -> tuple[tuple[str, ...], str]:
        parts, order = self.some(block.columns, 1 if self.chance(0.7) else 2), self.some(block.all, 2)
        if self.chance(0.5):
            order = [*order, *(each for each in block.all if each not in order)]
        return tuple(parts), f"partition by {', '.join(parts)} order by {', '.join(order)}"


def random_blocks(seed: int) -> str:
    """A query of CTEs."""
    return _Writer(seed).query()
