"""Random GROUP BY with names, expressions, ordinals, aliases or ALL; aggregates of many forms; HAVING."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .expressions import Expressions, Leaf
from .joins import From
from .scopes import name_of, quoted
from .subqueries import Subqueries
from .values import Column, Kind

if TYPE_CHECKING:
    from .blocks import Items
    from .queries import Writer

_GROUPED = (Kind.INT, Kind.INT, Kind.INT, Kind.STR, Kind.STR, Kind.DATE, Kind.DBL, Kind.BOOL, Kind.DEC, Kind.INFO,
            Kind.TS, Kind.NUMSTR, Kind.INTS)  # fmt: skip
_WHOLE = (" group by all", " group by rollup", " group by cube")
_KINDS = (Kind.INT, Kind.INT, Kind.INT, Kind.DEC, Kind.DBL, Kind.RATIO, Kind.STR, Kind.DATE, Kind.BOOL)


def aggregate(expressions: Expressions, kind: Kind) -> str:
    """An aggregate whose result is of this kind."""
    rng, e = expressions.rng, expressions
    if kind is Kind.INT:
        condition = e.condition(1)
        return rng.choice(
            (
                "count(*)",
                "count(1)",
                f"count({e.leaf(Kind.INT)})",
                f"count(distinct {e.of(rng.choice((Kind.INT, Kind.STR, Kind.DBL)), 1)})",
                f"count(distinct {e.leaf(Kind.INT)}, {e.leaf(Kind.STR)})",
                f"sum({e.of(Kind.INT, 1)})",
                f"sum(distinct {e.leaf(Kind.INT)})",
                f"sum(case when {condition} then {e.of(Kind.INT, 1)} else 0 end)",
                f"sum({e.leaf(Kind.INT)}) filter (where {condition})",
                f"count(*) filter (where {condition})",
                f"count_if({condition})",
                f"max({e.of(Kind.INT, 1)})",
                f"min(distinct {e.leaf(Kind.INT)})",
                f"coalesce(sum({e.leaf(Kind.INT)}), 0)",
                f"sum({e.leaf(Kind.INT)}) - 2 * count({e.leaf(Kind.INT)})",
                f"bit_xor({e.leaf(Kind.INT)})",
            )
        )
    if kind is Kind.RATIO:
        return rng.choice((f"avg({e.leaf(Kind.INT)})", f"sum({e.leaf(Kind.INT)}) / nullif(count(*), 0)"))
    if kind is Kind.DEC:
        return rng.choice(
            (f"sum({e.of(Kind.DEC, 1)})", f"avg({e.leaf(Kind.DEC)})", f"sum({e.leaf(Kind.DEC)} * (1 - 0.1))")
        )
    if kind is Kind.DBL:
        return rng.choice((f"sum({e.leaf(Kind.DBL)})", f"max({e.of(Kind.DBL, 1)})", f"min({e.leaf(Kind.DBL)})"))
    if kind is Kind.BOOL:
        return f"{rng.choice(('bool_or', 'every', 'some'))}({e.condition(1)})"
    if kind in (Kind.ATTRS, Kind.INTS, Kind.ITEMS):
        return e.literal(kind)
    return f"{rng.choice(('min', 'max'))}({e.of(kind, 1)})"


def continuing(expressions: Expressions, kind: Kind) -> str:
    """An aggregate that can be updated from the added and removed rows."""
    rng, e = expressions.rng, expressions
    if kind is Kind.DEC:
        return rng.choice(
            (f"sum({e.of(Kind.DEC, 1)})", f"min({e.leaf(Kind.DEC)})", f"coalesce(sum({e.leaf(kind)}), 0)")
        )
    if kind is Kind.DATE:
        return f"{rng.choice(('min', 'max'))}({e.leaf(Kind.DATE)})"
    condition = e.condition(1)
    return rng.choice(
        (
            "count(*)",
            f"count({e.leaf(Kind.INT)})",
            f"sum({e.of(Kind.INT, 1)})",
            f"sum({e.leaf(Kind.INT)})",
            f"sum(case when {condition} then 1 else 0 end)",
            f"sum(case when {condition} then {e.leaf(Kind.INT)} end)",
            f"sum({e.leaf(Kind.INT)}) filter (where {condition})",
            f"count(*) filter (where {condition})",
            f"coalesce(sum({e.leaf(Kind.INT)}), 0)",
            f"max({e.leaf(Kind.INT)})",
        )
    )


def _group(rng: random.Random, leaves: Sequence[Leaf]) -> tuple[str, Kind, str | None] | None:
    """An expression to group by, its kind, and its name if it is a column."""
    fitting = [leaf for leaf in leaves if leaf.kind in _GROUPED]
    if not fitting:
        return None
    leaf = rng.choice(fitting)
    text = rng.choice(leaf.spellings)
    if rng.random() < 0.65:
        return text, leaf.kind, name_of(text)
    texts = {
        Kind.INT: (f"{text} % 3", f"case when {text} > 2 then 1 else 0 end", f"coalesce({text}, -7)"),
        Kind.STR: (f"lower({text})", f"trim({text})", f"substring({text}, 1, 1)"),
        Kind.DATE: (f"date_trunc('month', {text})::date", f"trunc({text}, 'MM')"),
        Kind.TS: (f"date_trunc('day', {text})",),
        Kind.DBL: (f"{text} + 1",),
        Kind.DEC: (f"round({text}, 0)",),
        Kind.BOOL: (f"not {text}",),
    }
    found = rng.choice(texts.get(leaf.kind, (text,)))
    return found, leaf.kind, None if found != text else name_of(text)


def group_by(
    writer: Writer, items: Items, found: From, leaves: list[Leaf], kinds: Sequence[Kind] | None, depth: int
) -> tuple[str, int]:
    """Fill the SELECT list of a grouped block; returns the SQL after WHERE, and the approximate number of rows."""
    rng = writer.rng
    groups = [_group(rng, leaves) for _ in range(rng.choices((0, 1, 2, 3), (14, 48, 30, 8))[0])]
    keys = [each for each in groups if each is not None]
    keys = list({text.lower(): (text, kind, name) for text, kind, name in keys}.values())
    expressions = Expressions(rng, leaves)
    wanted = list(kinds) if kinds is not None else None
    continues = wanted is None and rng.random() < 0.4
    selected: list[tuple[int, int]] = []
    if wanted is None:
        for at, (text, kind, name) in enumerate(keys):
            if continues or rng.random() < 0.85:
                items.add(text, kind, name, aliased=0.25)
                selected.append((at, len(items.columns)))
    keyed = len(items.columns)
    if continues:
        for _ in range(rng.choice((1, 1, 2, 3))):
            kind = rng.choice((Kind.INT, Kind.INT, Kind.INT, Kind.DEC, Kind.DATE))
            items.add(continuing(expressions, kind), kind)
        if rng.random() < 0.06:
            items.add("explode(array(1, 2))", Kind.INT)
    else:
        _aggregates(items, expressions, keys, wanted)
    grouped = _clause(writer, items, found, keys, selected) if keys else ""
    if kinds is None and not continues and keys and not grouped.startswith(_WHOLE) and rng.random() < 0.12:
        _trap(items, keys)
    having = ""
    if not continues and rng.random() < 0.25:
        having = _having(writer, items, found, keys, keyed, expressions, depth)
    return grouped + having, 1 if not keys else min(found.rows, 8 ** len(keys))


def _aggregates(
    items: Items, expressions: Expressions, keys: Sequence[tuple[str, Kind, str | None]], wanted: list[Kind] | None
) -> None:
    rng = items.writer.rng
    if wanted is not None:
        for kind in wanted:
            fitting = [text for text, its_kind, _ in keys if its_kind is kind]
            text = rng.choice(fitting) if fitting and rng.random() < 0.6 else aggregate(expressions, kind)
            items.add(text, kind)
        return
    for _ in range(rng.choice((1, 1, 2, 3)) if items.columns else rng.choice((1, 2, 3))):
        kind = rng.choice(_KINDS)
        items.add(aggregate(expressions, kind), kind)


def _clause(
    writer: Writer,
    items: Items,
    found: From,
    keys: Sequence[tuple[str, Kind, str | None]],
    selected: list[tuple[int, int]],
) -> str:
    """GROUP BY in one of its forms."""
    rng = writer.rng
    if all(name is not None and name == text for text, _, name in keys) and rng.random() < 0.25:
        listed_names = ", ".join(text for text, _, _ in keys)
        return f" group by {rng.choice(('rollup', 'cube'))} ({listed_names})"
    form = rng.choice(("names", "names", "ordinals", "aliases", "all"))
    if form == "all" and len(selected) == len(keys):
        return " group by all"
    places = dict(selected)
    hidden = found.scope.names() | (found.scope.outer.names() if found.scope.outer else set())
    listed = []
    for at, (text, _, _) in enumerate(keys):
        place = places.get(at)
        if place is not None and form == "ordinals":
            listed.append(str(place))
        elif place is not None and form == "aliases" and items.columns[place - 1].name.lower() not in hidden:
            listed.append(quoted(rng, items.columns[place - 1].name))
        else:
            listed.append(text)
    return f" group by {', '.join(listed)}"


def _trap(items: Items, keys: Sequence[tuple[str, Kind, str | None]]) -> None:
    """Add an item that has the name of a group column, but another value."""
    taken = {column.name.lower() for column in items.columns}
    for text, kind, name in keys:
        if kind is Kind.INT and name is not None and name.lower() not in taken:
            items.texts.append(f"{text} % 2 as {quoted(items.writer.rng, name)}")
            items.columns.append(Column(name, Kind.INT))
            return


def _having(
    writer: Writer,
    items: Items,
    found: From,
    keys: Sequence[tuple[str, Kind, str | None]],
    keyed: int,
    expressions: Expressions,
    depth: int,
) -> str:
    """HAVING over keys, aggregates, and aliases that no column hides."""
    rng = writer.rng
    hidden = found.scope.names() | (found.scope.outer.names() if found.scope.outer else set())
    leaves = [Leaf((text if name else f"({text})",), kind) for text, kind, name in keys]
    leaves += [Leaf((f"({aggregate(expressions, kind)})",), kind) for kind in (Kind.INT, Kind.INT, Kind.DEC)]
    for column, text in zip(items.columns[keyed:], items.texts[keyed:], strict=True):
        if column.name.lower() not in hidden and column.kind is Kind.INT and "(" in text:
            leaves.append(Leaf((quoted(rng, column.name),), Kind.INT))
    subqueries = Subqueries(writer, depth - 1, found.scope, leaves, is_correlated=False)
    predicate = subqueries.predicate if depth > 0 and rng.random() < 0.4 else None
    return f" having {Expressions(rng, leaves, predicate).condition(1)}"
