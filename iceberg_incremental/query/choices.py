"""The affected keys of a query that chooses among rows: other parts of it rest on choices that are in the table alone.

Computed again, another row may be chosen, in the old state too. So it is unknown which rows a choice was joined with,
or which filters it passed. But all rows that depend on it have the key values of its group or partition. A key is
affected only if a relation that a choice meets has changed rows of that key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from .blocks import Block
from .changed import Changes
from .restricted import held_by_source, within
from .sql_parts import name_sql


def keys_of_choices(
    block: Block, columns: Mapping[str, str], changes: Changes, choosing: Collection[str]
) -> list[str] | None:
    """The queries for the affected keys of a block; None where a changed relation does not have all columns of the key.

    ``columns``: names of key columns by the names of the block's columns that hold them. ``choosing``: the names of the
    blocks that choose.
    """
    found: list[str] = []
    for select, wanted in within(block, columns):
        if {key for _, key in wanted} != set(columns.values()):
            return None
        if select is block.query and not any(_rests_on_choices(each, changes, choosing) for each in block.reads):
            return [changes.keys_sql(block.name, {key: each for each, key in wanted})]
        held = held_by_source(select, wanted, changes, exact=True)
        for table in select.find_all(exp.Table):
            if not changes.is_changed(table.name):
                continue
            of_table = {key: column for column, key in held.get(id(table), {}).items()}
            inner = changes.block(table.name)
            if of_table.keys() != set(columns.values()):
                return None
            if inner is not None and _rests_on_choices(table.name, changes, choosing):
                below = keys_of_choices(inner, {column: key for key, column in of_table.items()}, changes, choosing)
                if below is None:
                    return None
                found += below
            elif (rows := changes.affected_values_sql(table.name, list(of_table.values()))) is not None:
                listed = (f"{name_sql(column)} as {name_sql(key)}" for key, column in of_table.items())
                found.append(f"select {', '.join(listed)} from {rows}")
    return found


def _rests_on_choices(name: str, changes: Changes, choosing: Collection[str]) -> bool:
    """Whether a relation chooses, or reads one that does."""
    block = changes.block(name)
    return block is not None and (
        name in choosing or any(_rests_on_choices(each, changes, choosing) for each in block.reads)
    )
