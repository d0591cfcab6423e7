"""Random window functions, mostly with a common PARTITION BY, and always with one possible result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .expressions import Expressions, Leaf
from .joins import From
from .scopes import name_of
from .values import ORDERED, Kind

if TYPE_CHECKING:
    from .blocks import Items
    from .queries import Writer

_PARTITIONED = (Kind.INT, Kind.INT, Kind.STR, Kind.DATE, Kind.DBL, Kind.BOOL, Kind.NUMSTR)


def windowed(writer: Writer, items: Items, found: From, leaves: list[Leaf], kinds: Sequence[Kind] | None) -> str:
    """Fill the SELECT list of a block with windows; returns the SQL after WHERE."""
    rng = writer.rng
    expressions = Expressions(rng, leaves)
    partition = _partition(writer, leaves)
    by = f"partition by {', '.join(partition)} " if partition else ""
    order = _order(writer, leaves)
    named = rng.random() < 0.15 and order is not None
    windows = _functions(expressions, by, order, "w" if named else None)
    if kinds is not None:
        for kind in kinds:
            text = rng.choice(windows) if kind is Kind.INT else expressions.of(kind, 1)
            items.add(text, kind)
    else:
        for leaf in rng.sample(leaves, min(len(leaves), rng.choice((1, 2, 3)))):
            text = rng.choice(leaf.spellings)
            items.add(text, leaf.kind, name_of(text), aliased=0.2)
        for text in rng.sample(windows, rng.choice((1, 1, 2, 3))):
            items.add(rng.choice((text, text, f"{text} + {expressions.of(Kind.INT, 1)}")), Kind.INT)
    return f" window w as ({by}order by {order})" if named else ""


def _partition(writer: Writer, leaves: Sequence[Leaf]) -> list[str]:
    rng = writer.rng
    fitting = [leaf for leaf in leaves if leaf.kind in _PARTITIONED]
    if not fitting or rng.random() < 0.08:
        return []
    chosen = rng.sample(fitting, min(len(fitting), rng.choice((1, 1, 1, 2))))
    found = [rng.choice(leaf.spellings) for leaf in chosen]
    if chosen[0].kind is Kind.INT and rng.random() < 0.2:
        found[0] = f"{found[0]} % 2"
    return found


def _order(writer: Writer, leaves: Sequence[Leaf]) -> str | None:
    """An order in which only identical rows are equal. None if a column has no order."""
    rng = writer.rng
    if not leaves or any(leaf.kind not in ORDERED for leaf in leaves):
        return None
    shuffled = rng.sample(list(leaves), len(leaves))
    return ", ".join(
        f"{leaf.spellings[0]}{rng.choice(('', '', ' desc', ' desc nulls last', ' nulls last'))}" for leaf in shuffled
    )


def _functions(e: Expressions, by: str, order: str | None, name: str | None) -> list[str]:
    """Windows over the same partitions."""
    rng = e.rng
    number, alone = e.leaf(Kind.INT), f"({by.rstrip()})"
    peers = f"({by}order by {number})"
    found = [
        f"sum({e.of(Kind.INT, 1)}) over {alone}",
        f"count(*) over {alone}",
        f"max({number}) over {alone}",
        f"sum({number}) over {peers}",
        f"rank() over {peers}",
        f"dense_rank() over ({by}order by {number} desc)",
        f"count(case when {e.condition(0)} then 1 end) over {alone}",
        f"sum({number}) over ({by}order by {number} range between 1 preceding and current row)",
    ]
    if order is not None:
        over = name or f"({by}order by {order})"
        found += [
            f"row_number() over {over}",
            f"row_number() over {over}",
            f"lag({number}) over {over}",
            f"lead({number}, 1, -1) over {over}",
            f"first_value({number}) over {over}",
            f"sum({number}) over ({by}order by {order} rows between unbounded preceding and current row)",
        ]
    if rng.random() < 0.15:  # other partitions
        found.append(f"count(*) over (partition by {e.leaf(Kind.STR)})")
    return found
