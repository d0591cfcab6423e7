"""The strategy ``apply_changes``: applies the rows of a changelog according to their ``_change_type``."""

from __future__ import annotations

from collections.abc import Sequence

from ...sql import sql_name, sql_names
from ..columns.table_columns import Named
from ..columns.unique_keys import first_keys_sql, raise_sql, raise_taken_sql, shown
from .changelog import IS_KEPT
from .merge import SOURCE, TARGET, enclosed, insert_clause, update_clauses

IS_KEPT_SQL = """case
    when _change_type in ('INSERT', 'UPDATE_AFTER') then true
    when _change_type in ('DELETE', 'UPDATE_BEFORE') then false
    else raise_error(concat('_change_type is ', coalesce(_change_type, 'NULL'),
        ', expected INSERT, UPDATE_BEFORE, UPDATE_AFTER or DELETE'))
end"""
"""Whether a row of a changelog is in the table afterwards."""


def kept_rows_sql(changelog: str) -> str:
    """The rows of a changelog that are in the table afterwards, with the table's columns."""
    return f"select * except (_change_type) from {changelog} where {IS_KEPT_SQL}"


def unordered_sql(changelog: str, keys: Sequence[str]) -> str:
    """The query for keys with a new row and a deletion that may be newer, as in ``unique_keys.duplicates_sql``.

    An UPDATE_BEFORE and an UPDATE_AFTER are the two versions of one update.
    """
    kept, alone = f"count_if({IS_KEPT})", "count_if(_change_type in ('INSERT', 'DELETE'))"
    return first_keys_sql(
        f"select {shown(keys)} as key, count(*) as times from (select *, {IS_KEPT_SQL} as {IS_KEPT} from {changelog})"
        f" group by {sql_names(keys)} having {kept} = 1 and count(*) > 1 and ({alone} > 0 or count(*) > 2)"
    )


def insert_kept_sql(target: str, view: str, columns: Sequence[Named]) -> str:
    """The INSERT of the kept rows. ``view``: the view of the changes."""
    listed = ", ".join(sql_name(column.name) for column in columns)
    return f"insert into {target} ({listed})\nselect {listed}\nfrom {view}\nwhere {IS_KEPT}"


def merge_changes_sql(
    target: str,
    changelog: str,
    columns: Sequence[Named],
    keys: Sequence[str],
    updated: Sequence[Named],
    predicates: Sequence[str],
    model: str,
    *,
    shows_old: bool,
) -> str:
    """One MERGE, for models that do not replace whole rows.

    The MERGE reads one row per key. This is the kept row or, if no row is kept, a row that deletes the key. A key is
    deleted if its row was deleted, was filtered out or now has another key. NULL equals NULL, so that a deletion also
    finds a row whose key is NULL. The MERGE fails if several rows of a key are kept. It also fails for an INSERT of an
    existing key that no other change deletes, and with ``shows_old`` for such an UPDATE_AFTER, because the changelog
    then contains the old version of each updated row.
    """
    listed, listed_keys = (", ".join(map(sql_name, names)) for names in ([c.name for c in columns], keys))
    is_new = IS_KEPT if shows_old else "DBT_INTERNAL_IS_INSERT"
    repeated = raise_sql(model, keys, "DBT_INTERNAL_COUNT")
    conditions = [*enclosed(predicates), *(f"{SOURCE}.{sql_name(key)} <=> {TARGET}.{sql_name(key)}" for key in keys)]
    return "\n".join(
        [
            f"""merge into {target} as {TARGET}
using (
    select *
    from (
        select
            *,
            row_number() over (partition by {listed_keys} order by {IS_KEPT} desc) as DBT_INTERNAL_NUMBER,
            count_if({IS_KEPT}) over (partition by {listed_keys}) as DBT_INTERNAL_COUNT,
            every({is_new}) over (partition by {listed_keys}) as DBT_INTERNAL_IS_NEW
        from (
            select
                {listed},
                {IS_KEPT_SQL} as {IS_KEPT},
                _change_type = 'INSERT' as DBT_INTERNAL_IS_INSERT
            from {changelog}
        )
    )
    where case when DBT_INTERNAL_COUNT > 1 then {repeated} else DBT_INTERNAL_NUMBER = 1 end
) as {SOURCE}
on {" and ".join(conditions)}
when matched and case
    when {SOURCE}.DBT_INTERNAL_IS_NEW then {raise_taken_sql(model, keys, SOURCE)}
    else not {SOURCE}.{IS_KEPT}
end then delete""",
            *update_clauses(updated),
            f"when not matched and {SOURCE}.{IS_KEPT} then {insert_clause(columns)}",
        ]
    )
