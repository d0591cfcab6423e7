"""Ending versions in a merge-on-read table: a DELETE removes them, and an INSERT writes them again with their end.

A MERGE would read all columns of unchanged versions. The DELETE reads only the columns of its condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import IncrementalError
from ...sql import sql_names
from ...table.history import History, Snapshot
from ...table.row_counts import rows_gone

SEPARATELY = {"spark.sql.unionOutputPartitioning": "false"}
"""Session settings under which each Spark task writes rows of only one query of a UNION ALL.

Ended versions are then in separate files, which later runs skip.
"""


def are_deleted(target: History) -> bool:
    """Whether a DELETE ends versions. In a copy-on-write table, a MERGE ends them, and rewrites files only once."""
    return target.deletes_in_place


def insert_sql(branch: str, names: Sequence[str], *queries: str) -> str:
    """The INSERT of the rows of queries. Under ``SEPARATELY``, each query writes separate files."""
    return f"insert into {branch} ({sql_names(names)})\n" + "\nunion all\n".join(queries)


def require_deleted(commit: Snapshot, ended: int, error: Callable[[], IncrementalError]) -> None:
    """Raise ``error()`` unless the DELETE of a commit has deleted ``ended`` versions."""
    if rows_gone(commit) != ended:
        raise error()
