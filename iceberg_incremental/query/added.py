"""The rows by which a query's result has grown, exactly, where it has only grown."""

from __future__ import annotations

from sqlglot import exp

from . import normal
from .changed import Changes
from .dialect import PlainSpark
from .states import State
from .together import kept_together


def added_sql(changes: Changes, name: str) -> str | None:
    """Exactly the rows by which a relation has grown, as they stand after FROM; None where that is not known.

    It is known of a join whose changed sources have only gained rows, and which reads them on its inner or
    preserved side: with one of them added after another, each new row of the result has one first new row.
    """
    table = changes.table(name)
    if table is not None:
        return changes.sql(name, State.CAME) if table.only_came else None
    block = changes.block(name)
    assert block is not None
    if isinstance(block.query, exp.Union):
        found = [_added_variants(changes, side) for side in block.selects]
    else:
        found = [_added_variants(changes, block.query) if kept_together(block.query) is None else None]
    if any(each is None for each in found):
        return None
    texts = [each.sql(PlainSpark) for listed in found for each in listed or ()]
    return f"({' union all '.join(texts)})" if texts else None


def _added_variants(changes: Changes, select: exp.Select) -> list[exp.Select] | None:
    sources = normal.clauses(select)
    mine = {id(relation) for _, relation, _ in sources}
    if any(changes.is_changed(each.name) for each in select.find_all(exp.Table) if id(each) not in mine):
        return None
    found: list[exp.Select] = []
    own: dict[str, str] = {}
    changed = [each for each in sources if isinstance(each[1], exp.Table) and changes.is_changed(each[1].name)]
    for alias, relation, join in changed:
        added = added_sql(changes, relation.name)
        if added is None or (join is not None and join.side.upper() == "LEFT"):
            return None
        found.append(changes.in_state(select, State.NEW, {**own, alias: added}))
        if len(changed) > 1:
            own[alias] = changes.sql(relation.name, State.OLD) or ""
    return found
