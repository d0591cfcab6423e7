"""Random queries that join the small tables, and subqueries with groups, windows and unions, in various ways."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from .kept_tables import SCHEMA

_KINDS = (
    "join", "join", "left join", "left join", "left join", "right join", "full join", "full join", "left semi join",
    "left anti join",
)  # fmt: skip
_BLOCKS = (
    "(select k, count(*) as y, max(s) as s from db.a group by k)",
    "(select k, y, s, rank() over (partition by k order by y) as z from db.b)",
    "(select k, max(y) over (partition by s) as y, s from db.b)",
    "(select distinct y, z, s from db.c)",
    "(select k, x as y, s from db.a union all select y, z, s from db.c)",
    "(select b.k, c.z as y, c.s from db.b left join db.c on b.y <=> c.y)",
    "(select b.k, c.z as y, b.s from db.b join db.c on b.y = c.y where c.z > 0)",
    "(select b.k, c.y, c.num from db.b join db.c on b.k = c.num)",
    "(select k, count(*) as y, max(s) as s, sequence(1, count(*)) as l from db.a group by k)",
    "(select distinct k, (select max(y) from db.b where b.k = a.k) as y, s from db.a)",
    "(select 1 as k, 2 as y, 'p' as s union all select 2, 3, 'q')",
    "(select k, y, s from (values (1, 2, 'p'), (2, 3, 'q'), (3, null, '1')) v(k, y, s))",
    "(select k, count(*) as y, s from db.a group by rollup (k, s) having count(*) > 0)",
    "(select k, max(x) + grouping(k) as y, s from db.a group by cube (k, s) having count(*) > 1)",
    "(select k, count(*) as y, max(s) as s from db.b group by grouping sets ((k, y), k))",
    "(select k, y, s from db.b except select k, x, s from db.a)",
    "(select k, x as y, s from db.a intersect all select k, y, s from db.b)",
    "(select y as k, z as y, s from db.c minus all select k, y, s from db.b where y > 1)",
    "(select k, x as y, s from db.a order by x limit 4)",
    "(select k, y, s from db.b union select y, z, s from db.c limit 5 offset 1)",
    "(select k, count(*) over () as y, s from db.a)",
    "(select k, rank() over (partition by k order by y) as y, max(s) over (partition by y) as s from db.b)",
    "(select k, rank() over (partition by k order by count(*)) as y, max(s) over (partition by s) as s from db.a "
    "group by k, s)",
    "(select coalesce(a.k, b.k) as k, b.y, a.s from db.a full join db.b on a.k = b.k and b.s <> 'q')",
    "(select k, y, s from db.a natural full join db.b)",
    "(select a.k, b.y, a.s from db.a left join db.b on a.k = b.k and b.y in (select y from db.c) and a.x not in "
    "(select z from db.c))",
    "(select k, x as y, s from db.a where x >= unix_date(current_date))",
    "(select k, if(y < unix_date(current_date()), 1, 0) as y, s from db.b)",
    "(select k, count(*) as y, max(s) as s from db.a group by k, x > unix_date(current_date))",
    "(select k, v as y, n as s from (select k, x, x as z from db.a) unpivot (v for n in (x, z)))",
    "(select k, z0 as y, s from (select k, s, num from db.b) pivot (count(*) for num in ('0' as z0, '1' as z1)))",
    "(with recursive r as (select k, x as y, s from db.a union all select k, y + 1, s from r where y < 2) "
    "select k, y, s from r)",
    "(select a.k, l.y, l.s from db.a join lateral (select max(b.y) as y, max(s) as s from db.b where b.k = a.x) l)",
    "(select a.k, (select max(y) from db.b where b.k = a.x) as y, a.s from db.a intersect select k, y, s from db.b)",
)
_COLUMNS = (
    ("k", "y", "s"), ("k", "y", "s", "z"), ("k", "y", "s"), ("y", "z", "s"), *[("k", "y", "s")] * 3, ("k", "y", "num"),
    *[("k", "y", "s")] * 26,
)  # fmt: skip
_LATERALS = (
    "(select b.y as k from db.b where b.k = {0})",
    "(select count(*) as k from db.b where b.k <=> {0} and b.y > 1)",
    "(select z as k from db.c where c.y = {0} union all select k from db.a where a.x = {0})",
    "(select max(k) as k from db.a where exists (select 1 from db.c where c.y = a.x) and a.k < {0})",
    "(select distinct q.k from (select k, rank() over (partition by y order by s) as r from db.b where y = {0}) q "
    "where q.r = 1)",
)
"""Rows for each row of the relations before them."""

_WITH_LIST = 8
_INTS, _TEXT, _NUMBERS = ("k", "x", "y", "z"), ("s",), ("num",)
_COMPARED = ((_INTS, _INTS), (_TEXT, _TEXT), (_NUMBERS, _INTS), (_INTS, _NUMBERS), (_NUMBERS, _NUMBERS))
"""The names of columns that are compared with each other. ``num`` is text, which is converted to be compared."""


@dataclass(frozen=True)
class _Relation:
    alias: str
    sql: str
    columns: tuple[str, ...]

    @property
    def has_list(self) -> bool:
        """Whether it also has a column ``l`` with a list of numbers."""
        return self.sql == _BLOCKS[_WITH_LIST]


def random_join(seed: int) -> str:
    """A query that joins two to four relations, and selects columns or groups."""
    rng = random.Random(seed)
    seen = [_relation(rng, 0)]
    sql = f"{seen[0].sql} r0"
    for number in range(1, rng.choice((2, 3, 3, 4))):
        other, kind = _relation(rng, number), rng.choice(_KINDS)
        sql += f" {kind} {other.sql} {other.alias} on {_on(rng, seen, other, simple=kind != 'join')}"
        if "semi" not in kind and "anti" not in kind:
            seen.append(other)
    if rng.random() < 0.15:
        rows, kind = rng.choice(_LATERALS).format(_column(rng, seen, _INTS)), rng.choice(("join", "left join"))
        seen.append(_Relation("w", rows, ("k",)))
        sql += f" {kind} lateral {rows} w on {rng.choice(('true', _filter(rng, seen, simple=True)))}"
    if lists := [each.alias for each in seen if each.has_list]:
        sql += f" lateral view explode({lists[0]}.l) v as k"
        seen.append(_Relation("v", "", ("k",)))
    where = " and ".join(_condition(rng, seen) for _ in range(rng.choice((0, 0, 1, 2))))
    sql += f" where {where}" if where else ""
    listed = [_column(rng, [each]) for each in rng.sample(seen, rng.randint(1, len(seen)))]
    names = ", ".join(f"{each} as c{number}" for number, each in enumerate(listed))
    if rng.random() < 0.6:
        names += f", {_condition(rng, seen)} as is_it" if rng.random() < 0.2 else ""
        return f"select {names} from {sql}"
    value, groups = _column(rng, seen, _INTS), list(dict.fromkeys(listed))
    having = f" having {_having(rng, groups)}" if rng.random() < 0.3 else ""
    return f"select {names}, count(*) as n, sum({value}) as v from {sql} group by {', '.join(groups)}{having}"


def _relation(rng: random.Random, number: int) -> _Relation:
    if rng.random() < 0.75:
        name = rng.choice("abc")
        return _Relation(f"r{number}", f"db.{name}", tuple(SCHEMA[name]))
    at = rng.randrange(len(_BLOCKS))
    return _Relation(f"r{number}", _BLOCKS[at], _COLUMNS[at])


def _on(rng: random.Random, seen: Sequence[_Relation], other: _Relation, *, simple: bool) -> str:
    parts = [_equality(rng, seen, other) for _ in range(rng.choice((1, 1, 1, 2)))]
    if rng.random() < 0.25:
        parts.append(_filter(rng, rng.choice(([other], [*seen], [*seen, other])), simple=simple))
    if rng.random() < 0.1:
        parts = [f"{_column(rng, seen, _INTS)} < {_column(rng, [other], _INTS)}"]
    return " and ".join(parts)


def _equality(rng: random.Random, seen: Sequence[_Relation], other: _Relation) -> str:
    possible = [each for each in _COMPARED if _named(seen, each[0]) and _named([other], each[1])]
    mine, others = rng.choices(possible, [5 if each == (_INTS, _INTS) else 1 for each in possible])[0]
    return f"{_column(rng, seen, mine)} {rng.choice(('=', '=', '=', '<=>'))} {_column(rng, [other], others)}"


def _filter(rng: random.Random, seen: Sequence[_Relation], *, simple: bool = False) -> str:
    column = _column(rng, seen, _INTS)
    forms = [f"{column} > 1", f"{column} is null", f"({column} < 3 or {column} is null)", f"coalesce({column}, 2) = 2"]
    if not simple:
        forms += [
            f"{column} = {_column(rng, seen, _INTS)}",
            f"{column} = (select max(y) from db.b)",
            f"({column} = 1 or exists (select 1 from db.b where b.y = 3))",
            f"{column} in (select z from db.c)",
            f"{column} not in (select k from db.b where y = {_column(rng, seen, _INTS)})",
            f"({column}, {_column(rng, seen, _INTS)}) in (select k, y from db.b)",
            f"{column} < (select count(*) from db.b where b.k = {_column(rng, seen, _INTS)})",
            f"{column} in (1, (select max(y) from db.b where b.k = {column}))",
            f"(select max(y) from db.b where b.k = {column}) in (1, 2)",
            f"exists (select 1 from db.b right join db.c on b.y = c.y where c.z = {column} and b.k is not null)",
            f"exists (select 1 from db.b where b.k = {column})",
            f"{column} in (select k from db.b where y > 1 union all select z from db.c)",
            f"{column} not in (select k from db.a except select y from db.b)",
            f"{column} < (select y from db.b where b.k = {_column(rng, seen, _INTS)} order by y, num limit 1)",
            f"{column} >= unix_date(current_date)",
            f"exists (select 1 from db.c where c.z = {column} and c.y < unix_date(current_date))",
        ]
    return rng.choice(forms)


def _condition(rng: random.Random, seen: Sequence[_Relation], depth: int = 2) -> str:
    """A condition in which a subquery may be below NOT, OR or CASE, where it must not be true."""
    if not depth or rng.random() < 0.4:
        return _filter(rng, seen)
    first, second = (_condition(rng, seen, depth - 1) for _ in range(2))
    return rng.choice(
        (
            f"not ({first} and {second})",
            f"not ({first} or {second})",
            f"({first} or {second})",
            f"({first} and {second})",
            f"case when {first} then {second} else {first} is null end",
            f"coalesce({first} and {second}, {second})",
            f"not {first}",
            f"({first}) <=> ({second})",
        )
    )


def _having(rng: random.Random, groups: Sequence[str]) -> str:
    """A condition on the groups, with a subquery."""
    subquery = rng.choice(
        (
            f"exists (select 1 from db.b where cast(b.k as string) <=> cast({rng.choice(groups)} as string))",
            "count(*) in (select y from db.b)",
            "count(*) > (select min(z) from db.c)",
            f"cast({rng.choice(groups)} as string) in (select cast(k as string) from db.b)",
        )
    )
    return rng.choice((subquery, f"not ({subquery} and count(*) > 1)", f"count(*) > 2 or not {subquery}"))


def _column(rng: random.Random, seen: Sequence[_Relation], names: Sequence[str] = (*_INTS, *_TEXT, *_NUMBERS)) -> str:
    return rng.choice(_named(seen, names))


def _named(seen: Sequence[_Relation], names: Sequence[str]) -> list[str]:
    """The columns of relations that have one of these names."""
    return [f"{each.alias}.{name}" for each in seen for name in each.columns if name in names]
