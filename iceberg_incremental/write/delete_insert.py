"""dbt's strategy ``delete+insert``: replaces all rows of the new rows' keys."""

from __future__ import annotations

from collections.abc import Sequence

from ..sql import sql_name
from .columns import Named
from .merge import SOURCE, TARGET, insert_clause
from .predicates import enclosed

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
