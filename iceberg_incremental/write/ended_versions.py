"""How versions end in a merge-on-read table: a DELETE marks them, and an INSERT writes them again with their end.

A MERGE would read all columns of the versions that stay, to find those that end. The DELETE reads their ids alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import IncrementalError
from ..sql import sql_names
from ..table.history import History, Snapshot
from ..table.row_counts import rows_gone

SEPARATELY = {"spark.sql.unionOutputPartitioning": "false"}
"""Session settings under which no task of Spark's writes rows of two queries of a UNION ALL.

Versions that have ended are then in files of their own, which later runs skip.
"""


def are_deleted(target: History) -> bool:
    """Whether versions of a table end so: a copy-on-write table rewrites their files in any case, once by a MERGE."""
    return target.properties.get("write.delete.mode") == "merge-on-read"


def insert_sql(branch: str, names: Sequence[str], *queries: str) -> str:
    """The INSERT of the rows of some queries, each of which writes files of its own under ``SEPARATELY``."""
    return f"insert into {branch} ({sql_names(names)})\n" + "\nunion all\n".join(queries)


def require_deleted(commit: Snapshot, ended: int, error: Callable[[], IncrementalError]) -> None:
    """Raise an error unless the DELETE of a commit has deleted as many versions as end."""
    if rows_gone(commit) != ended:
        raise error()
