"""Column lineage, based on sqlglot."""

from __future__ import annotations

import pytest
from sqlglot.errors import SqlglotError

from dbt.adapters.spark_iceberg.lineage.events import column_lineage
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
        ("select u.id, e.v from lake.raw.unknown u join lake.raw.events e on e.id = u.id", {"v": "Events.v IDENTITY"}),
        ("select id from lake.raw.events except select id from lake.raw.people", {"id": "Events.Id IDENTITY"}),
        (
            "select e.id, l.n from lake.raw.events e left join lateral "
            "(select max(name) as n from lake.raw.people p where p.id = e.id) l",
            {"id": "Events.Id IDENTITY", "n": "people.name AGGREGATION"},
        ),
        (
            "select id, n from lake.raw.events pivot (count(*) for v in ('a' as n))",
            {"id": "Events.Id IDENTITY"},
        ),
        (
            "select id, n from lake.raw.people unpivot (v for n in (name))",
            {"id": "people.id IDENTITY", "n": "people.name IDENTITY"},
        ),
        (
            "select id, row_number() over (partition by v order by id) as n from lake.raw.events qualify n = 1",
            {"id": "Events.Id IDENTITY", "n": "Events.Id TRANSFORMATION, Events.v TRANSFORMATION"},
        ),
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
