"""The affected keys of a query in which other blocks depend on a choice among rows, such as ``row_number()``.

Only the table shows which row was chosen. If the choice is computed again, another row may be chosen, even in the old
state. It is therefore unknown which rows the chosen row was joined with, and which filters it passed. However, all rows
that depend on a choice have the key values of its group or partition. A key is affected only if a relation that is
joined with a choice has changed rows with this key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..names import sql_name
from .blocks import Block
from .changed import Changes
from .restricted import held_by_source, within


def keys_of_choices(
    block: Block, columns: Mapping[str, str], changes: Changes, choosing: Collection[str]
) -> list[str] | None:
    """The queries for the affected keys of a block. None if a changed relation lacks a column of the key.

    ``columns``: the key columns, by the names of the block's columns with their values. ``choosing``: the names of the
    blocks that choose among rows.
    """
    found: list[str] = []
    for select, wanted in within(block, columns, changes):
        if {key for _, key in wanted} != set(columns.values()) or changes.reads_clock(select):
            return None
        if select is block.query and not any(_depends_on_choices(each, changes, choosing) for each in block.reads):
            return [changes.keys_sql(block.name, {key: each for each, key in wanted})]
        for table, held in held_by_source(select, wanted, changes):
            if not changes.is_changed(table.name):
                continue
            of_table = {key: column for column, key in held.exact.items()}
            inner = changes.block(table.name)
            if of_table.keys() != set(columns.values()):
                return None
            if inner is not None and _depends_on_choices(table.name, changes, choosing):
                below = keys_of_choices(inner, {column: key for key, column in of_table.items()}, changes, choosing)
                if below is None:
                    return None
                found += below
            elif (rows := changes.affected_values_sql(table.name, list(of_table.values()))) is not None:
                listed = (f"{sql_name(column)} as {sql_name(key)}" for key, column in of_table.items())
                found.append(f"select {', '.join(listed)} from {rows}")
    return found


def _depends_on_choices(name: str, changes: Changes, choosing: Collection[str]) -> bool:
    """Whether a relation chooses among rows, or reads a relation that does."""
    block = changes.block(name)
    return block is not None and (
        name in choosing or any(_depends_on_choices(each, changes, choosing) for each in block.reads)
    )
