"""The SQL of dbt's strategies ``microbatch`` (a batch replaces a window of ``event_time``) and ``delete+insert``."""

from __future__ import annotations

from collections.abc import Sequence

from ...sql import plain_name, sql_name
from ..columns.table_columns import Named
from .append import append_sql
from .merge import SOURCE, TARGET, enclosed, insert_clause


def microbatch_sql(
    target: str,
    rows: str,
    columns: Sequence[Named],
    event_time: str,
    window: tuple[object, object],
    predicates: Sequence[str],
) -> str:
    """The DELETE of the window, for any partitioning of the table, and the INSERT, separated by a semicolon.

    ``window``: its start and its exclusive end, as text that Spark can parse.
    """
    name, (start, end) = sql_name(plain_name(event_time)), window
    conditions = [f"{name} >= '{start}'", f"{name} < '{end}'", *enclosed(predicates)]
    return f"delete from {target}\nwhere {' and '.join(conditions)};\n{append_sql(target, rows, columns)}"


_IS_NEW = "DBT_INTERNAL_IS_NEW"


def delete_insert_sql(
    target: str, rows: str, columns: Sequence[Named], keys: Sequence[str], predicates: Sequence[str]
) -> str:
    """One MERGE instead of a DELETE and an INSERT, because the model's SQL may read its own table.

    All new rows of a key are inserted. The MERGE reads one of them a second time, to delete the old rows.
    """
    key = ", ".join(map(sql_name, keys))
    conditions = [
        f"not {SOURCE}.{_IS_NEW}",
        *enclosed(predicates),
        *(f"{SOURCE}.{sql_name(each)} = {TARGET}.{sql_name(each)}" for each in keys),
    ]
    return f"""merge into {target} as {TARGET}
using (
    select *
    from (
        select *, row_number() over (partition by {key} order by {key}) as DBT_INTERNAL_NUMBER
        from {rows}
    )
    lateral view explode(if(DBT_INTERNAL_NUMBER = 1, array(true, false), array(true))) as {_IS_NEW}
) as {SOURCE}
on {" and ".join(conditions)}
when matched then delete
when not matched and {SOURCE}.{_IS_NEW} then {insert_clause(columns)}"""
