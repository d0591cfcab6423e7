"""The statements that write the versions that a run creates, changes and ends.

In a merge-on-read table, a DELETE removes versions, and an INSERT writes them again with their end. A MERGE would read
all columns of unchanged versions. The DELETE reads only the columns of its condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import IncrementalError
from ...publish.publisher import Check, FollowUp
from ...sql import sql_name, sql_names, sql_string
from ...table.history import History, Snapshot
from ...table.row_counts import rows_gone
from ..strategies.changelog import Bound
from ..strategies.merge import SOURCE, TARGET
from .versioned import VersionedRows

IS_OLD, IS_GONE = "DBT_INTERNAL_IS_OLD", "DBT_INTERNAL_IS_GONE"
"""Whether a changed version is already in the table, and whether it must be deleted."""

SEPARATELY = {"spark.sql.unionOutputPartitioning": "false"}
"""Session settings under which each Spark task writes rows of only one query of a UNION ALL.

Ended versions are then in separate files, which later runs skip.
"""


@dataclass(frozen=True)
class Statements:
    """The statements that write the versions of a run.

    ``check``: raises IncrementalError if their rows must not be published. ``then``: returns the second statement.
    ``settings``: the session settings that the statements need.
    """

    sql: str
    check: Check
    then: FollowUp | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def are_deleted(target: History) -> bool:
    """Whether a DELETE ends versions. In a copy-on-write table, a MERGE ends them, and rewrites files only once."""
    return target.deletes_in_place


def merge_sql(table: str, versions: str, rows: VersionedRows, bounds: Sequence[Bound] = ()) -> str:
    """The MERGE of new and changed versions.

    ``versions``: a query with the columns of the table, ``IS_OLD``, and, if ended versions are read, ``IS_GONE``.
    """
    names, scd_id = rows.all_names, rows.config.names.dbt_scd_id
    conditions = [rows.is_same_version, *(bound.sql for bound in bounds)]
    if not rows.reads_ended:
        conditions.insert(1, rows.is_valid(TARGET))
    # A version that was read must be found again, and a new version must not exist.
    message = f"{scd_id} does not identify a {'' if rows.reads_ended else 'valid '}version: it is "
    lost = f"raise_error(concat({sql_string(message)}, coalesce({SOURCE}.{sql_name(scd_id)}, 'NULL')))"
    values = ", ".join(f"{sql_name(name)} = {SOURCE}.{sql_name(name)}" for name in names)
    return "\n".join(
        [
            f"merge into {table} as {TARGET}",
            f"using (\n{versions}\n) as {SOURCE}",
            f"on {' and '.join(conditions)}",
            *([f"when matched and {SOURCE}.{IS_GONE} then delete"] if rows.reads_ended else []),
            f"when matched and case when {SOURCE}.{IS_OLD} then true else {lost} end then update set {values}",
            f"when not matched and case when {SOURCE}.{IS_OLD} then {lost} else true end"
            f" then insert ({sql_names(names)})\n    values ({sql_names(names, SOURCE)})",
        ]
    )


def delete_sql(table: str, is_valid: str, bounds: Sequence[Bound], ended: str) -> str:
    """The DELETE of the valid versions that a subquery finds. ``ended``: the subquery of EXISTS."""
    conditions = [is_valid, *(bound.sql for bound in bounds), f"exists ({ended})"]
    return f"delete from {table} as {TARGET} where {' and '.join(conditions)}"


def insert_sql(table: str, names: Sequence[str], *queries: str) -> str:
    """The INSERT of the rows of queries. Under ``SEPARATELY``, each query writes separate files."""
    return f"insert into {table} ({sql_names(names)})\n" + "\nunion all\n".join(queries)


def require_deleted(commit: Snapshot, ended: int, error: Callable[[], IncrementalError]) -> None:
    """Raise ``error()`` unless the DELETE of a commit has deleted ``ended`` versions."""
    if rows_gone(commit) != ended:
        raise error()
