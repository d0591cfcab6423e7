"""The row ids of format v3 as SQL: the rows of the start of a range that no longer exist at its end.

Row ids are compared as bits in blocks of 64, because a join of both ends by row id would shuffle both. The blocks with
missing ids are few and small, and can be broadcast.
"""

from __future__ import annotations

from ..explain import source_errors
from ..spark.scans import Rows
from ..sql import sql_string
from ..table.history import TableName

NAME = "_row_id"
"""The metadata column with the id of a row."""


def missing_sql(table: TableName, at_start: Rows, kept: Rows) -> str:
    """The relation of the blocks of ids of the start that no kept row has.

    The query fails if rows of the start share an id or have none, because a deleted row would then seem to be kept.
    ``kept``: the rows of the end that have not changed since the start.
    """
    block, bit = f"shiftright({NAME}, 6)", f"shiftleft(1L, int({NAME} & 63))"
    missing = "bit_or(before) & ~bit_or(kept)"
    shared = "block is null or count_if(before <> 0) > bit_count(bit_or(before))"
    error = f"raise_error({sql_string(source_errors.row_ids_repeated(table).msg)})"
    rows = (
        f"select {block} as block, {bit} as before, 0L as kept {at_start.clauses}"
        f" union all select {block}, 0L, {bit} {kept.clauses}"
    )
    return (
        f"(select block, {missing} as missing from ({rows}) group by block"
        f" having case when {shared} then {error} else {missing} <> 0 end)"
    )


def is_missing(row_id: str, blocks: str) -> str:
    """The condition that an id is among the missing ids. ``blocks``: the alias of the relation of ``missing_sql``."""
    same = f"{blocks}.block = shiftright({row_id}, 6)"
    return f"{same} and shiftright({blocks}.missing, int({row_id} & 63)) & 1L = 1L"
