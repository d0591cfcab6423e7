"""Random FROM clauses: joins of all kinds, derived tables, and lateral views of a row's own arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .expressions import Expressions, Leaf
from .scopes import Merged, Scope, Visible, name_of, quoted
from .values import ORDERED, SCALARS, Column, Kind

if TYPE_CHECKING:
    from .queries import Writer

_ALIASES = ("t", "a", "b", "o", "C", "k", "info", "v", "s", "u")
_JOINS = {
    "join": 5, "inner join": 2, "left join": 7, "left outer join": 2, "right join": 3, "full join": 3,
    "left semi join": 2, "left anti join": 2, "cross join": 1, ",": 3, "semi join": 1, "anti join": 1,
}  # fmt: skip


@dataclass
class From:
    """A FROM clause that is being written. Spark treats a comma as a join, so an ON sees all relations before it."""

    sql: str
    scope: Scope
    rows: int


def from_clause(writer: Writer, depth: int, outer: Scope | None, count: int | None = None) -> From:
    """A FROM clause without its keyword."""
    rng = writer.rng
    first, sql, rows = _relation(writer, depth, [])
    found = From(sql, Scope([first], [*first.columns], {}, outer), rows)
    if count is None and rng.random() < 0.12:
        for _ in range(rng.choice((2, 2, 3))):
            _join_dimension(writer, depth, found)
        return found
    for _ in range((count or rng.choices((1, 2, 3), (45, 40, 15))[0]) - 1):
        _join(writer, depth, found)
    _lateral_view(writer, found)
    return found


def _relation(writer: Writer, depth: int, taken: list[Visible], most: int = 3_000) -> tuple[Visible, str, int]:
    """A relation with a unique alias."""
    rng = writer.rng
    sql, name, columns, rows = writer.relation(depth - 1, most)
    used = {each.alias.lower() for each in taken}
    if name and name.lower() not in used and rng.random() < 0.25:
        return Visible(name, columns), sql, rows
    alias = rng.choice([each for each in _ALIASES if each.lower() not in used])
    written = rng.choice((alias, f"as {alias}", f"`{alias}`"))
    if rng.random() < 0.08:
        columns = tuple(Column(f"{rng.choice('cv')}{at}", column.kind) for at, column in enumerate(columns))
        written = f"as {alias} ({', '.join(column.name for column in columns)})"
    return Visible(alias, columns), f"{sql} {written}", rows


def _join(writer: Writer, depth: int, found: From) -> None:
    rng = writer.rng
    if rng.random() < 0.06 and _join_lateral(writer, found):
        return
    (kind,) = rng.choices(list(_JOINS), list(_JOINS.values()))
    most = max(1, 3_000 // max(found.rows, 1)) if kind in ("cross join", ",") else 3_000
    other, sql, rows = _relation(writer, depth, found.scope.visible, most)
    if kind in ("cross join", ",") and rows > most:
        kind = "left semi join"
    if kind == ",":
        found.sql += f", {sql}"
        found.rows *= rows
        _see(found, other)
        return
    is_half = "semi" in kind or "anti" in kind
    common = _common(found, other)
    if common and not is_half and kind != "cross join" and rng.random() < 0.3:
        _join_using(writer, found, other, f"{kind} {sql}", rng.sample(common, min(len(common), rng.choice((1, 1, 2)))))
    elif kind == "cross join":
        found.sql += f" cross join {sql}"
        _see(found, other)
    elif not is_half and rng.random() < 0.04:
        _join_nested(writer, found, other, kind, sql)
    else:
        found.sql += f" {kind} {sql} on {condition(writer, found.scope.visible, [other], found.scope)}"
        if not is_half:
            _see(found, other)
    found.rows = _joined_rows(kind, found.rows, rows)


def _join_dimension(writer: Writer, depth: int, found: From) -> None:
    """Join another relation to the first one, or sometimes to the last one, on equal columns."""
    rng = writer.rng
    other, sql, rows = _relation(writer, depth, found.scope.visible, 300)
    kind = rng.choice(("left join", "left join", "left join", "join"))
    side = [found.scope.visible[rng.choice((0, 0, 0, -1))]]
    leaves = Scope([*side, other]).leaves(rng)
    pairs = _pairs(_side(leaves, side), _side(leaves, [other]))
    parts = [
        f"{rng.choice(a.spellings)} {rng.choice(('=', '=', '=', '<=>'))} {rng.choice(b.spellings)}"
        for a, b in rng.sample(pairs, min(len(pairs), 1))
    ]
    if not parts or rng.random() < 0.2:
        parts.append(f"({Expressions(rng, _side(leaves, [other]) or leaves).condition(1)})")
    found.sql += f" {kind} {sql} on {' and '.join(parts)}"
    _see(found, other)
    found.rows = _joined_rows(kind, found.rows, rows)


def _join_lateral(writer: Writer, found: From) -> bool:
    """Join rows or a total of another relation for each row. Returns whether columns of both can be compared."""
    rng = writer.rng
    other, sql, rows = _relation(writer, 0, [], 300)
    scope = Scope([other], outer=found.scope)
    mine = [leaf for leaf in scope.leaves(rng) if leaf.kind in SCALARS]
    pairs = _pairs(scope.outer_leaves(rng), mine)
    alias = next((each for each in ("l1", "l2", "l3") if each not in found.scope.names()), None)
    if not pairs or alias is None:
        return False
    around, own = rng.choice(pairs)
    listed = rng.sample(mine, min(len(mine), rng.choice((1, 2))))
    aggregate = rng.choice(("{}", "{}", "max({})"))
    outputs = ", ".join(f"{aggregate.format(leaf.spellings[0])} as {alias}_{at}" for at, leaf in enumerate(listed))
    inner = f"select {outputs} from {sql} where {own.spellings[0]} = {around.spellings[0]}"
    kind = rng.choice(("join lateral", "left join lateral", ", lateral"))
    on = f" on {alias}.{alias}_0 is not null" if "join" in kind and rng.random() < 0.3 else ""
    found.sql += f"{'' if kind.startswith(',') else ' '}{kind} ({inner}) {alias}{on}"
    _see(found, Visible(alias, tuple(Column(f"{alias}_{at}", leaf.kind) for at, leaf in enumerate(listed))))
    found.rows = _joined_rows("join", found.rows, rows)
    return True


def _joined_rows(kind: str, left: int, right: int) -> int:
    if "semi" in kind or "anti" in kind:
        return left
    if kind == "cross join":
        return left * right
    return max(left * right // 4, left, right)


def _see(found: From, other: Visible) -> None:
    found.scope.visible.append(other)
    found.scope.star += other.columns


def _common(found: From, other: Visible) -> list[Column]:
    """The columns with which a relation can be joined with USING."""
    ours = [column.name.lower() for each in found.scope.visible for column in each.columns]
    kinds = {column.name.lower(): column.kind for each in found.scope.visible for column in each.columns}
    theirs = [column.name.lower() for column in other.columns]
    merged = found.scope.merged
    return [
        column
        for column in other.columns
        if kinds.get(column.name.lower()) is column.kind
        and ours.count(column.name.lower())
        == (merged[column.name.lower()].count if column.name.lower() in merged else 1)
        and theirs.count(column.name.lower()) == 1
        and column.kind in ORDERED
        and column.kind is not Kind.SPARE
    ]


def _join_using(writer: Writer, found: From, other: Visible, sql: str, columns: list[Column]) -> None:
    listed = ", ".join(quoted(writer.rng, column.name) for column in columns)
    found.sql += f" {sql} using ({listed})"
    names = {column.name.lower() for column in columns}
    star, scope = found.scope.star, found.scope
    scope.star = [
        *columns,
        *(column for column in star if column.name.lower() not in names),
        *(column for column in other.columns if column.name.lower() not in names),
    ]
    for column in columns:
        name = column.name.lower()
        scope.merged[name] = Merged(column, scope.merged[name].count + 1 if name in scope.merged else 2)
    scope.visible.append(other)


def _join_nested(writer: Writer, found: From, other: Visible, kind: str, sql: str) -> None:
    """A join in parentheses. The ON of the outer join sees all of it."""
    third, third_sql, _ = _relation(writer, 0, [*found.scope.visible, other], 100)
    inner = writer.rng.choice(("join", "left join"))
    inside = f"({sql} {inner} {third_sql} on {condition(writer, [other], [third])})"
    found.sql += f" {kind} {inside} on {condition(writer, found.scope.visible, [other, third], found.scope)}"
    _see(found, other)
    _see(found, third)


def condition(writer: Writer, left: list[Visible], right: list[Visible], scope: Scope | None = None) -> str:
    """An ON, mostly an equality, with further conditions of one or both sides. ``scope``: that of the left side."""
    rng = writer.rng
    both = Scope([*left, *right], merged=scope.merged if scope else {}).leaves(rng)
    pairs = _pairs(_side(both, left), _side(both, right))
    expressions = Expressions(rng, both)
    if not pairs:
        return expressions.condition(1)
    same = [each for each in pairs if name_of(each[0].spellings[0]).lower() == name_of(each[1].spellings[0]).lower()]
    if same and rng.random() < 0.4:  # columns with one name have common values
        a, b = rng.choice(same)
        return f"{rng.choice(a.spellings)} = {rng.choice(b.spellings)}"
    parts = []
    likely = [each for each in pairs if each[0].kind is Kind.INT] or pairs
    pairs = likely if rng.random() < 0.5 else pairs
    for a, b in rng.sample(pairs, min(len(pairs), rng.choice((1, 1, 1, 1, 2)))):
        operator = rng.choices(("=", "<=>", "<", "=="), (8, 1, 1, 1))[0]
        parts.append(f"{rng.choice(a.spellings)} {operator} {rng.choice(b.spellings)}")
    if rng.random() < 0.15:
        parts = [f"{expressions.of(Kind.INT, 1)} = {expressions.of(Kind.INT, 1)}"]
    if rng.random() < 0.3:
        side = rng.choice((left, right, [*left, *right]))
        parts.append(f"({Expressions(rng, _side(both, side) or both).condition(1)})")
    rng.shuffle(parts)
    return f" {rng.choice(('and', 'and', 'and', 'or'))} ".join(parts)


def _side(leaves: list[Leaf], side: list[Visible]) -> list[Leaf]:
    """The leaves of some relations, identified by their first spelling, which has the alias."""
    aliases = {each.alias.lower() for each in side}
    return [leaf for leaf in leaves if leaf.spellings[0].partition(".")[0].strip("`").lower() in aliases]


_MATCHING = {(Kind.INT, Kind.NUMSTR), (Kind.NUMSTR, Kind.INT), (Kind.DATE, Kind.DATESTR), (Kind.INT, Kind.DEC)}
_JOINABLE = (Kind.INT, Kind.INT, Kind.STR, Kind.NUMSTR, Kind.DATE, Kind.DBL, Kind.DEC, Kind.INFO, Kind.TS)


def _pairs(left: list[Leaf], right: list[Leaf]) -> list[tuple[Leaf, Leaf]]:
    return [
        (a, b)
        for a in left
        for b in right
        if (a.kind is b.kind and a.kind in _JOINABLE) or (a.kind, b.kind) in _MATCHING
    ]


def _lateral_view(writer: Writer, found: From) -> None:
    """Add the elements of an array or a map of the row itself as rows."""
    rng = writer.rng
    leaves = [leaf for leaf in found.scope.leaves(rng) if leaf.kind in (Kind.INTS, Kind.ATTRS, Kind.ITEMS, Kind.STR)]
    if not leaves or rng.random() > 0.15 or found.rows > 1_000:
        return
    leaf = rng.choice(leaves)
    array, outer = rng.choice(leaf.spellings), rng.choice(("", "outer "))
    taken = found.scope.names()
    alias = next(each for each in ("e", "ex", "lv", "lv1", "lv2") if each not in taken)
    value, position = rng.choice(("e1", "x", "k", "value")), rng.choice(("pos", "p1"))
    if leaf.kind is Kind.ATTRS:
        function, columns = f"explode({array})", [Column("key", Kind.STR), Column(value, Kind.INT)]
    elif leaf.kind is Kind.STR:
        function, columns = f"explode(split({array}, ' '))", [Column(value, Kind.STR)]
    elif leaf.kind is Kind.ITEMS:
        function, columns = f"explode({array})", [Column(value, Kind.INFO)]
    else:
        function, columns = f"explode({array})", [Column(value, Kind.INT)]
    if leaf.kind is not Kind.ATTRS and rng.random() < 0.3:
        function, columns = f"pos{function}", [Column(position, Kind.INT), *columns]
    found.sql += f" lateral view {outer}{function} {alias} as {', '.join(column.name for column in columns)}"
    visible = Visible(alias, tuple(columns))
    found.scope.visible.append(visible)
    found.scope.star += columns
    found.rows *= 2
