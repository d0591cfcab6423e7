"""The types of values, derived from a query and the types of its tables."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.algebra.build import build
from iceberg_incremental.query.text.parsing import parsed
from iceberg_incremental.query.text.types import tells_apart
from iceberg_incremental.table.history import TableName

COLUMNS = {
    "i": "int", "l": "bigint", "n": "decimal(10,2)", "d": "double", "s": "string", "t": "timestamp", "b": "boolean",
    "a": "array<int>", "c": "string collate utf8_lcase", "m": "map<string,int>",
}  # fmt: skip

VALUES = {
    "i": "int", "i + l": "bigint", "i * n": "decimal", "i + d": "double", "s + d": None,
    "d / n": "double", "-d": "double", "sqrt(d)": "double", "i / 2": "double", "n / 2": "decimal",
    "i div 2": "bigint", "-i": "int", "d": "double", "2L": "bigint", "1.5": "decimal", "1e3": None, "'x'": "string",
    "case when b then i else 2L end": "bigint", "case when b then i else s end": None, "coalesce(i, null, 0)": "int",
    "if(b, s, 'x')": "string", "i > 2 and b": "boolean", "cast(s as date)": "date", "s || 'x'": "string",
    "s || a": None, "i || i": None, "1.5 || i": None, "-n": "decimal", "-s": None,
    "nullif(n, 0)": "decimal(10,2)", "lower(s)": "string", "lower(c)": None,
    "datediff(t, t)": "int", "datediff(day, t, t)": "bigint", "dateadd(day, 1, t)": None,
    "count(*)": "bigint", "sum(i)": "bigint",
    "sum(n)": "decimal", "sum(d)": None, "max(t)": "timestamp", "max(d)": "double", "avg(i)": None,
    "row_number() over (partition by i order by l)": "int", "lag(s) over (partition by i order by l)": "string",
    "sum(i) filter (where b)": "bigint", "extract(year from t)": "int", "extract(second from t)": None,
    "transform(a, x -> x + 1)": None, "i + interval '1' day": None, "t - interval '1' day": None, "year(t)": "int",
    "substring(s, 1, 2)": "string", "trim(s)": "string", "i % 2": "int", "abs(i)": "int",
}  # fmt: skip


def _type_of(sql: str) -> str | None:
    tree = build(parsed(sql), {TableName("lake", "db", "t"): COLUMNS}, "lake")
    return tree.types.of_result(tree.root)[0]


@pytest.mark.parametrize("value", VALUES)
def test_type(value: str) -> None:
    assert _type_of(f"select {value} as v from db.t") == VALUES[value]


RELATIONS = {
    "select v from (select i + 1 as v from db.t) u": "int",
    "with u as (select i, sum(i) as v from db.t group by i) select max(v) as v from u": "bigint",
    "select v from (select i as v from db.t union all select l from db.t) u": "bigint",
    "select v from (select i as v from db.t union all select s from db.t) u": None,
    "select e from db.t lateral view explode(a) x as e": "int",
    "select p from db.t lateral view posexplode(a) x as p, e": "int",
    "select e from db.t lateral view explode(m) x as e, f": None,
    "select v from (values (1)) as u(v)": None,
}


@pytest.mark.parametrize("sql", RELATIONS)
def test_type_of_a_column(sql: str) -> None:
    assert _type_of(sql) == RELATIONS[sql]


def test_equal_values_of_some_types_differ() -> None:
    told = {name for name, type_ in COLUMNS.items() if tells_apart(type_)}
    assert told == {"i", "l", "n", "s", "t", "b", "a"}
    assert not tells_apart(None) and not tells_apart("struct<a:double>") and tells_apart("struct<a:int,b:string>")
