"""The names that are visible in a block of a query, and the unambiguous ways to write its columns."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .expressions import Leaf
from .values import Column, Kind

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_WORDS = frozenset({"select", "order", "group", "from", "where"})


@dataclass(frozen=True)
class Visible:
    """A relation of a FROM clause, with its alias."""

    alias: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Merged:
    """A column of USING, and the number of relations that it comes from."""

    column: Column
    count: int


@dataclass
class Scope:
    """The relations of a FROM clause. ``star``: the columns of ``*``. ``merged``: the columns of USING.

    ``outer``: the scope of the query around a subquery.
    """

    visible: list[Visible] = field(default_factory=list)
    star: list[Column] = field(default_factory=list)
    merged: dict[str, Merged] = field(default_factory=dict)
    outer: Scope | None = None

    def names(self) -> set[str]:
        """All names that hide names of the surrounding query."""
        columns = {column.name.lower() for each in self.visible for column in each.columns}
        return columns | {each.alias.lower() for each in self.visible}

    def leaves(self, rng: random.Random) -> list[Leaf]:
        """The columns of this scope."""
        return _leaves(rng, self.visible, self.merged, set())

    def outer_leaves(self, rng: random.Random) -> list[Leaf]:
        """The columns of the surrounding scope that are not hidden here."""
        if self.outer is None:
            return []
        return _leaves(rng, self.outer.visible, self.outer.merged, self.names())


def _leaves(
    rng: random.Random, visible: Sequence[Visible], merged: Mapping[str, Merged], hidden: set[str]
) -> list[Leaf]:
    counts = Counter(column.name.lower() for each in visible for column in each.columns)
    hidden_or_alias = hidden | {each.alias.lower() for each in visible}
    found = [
        Leaf((quoted(rng, each.column.name),), each.column.kind)
        for name, each in merged.items()
        if counts[name] == each.count and name not in hidden_or_alias
    ]
    for each in visible:
        alias = each.alias.lower()
        own = Counter(column.name.lower() for column in each.columns)
        for column in each.columns:
            name, spellings = column.name.lower(), []
            if own[name] > 1 or column.kind is Kind.SPARE:
                continue
            # for a column of USING, Spark finds `info.id` only if no column is called info
            if alias not in hidden and not (name in merged and alias in counts):
                spellings.append(f"{quoted(rng, each.alias)}.{quoted(rng, column.name)}")
            if counts[name] == 1 and name not in hidden_or_alias:
                spellings += [quoted(rng, column.name)] * 2
            if spellings:
                found.append(Leaf(tuple(spellings), column.kind))
    return found


def quoted(rng: random.Random, name: str) -> str:
    """A name in any case, with back-quotes where it needs them, and sometimes elsewhere."""
    written = name if rng.random() < 0.7 else rng.choice((name.upper(), name.lower(), name.capitalize()))
    if set(name) <= PLAIN and name.lower() not in _WORDS and not name[0].isdigit() and rng.random() < 0.92:
        return written
    return f"`{written}`"


def name_of(text: str) -> str:
    """The name of a column that is written with or without an alias."""
    return text.rpartition(".")[2].strip("`")
