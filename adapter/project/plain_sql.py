"""The SQL of a model with the strategy ``auto``, as a run reads it: the relations that it names, and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from iceberg_incremental.expose.plain_sql import Source
from iceberg_incremental.query.reading import Mention, mentions, parsed, replaced, spark_text
from iceberg_incremental.query.refusal import Refusal
from iceberg_incremental.query.supported import require_supported
from iceberg_incremental.table.history import TableName


@dataclass
class PlainSql:
    """The compiled SQL of a model. ``sources``: what a run captures of the tables that it reads.

    ``refusal``: why it cannot be kept up by what changed, None where it can. ``mentions``: the places where it names
    relations; empty where it cannot be parsed, and is run as it is.
    """

    sql: str
    mentions: Sequence[Mention] = ()
    refusal: Refusal | None = None
    sources: Mapping[TableName, Source] = field(default_factory=dict)

    def pinned(self, relation: Callable[[TableName], str]) -> str:
        """The SQL with each table replaced by what ``relation`` gives for it."""
        return replaced(self.sql, self.mentions, [relation(each.relation) for each in self.mentions])


def plain_sql(sql: str, catalog: str, tables: Sequence[TableName]) -> PlainSql:
    """Read a model's SQL. ``catalog``: of names without one. ``tables``: those that ref() and source() stand for.

    Raises nothing: SQL that cannot be kept up comes with its refusal.
    """
    try:
        sql = spark_text(sql)
    except Refusal as refusal:
        return PlainSql(sql, refusal=refusal)
    exact = {str(table): table for table in tables}
    by_name = {name.lower(): table for name, table in exact.items()}
    try:
        found = [
            Mention(
                exact.get(str(each.relation)) or by_name.get(str(each.relation).lower()) or each.relation,
                each.start,
                each.end,
                each.alias,
            )
            for each in mentions(sql, catalog)
        ]
    except Refusal as refusal:
        return PlainSql(sql, refusal=refusal)
    unknown = next((each for each in found if each.relation not in tables), None)
    if unknown is not None:
        line = sql.count("\n", 0, unknown.start) + 1
        refusal = Refusal(f"the relation {unknown.relation}", line, "name it by ref() or source()")
        return PlainSql(sql, refusal=refusal)
    try:
        require_supported(parsed(sql))
    except Refusal as refusal:
        return PlainSql(sql, found, refusal)
    return PlainSql(sql, found)
