"""Column lineage, based on sqlglot."""

from __future__ import annotations

import pytest
from sqlglot.errors import SqlglotError

from dbt.adapters.spark_iceberg.lineage.columns import column_lineage
from iceberg_incremental.table.history import TableName

EVENTS, PEOPLE = TableName("lake", "raw", "Events"), TableName("lake", "raw", "people")
INPUTS = {EVENTS: {"Id": "int", "v": "string"}, PEOPLE: {"id": "int", "name": "string"}}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from `lake`.`raw`.`Events`", {"id": "Events.Id IDENTITY", "v": "Events.v IDENTITY"}),
        ("select id as v, 1 as n from lake.raw.events", {"v": "Events.Id IDENTITY"}),
        ("select upper(v) as v from (select v from lake.raw.events)", {"v": "Events.v TRANSFORMATION"}),
        (
            "with x as (select id, upper(v) as u from lake.raw.events)\n"
            "select x.id, max(u) as v, first(p.name) as n from x join lake.raw.people p on p.id = x.id group by 1",
            {"id": "Events.Id IDENTITY", "v": "Events.v AGGREGATION", "n": "people.name AGGREGATION"},
        ),
        (
            "select id, v from lake.raw.events union all select id, trim(name) from lake.raw.people",
            {"id": "Events.Id IDENTITY, people.id IDENTITY", "v": "Events.v IDENTITY, people.name TRANSFORMATION"},
        ),
        ("select id from lake.raw.unknown", {}),
    ],
)
def test_origins(sql: str, expected: dict[str, str]) -> None:
    found = column_lineage(sql, INPUTS, ["id", "v", "n"])
    assert {
        column: ", ".join(f"{each.table.name}.{each.column} {each.subtype}" for each in origins)
        for column, origins in found.items()
    } == expected


def test_sql_that_sqlglot_cannot_read() -> None:
    with pytest.raises(SqlglotError):
        column_lineage("select from where", INPUTS, ["id"])
