"""The hand-written statements of methods without a model."""

from __future__ import annotations

from collections.abc import Mapping

from ..lake import CATALOG
from .changes import COLUMNS, KEY, LISTED

SUMS = "select group_id, count(*) as members, cast(sum(balance) as decimal(22, 2)) as balance from {} group by group_id"
DISTINCT = "select group_id, count(distinct points) as points from {} group by group_id"
_UPDATE = "update set " + ", ".join(f"{column} = s.{column}" for column in COLUMNS if column != KEY)
_INSERT = f"insert ({LISTED}) values ({', '.join(f's.{column}' for column in COLUMNS)})"


def table_as(table: str, properties: Mapping[str, str], query: str) -> str:
    """A CTAS that replaces a table."""
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    return f"create or replace table {table} using iceberg tblproperties ({listed}) as {query}"


def merge_changes(table: str, changes: str) -> str:
    """A MERGE of rows with ``_change_type``, at most one per key."""
    return (
        f"merge into {table} as t using {changes} as s on t.{KEY} = s.{KEY}"
        " when matched and s._change_type = 'DELETE' then delete"
        f" when matched then {_UPDATE}"
        f" when not matched and s._change_type <> 'DELETE' then {_INSERT}"
    )


def merge_newer(table: str, source: str) -> str:
    """The common MERGE of rows that are newer than the newest row of the table. It does not detect deletes."""
    newer = f"select * from {source} where updated_at > (select max(updated_at) from {table})"
    return (
        f"merge into {table} as t using ({newer}) as s on t.{KEY} = s.{KEY}"
        f" when matched then {_UPDATE} when not matched then {_INSERT}"
    )


def merge_all(table: str, source: str) -> str:
    """A MERGE of all rows, which also deletes rows that the source no longer has."""
    return (
        f"merge into {table} as t using {source} as s on t.{KEY} = s.{KEY}"
        f" when matched then {_UPDATE} when not matched then {_INSERT} when not matched by source then delete"
    )


def changelog_view(view: str, source: str, start: int, end: int) -> str:
    """The statement that creates Iceberg's changelog view of the net changes between two snapshots."""
    options = f"map('start-snapshot-id', '{start}', 'end-snapshot-id', '{end}')"
    return (
        f"call {CATALOG}.system.create_changelog_view(table => '{source}', changelog_view => '{view}',"
        f" options => {options}, net_changes => true)"
    )


def last_changes(view: str) -> str:
    """The query of a changelog view that returns one row per key: the new row, if there is one."""
    # INSERT sorts after DELETE
    numbered = f"select *, row_number() over (partition by {KEY} order by _change_type desc) as number from {view}"
    return f"(select * from ({numbered}) where number = 1)"
