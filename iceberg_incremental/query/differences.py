"""The exact difference of a relation of a query between two states.

If the changed relations of a join are changed one after another, each added or removed row of the result is caused by
exactly one of them. The relations before it are read in their old state, those after it in their new state.
"""

from __future__ import annotations

from sqlglot import exp

from . import normal
from .changed import Changes
from .dialect import PlainSpark
from .states import State
from .together import kept_together
from .unions import have_same_types


def added_sql(changes: Changes, name: str) -> str | None:
    """The exact rows that were added to a relation, as a relation for FROM.

    They are known for a join whose changed sources have only gained rows, and are on an inner or preserved side. None
    if they are unknown, or if there are none.
    """
    removed, added = (difference_sql(changes, name, state) for state in (State.REMOVED, State.ADDED))
    return None if removed is None or removed else added or None


def difference_sql(changes: Changes, name: str, state: State) -> str | None:
    """The added or removed rows of a relation, as a relation for FROM. None if they are unknown.

    ``state``: ``ADDED`` or ``REMOVED``. Empty if there are none. A row that is in both results cancels out.
    """
    if changes.table(name) is not None:
        return changes.sql(name, state) or ""
    block = changes.block(name)
    assert block is not None
    if not isinstance(block.query, (exp.Select, exp.Union)) or any(
        kept_together(select) is not None for select in block.selects
    ):
        return None
    found = [differing_selects(changes, select, state) for select in block.selects]
    if any(each is None for each in found):
        return None
    if not any(found):
        return ""
    if len(found) > 1 and not have_same_types(block.selects, changes):
        # a branch without such rows is kept if it may determine the types of the columns
        found = [
            each or [changes.in_state(select, State.NEW).where(exp.false())]
            for each, select in zip(found, block.selects, strict=True)
        ]
    return f"({' union all '.join(each.sql(PlainSpark) for listed in found for each in listed or ())})"


def differing_selects(changes: Changes, select: exp.Select, state: State) -> list[exp.Select] | None:
    """The variants of a SELECT of single rows, one for each relation whose added or removed rows affect its result.

    None if the SELECT reads a changed relation elsewhere than on an inner or preserved side of its joins, or a clock.
    """
    if changes.reads_clock(select):
        return None
    sources = normal.clauses(select)
    mine = {id(relation) for _, relation, _ in sources}
    if any(changes.is_changed(each.name) for each in select.find_all(exp.Table) if id(each) not in mine):
        return None
    found: list[exp.Select] = []
    own: dict[str, str] = {}
    changed = [each for each in sources if isinstance(each[1], exp.Table) and changes.is_changed(each[1].name)]
    for alias, relation, join in changed:
        rows = difference_sql(changes, relation.name, state)
        if rows is None or (join is not None and join.side.upper() == "LEFT"):
            return None
        if rows:
            found.append(changes.in_state(select, State.NEW, {**own, alias: rows}))
        if len(changed) > 1:
            own[alias] = changes.sql(relation.name, State.OLD) or ""
    return found
